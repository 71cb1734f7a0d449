#include "detector/network/path_class.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

constexpr PathClass kPathClasses[] = {
    {PathCauseKind::kSend, VerdictClass::kCommSlowTx, VerdictScope::kNetwork},
    {PathCauseKind::kReceive, VerdictClass::kCommSlowRx, VerdictScope::kNetwork},
    {PathCauseKind::kNic, VerdictClass::kCommSlowTx, VerdictScope::kNetwork},
    {PathCauseKind::kHost, VerdictClass::kCommSlowTx, VerdictScope::kNetwork},
    {PathCauseKind::kLink, VerdictClass::kLinkSlow, VerdictScope::kNetwork},
    {PathCauseKind::kFabric, VerdictClass::kGroupSlow, VerdictScope::kNetwork},
    {PathCauseKind::kGroup, VerdictClass::kGroupSlow, VerdictScope::kNetwork},
    {PathCauseKind::kHosts, VerdictClass::kGroupSlow, VerdictScope::kNetwork},
    {PathCauseKind::kInside, VerdictClass::kNvlinkSlow, VerdictScope::kMachine},
    {PathCauseKind::kWithin, VerdictClass::kGroupSlow, VerdictScope::kNetwork},
};

}  // namespace

const PathClass& ClassOf(PathCauseKind kind) {
  return *std::find_if(std::begin(kPathClasses), std::end(kPathClasses),
                       [&](const PathClass& row) { return row.kind == kind; });
}

}  // namespace lockstep
