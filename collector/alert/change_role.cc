#include "collector/alert/change_role.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;

constexpr ChangeRow kRows[] = {
    {Kind::kOpened, ChangeRole::kBegins, "opened"},
    {Kind::kUpdated, ChangeRole::kNews, "updated"},
    {Kind::kResolved, ChangeRole::kEnds, "resolved"},
    {Kind::kReopened, ChangeRole::kBegins, "reopened"},
    {Kind::kAcknowledged, ChangeRole::kTaken, "acknowledged"},
};

}  // namespace

const ChangeRow& RowOf(IncidentEvent::Kind kind) {
  for (const ChangeRow& row : kRows) {
    if (row.kind == kind) return row;
  }
  static constexpr ChangeRow kWithoutRow = {Kind::kUpdated, ChangeRole::kUntold, "changed"};
  return kWithoutRow;
}

}  // namespace lockstep
