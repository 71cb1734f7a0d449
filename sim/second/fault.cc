#include "sim/second/fault.h"

#include <algorithm>
#include <vector>

#include "sim/second/draws.h"

namespace lockstep::second {
namespace {

bool Has(const std::vector<int>& all, int one) { return std::find(all.begin(), all.end(), one) != all.end(); }

}  // namespace

bool IsHang(FaultKind kind) { return kind >= FaultKind::kHangNotEntered; }

bool Fault::IsActive(const World& world, int step) const {
  if (step < onset_step) return false;
  if (IsHang(kind)) return step == onset_step;
  if (probability >= 1) return true;
  return Draws(world.seed).Unit(Topic::kActiveStep, {static_cast<int64_t>(kind), step}) < probability;
}

double Fault::SeverityAt(const World& world, int step) const {
  if (!IsActive(world, step)) return 1;
  if (grow_steps <= 0 || step - onset_step >= grow_steps) return severity;
  return 1 + (severity - 1) * (step - onset_step + 1) / grow_steps;
}

double ComputeFactor(const std::vector<Fault>& faults, const World& world, const Layout& layout, int rank, int step) {
  double factor = 1;
  for (const Fault& fault : faults) {
    const bool struck = (fault.kind == FaultKind::kComputeSlow && Has(fault.ranks, rank)) ||
                        (fault.kind == FaultKind::kHostsSlow && Has(fault.hosts, layout.HostOf(rank))) ||
                        (fault.kind == FaultKind::kStageImbalance && layout.PlaceOf(rank).stage == fault.stage) ||
                        fault.kind == FaultKind::kJobRegression;
    if (struck) factor *= fault.SeverityAt(world, step);
  }
  return factor;
}

double HostFactor(const std::vector<Fault>& faults, const World& world, int host, int step) {
  double factor = 1;
  for (const Fault& fault : faults) {
    if (fault.kind == FaultKind::kHostSlow && Has(fault.hosts, host)) factor *= fault.SeverityAt(world, step);
  }
  return factor;
}

bool Mismatches(const std::vector<Fault>& faults, int rank, int group, int step) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return fault.kind == FaultKind::kMismatch && fault.ranks[0] == rank && fault.group == group &&
           fault.onset_step == step;
  });
}

bool GetsStuck(const std::vector<Fault>& faults, int group, int step, int source, int destination) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    if (fault.kind != FaultKind::kHangInCommunication || fault.onset_step != step || fault.group != group) return false;
    const bool is_whole_group = source < 0 || destination < 0;
    return is_whole_group || (fault.ranks[0] == source && fault.ranks[1] == destination);
  });
}

}  // namespace lockstep::second
