#include "sim/hang_site.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {
namespace {

bool IsOperation(const Instruction& i) {
  return i.kind == InstructionKind::kCollective || i.kind == InstructionKind::kJoinCollective ||
         i.kind == InstructionKind::kTransfers;
}

bool IsCollective(const Instruction& i) { return IsOperation(i) && i.kind != InstructionKind::kTransfers; }

bool CrossesHosts(GroupKind kind, int32_t rank, const Layout& layout) {
  const int32_t group = layout.GroupOf(kind, rank);
  for (int32_t i = 0; i < layout.GroupSize(kind); ++i) {
    if (layout.HostOf(layout.Member(kind, group, i)) != layout.HostOf(rank)) return true;
  }
  return false;
}

bool Fits(FaultKind kind, const Instruction& i, int32_t rank, const Layout& layout, bool crossing_only) {
  switch (kind) {
    case FaultKind::kTransferStuck:
      return IsOperation(i) && (!crossing_only || CrossesHosts(i.group, rank, layout));
    case FaultKind::kMismatch:
      return IsCollective(i) && i.record >= 0;
    case FaultKind::kDeadlock:
      return i.kind == InstructionKind::kCollective && i.overlapped;
    default:
      return i.kind == InstructionKind::kCompute || IsOperation(i);
  }
}

std::vector<int32_t> Sites(FaultKind kind, int32_t rank, const Layout& layout, const StageProgram& program,
                           bool crossing_only) {
  std::vector<int32_t> sites;
  for (size_t index = 0; index < program.instructions.size(); ++index) {
    if (Fits(kind, program.instructions[index], rank, layout, crossing_only)) {
      sites.push_back(static_cast<int32_t>(index));
    }
  }
  return sites;
}

int32_t LastOperation(const StageProgram& program) {
  auto last = static_cast<int32_t>(program.instructions.size()) - 1;
  while (last > 0 && !IsOperation(program.instructions[static_cast<size_t>(last)])) --last;
  return last;
}

}  // namespace

int32_t HangSite(FaultKind kind, int32_t rank, const Layout& layout, const StageProgram& program, double when) {
  std::vector<int32_t> sites = Sites(kind, rank, layout, program, true);
  if (sites.empty()) sites = Sites(kind, rank, layout, program, false);
  if (sites.empty()) return -1;
  if (kind == FaultKind::kDeadlock) return sites.back();
  const int32_t site = sites[static_cast<size_t>(when * static_cast<double>(sites.size()))];
  // Nothing is simulated after the step that hangs: what gets stuck behind its last operation would leave no mark.
  return std::min(site, LastOperation(program));
}

}  // namespace lockstep
