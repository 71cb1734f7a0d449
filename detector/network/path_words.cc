#include "detector/network/path_words.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

constexpr PathWords kWords[] = {
    {PathCauseKind::kSend, VerdictClass::kCommSlowTx, VerdictScope::kNetwork, "what %s sends"},
    {PathCauseKind::kReceive, VerdictClass::kCommSlowRx, VerdictScope::kNetwork, "what %s receives"},
    {PathCauseKind::kNic, VerdictClass::kCommSlowTx, VerdictScope::kNetwork, "what %s sends or receives"},
    {PathCauseKind::kHost, VerdictClass::kCommSlowTx, VerdictScope::kNetwork, "what enters or leaves %s"},
    {PathCauseKind::kLink, VerdictClass::kLinkSlow, VerdictScope::kNetwork, "what goes between %s"},
    {PathCauseKind::kFabric, VerdictClass::kGroupSlow, VerdictScope::kNetwork, "what goes between %s and the others"},
    {PathCauseKind::kGroup, VerdictClass::kGroupSlow, VerdictScope::kNetwork, "what goes between %s"},
    {PathCauseKind::kHosts, VerdictClass::kGroupSlow, VerdictScope::kNetwork, "what goes between %s"},
    {PathCauseKind::kInside, VerdictClass::kNvlinkSlow, VerdictScope::kMachine, "what goes between the GPUs of %s"},
};

}  // namespace

const PathWords& WordsOf(PathCauseKind kind) {
  return *std::find_if(std::begin(kWords), std::end(kWords),
                       [&](const PathWords& words) { return words.kind == kind; });
}

}  // namespace lockstep
