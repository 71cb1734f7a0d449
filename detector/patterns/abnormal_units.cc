#include "detector/patterns/abnormal_units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/types/span.h"
#include "detector/patterns/duty_order.h"
#include "detector/patterns/expected_ranges.h"
#include "detector/patterns/outlying_workers.h"
#include "detector/stats/median.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastLevelScatter = 0.02F;   // of the logarithm of a duration or bandwidth, and of an occupancy
constexpr float kLeastSpreadScatter = 0.05F;  // of the spread of durations
constexpr double kGroupShare = 0.5;  // of what a function takes too long, its group does too; else it replaces another
constexpr double kNearlyAll = 0.6;   // of the workers beyond the expected range: it is exceeded
constexpr double kLeastGpuWork = 0.2;  // of the window, in a job that its GPUs do
constexpr double kLittleKnown = 3;     // times the excess is asked of work that no better name is known for
constexpr double kGpuScatter = 0.02;   // of equal GPUs at equal work, relative
constexpr double kHostScatter = 0.1;   // of equal hosts

// One function on all workers, by place.
struct Columns {
  std::vector<float> beta;
  std::vector<float> level;   // mu, or the logarithm of the duration
  std::vector<float> spread;  // sigma over mu, or that of the durations
};

float LevelOf(const FleetFunction& function, const PatternCell& cell) {
  if (function.utilisation == Utilisation::kOccupancy && function.kind != FunctionKind::kGpuCompute) return cell.mu;
  // An occupancy follows from how a kernel is launched, not from how it runs: its duration says more.
  if (function.utilisation == Utilisation::kNone || function.kind == FunctionKind::kGpuCompute) {
    return cell.mean_seconds > 0 ? std::log(cell.mean_seconds) : kUnknown;
  }
  return cell.mu > 0 ? std::log(cell.mu) : kUnknown;
}

void Fill(const FleetFunction& function, const DutyOrder& order, Columns& columns) {
  const size_t workers = order.workers.size();
  columns.beta.assign(workers, 0);
  columns.level.assign(workers, kUnknown);
  columns.spread.assign(workers, kUnknown);
  for (const PatternCell& cell : function.cells) {
    const uint32_t place = order.places[cell.worker];
    columns.beta[place] = cell.beta;
    columns.level[place] = LevelOf(function, cell);
    columns.spread[place] =
        cell.mu > 0 && function.kind != FunctionKind::kGpuCompute ? cell.sigma / cell.mu : cell.spread;
  }
}

double MedianIn(absl::Span<const float> column) {
  std::vector<float> values(column.begin(), column.end());
  return MedianOf(absl::MakeSpan(values));
}

// Of these places of a column.
double MedianAt(absl::Span<const float> column, absl::Span<const uint32_t> places) {
  std::vector<float> values;
  for (const uint32_t place : places) values.push_back(column[place]);
  return MedianOf(absl::MakeSpan(values));
}

// Those who call a function of the GPU are compared with each other: the rest has other work.
OutlyingWorkers OutlyingCallers(FunctionGroup group, absl::Span<const float> beta, const std::vector<float>& others,
                                const OutlyingLimits& limits) {
  std::vector<uint32_t> callers;
  for (uint32_t place = 0; place < beta.size(); ++place) {
    if (beta[place] > 0) callers.push_back(place);
  }
  if (group == FunctionGroup::kCollective || 2 * callers.size() >= beta.size()) {
    return FindOutlyingWorkers(beta, others, limits);
  }
  std::vector<float> theirs;
  std::vector<float> other_distances;
  for (const uint32_t place : callers) {
    theirs.push_back(beta[place]);
    other_distances.push_back(others[place]);
  }
  OutlyingWorkers outlying = FindOutlyingWorkers(theirs, other_distances, limits);
  for (uint32_t& place : outlying.places) place = callers[place];
  return outlying;
}

class UnitSearch {
 public:
  UnitSearch(const PatternFleet& fleet, const DutyOrder& order, const GroupBetas& groups,
             const ComparisonOptions& options)
      : fleet_(fleet), order_(order), groups_(groups), options_(options) {
    for (std::vector<float>& one : group_distances_) one.assign(order.workers.size(), 0);
  }

  std::vector<AbnormalUnit> Find() {
    if (options_.judges_some) {
      for (size_t i = 0; i < fleet_.functions().size(); ++i) TakeFunction(static_cast<int32_t>(i));
    }
    for (size_t duty = 0; duty < order_.duties(); ++duty) {
      if (options_.judges_some && HasPeers(duty)) TakeAllKernels(duty);
      const bool gpu_works = MedianIn(KernelBetas(groups_, order_, duty)) >= kLeastGpuWork;
      for (size_t group = 0; group < kFunctionGroups; ++group) {
        TakeGroup(static_cast<FunctionGroup>(group), duty, gpu_works);
      }
      if (options_.judges_all && gpu_works) TakeHost(duty);
    }
    return std::move(found_);
  }

 private:
  // Two do not show how much equal workers differ: they are compared only where there are no others.
  bool HasPeers(size_t duty) const { return order_.size_of(duty) > (order_.workers.size() > 2 ? 2 : 1); }

  void TakeFunction(int32_t index) {
    const FleetFunction& function = fleet_.functions()[static_cast<size_t>(index)];
    const bool matters = std::any_of(function.cells.begin(), function.cells.end(), [&](const PatternCell& cell) {
      return static_cast<double>(cell.beta) > options_.least_beta;
    });
    if (!matters) return;
    Fill(function, order_, columns_);
    const bool one_thing = TraitsOf(function.group).one_thing;
    for (size_t duty = 0; duty < order_.duties(); ++duty) {
      if (!HasPeers(duty)) continue;
      const std::vector<float> levels = ScaledDistances(OfDuty(order_, columns_.level, duty), kLeastLevelScatter);
      std::vector<float> others = ScaledDistances(OfDuty(order_, columns_.spread, duty), kLeastSpreadScatter);
      for (size_t i = 0; i < others.size(); ++i) others[i] += levels[i];
      if (one_thing) {
        AddToGroup(function.group, duty, others);
      } else {
        JudgeFunction(index, duty, others);
      }
    }
  }

  // Distances of a group are those of its functions, each by its part.
  void AddToGroup(FunctionGroup group, size_t duty, const std::vector<float>& others) {
    const absl::Span<float> sums = OfDuty(order_, group_distances_[static_cast<size_t>(group)], duty);
    const absl::Span<const float> whole = OfDuty(order_, groups_[static_cast<size_t>(group)], duty);
    const absl::Span<const float> part = OfDuty(order_, std::as_const(columns_.beta), duty);
    for (size_t i = 0; i < others.size(); ++i) {
      if (whole[i] > 0) sums[i] += others[i] * part[i] / whole[i];
    }
  }

  double LeastExcess(FunctionGroup group) const {
    return options_.least_excess * (group == FunctionGroup::kOtherHost ? kLittleKnown : 1);
  }

  OutlyingLimits Limits(size_t duty, FunctionGroup group) const {
    return {.least_beta = options_.least_beta,
            .least_excess = LeastExcess(group),
            .mads = options_.mads,
            .least_relative_scatter =
                TraitsOf(group).pattern_class == PatternClass::kSlowKernel ? kGpuScatter : kHostScatter,
            .tests = static_cast<double>(order_.size_of(duty)) * static_cast<double>(kFunctionGroups)};
  }

  void JudgeFunction(int32_t index, size_t duty, const std::vector<float>& others) {
    const FleetFunction& function = fleet_.functions()[static_cast<size_t>(index)];
    if (function.group == FunctionGroup::kBarrier) return;  // who waits there longer than its peers has less to do
    OutlyingWorkers outlying =
        OutlyingCallers(function.group, OfDuty(order_, columns_.beta, duty), others, Limits(duty, function.group));
    if (outlying.places.empty()) return;
    const absl::Span<const float> group = OfDuty(order_, groups_[static_cast<size_t>(function.group)], duty);
    const double of_group = MedianAt(group, outlying.places) - MedianIn(group);
    const bool with_group = of_group >= kGroupShare * (outlying.beta - outlying.usual_beta);
    // Another kernel that does the same work, as libraries choose them by trial, is no trouble. Who waits longer in all
    // collectives together has less to do than its peers; who waits in one of them while the peers wait in others has
    // trouble in the group of that one.
    if (with_group == (function.group == FunctionGroup::kCollective)) return;
    if (function.group == FunctionGroup::kCollective && outlying.places.size() < 2) return;
    Report(function.group, index, duty, std::move(outlying));
  }

  void Report(FunctionGroup group, int32_t function, size_t duty, OutlyingWorkers outlying) {
    AbnormalUnit unit;
    unit.group = group;
    unit.function = function;
    unit.duty = duty;
    unit.places = std::move(outlying.places);
    for (uint32_t& place : unit.places) place += static_cast<uint32_t>(order_.begins[duty]);
    unit.beta = outlying.beta;
    unit.usual_beta = outlying.usual_beta;
    unit.distance = outlying.distance;
    unit.threshold = outlying.threshold;
    found_.push_back(std::move(unit));
  }

  // All work of the hosts together may take too long where no part of it does.
  void TakeHost(size_t duty) {
    const bool has_part = std::any_of(found_.begin(), found_.end(), [&](const AbnormalUnit& unit) {
      return unit.of_all && unit.duty == duty && unit.group >= FunctionGroup::kLaunch;
    });
    if (!has_part) {
      const double most = MostExpected(FunctionGroup::kOtherHost);
      TakeAll(FunctionGroup::kOtherHost, duty,
              BetasOf(groups_, FunctionGroup::kLaunch, FunctionGroup::kOtherHost, order_, duty), most);
    }
  }

  // Held against what is expected: what costs less than is asked of a finding is none.
  void TakeAll(FunctionGroup group, size_t duty, std::vector<float> beta, double most) {
    const auto beyond =
        std::count_if(beta.begin(), beta.end(), [&](float value) { return static_cast<double>(value) > most; });
    if (static_cast<double>(beyond) < kNearlyAll * static_cast<double>(beta.size())) return;
    AbnormalUnit unit;
    unit.group = group;
    unit.duty = duty;
    unit.of_all = true;
    unit.beta = MedianOf(absl::MakeSpan(beta));
    if (unit.beta - most < LeastExcess(group)) return;
    unit.usual_beta = most;
    unit.distance = unit.beta - most;
    found_.push_back(std::move(unit));
  }

  // A GPU that is slow in everything may be so in no function clearly enough.
  void TakeAllKernels(size_t duty) {
    const std::vector<float> beta = KernelBetas(groups_, order_, duty);
    const std::vector<float> others(beta.size(), 0);
    const OutlyingWorkers outlying = FindOutlyingWorkers(beta, others, Limits(duty, FunctionGroup::kOtherKernel));
    if (outlying.places.empty()) return;
    for (const AbnormalUnit& unit : found_) {
      const bool kernel = unit.function >= 0 && unit.group <= FunctionGroup::kOtherKernel;
      if (kernel && unit.duty == duty && std::any_of(unit.places.begin(), unit.places.end(), [&](uint32_t place) {
            return std::binary_search(outlying.places.begin(), outlying.places.end(), place - order_.begins[duty]);
          })) {
        return;
      }
    }
    for (size_t group = 0; group <= static_cast<size_t>(FunctionGroup::kOtherKernel); ++group) {
      const absl::Span<const float> column = OfDuty(order_, groups_[group], duty);
      OutlyingWorkers part = outlying;
      part.usual_beta = MedianIn(column);
      part.beta = MedianAt(column, outlying.places);
      if (part.beta > part.usual_beta) Report(static_cast<FunctionGroup>(group), -1, duty, std::move(part));
    }
  }

  // `gpu_works`: else the host is expected to take its time.
  void TakeGroup(FunctionGroup group, size_t duty, bool gpu_works) {
    const GroupTraits& traits = TraitsOf(group);
    const absl::Span<const float> beta = OfDuty(order_, groups_[static_cast<size_t>(group)], duty);
    if (traits.one_thing && options_.judges_some && HasPeers(duty)) {
      OutlyingWorkers outlying = FindOutlyingWorkers(
          beta, OfDuty(order_, std::as_const(group_distances_[static_cast<size_t>(group)]), duty), Limits(duty, group));
      if (!outlying.places.empty()) Report(group, -1, duty, std::move(outlying));
    }
    // Ranks wait in a barrier for the latest, which waits least: what even that one spends there is the barrier's own.
    if (group == FunctionGroup::kBarrier &&
        static_cast<double>(*std::min_element(beta.begin(), beta.end())) <= MostExpected(group)) {
      return;
    }
    const bool beside_gpu = group == FunctionGroup::kOtherHost || group == FunctionGroup::kLaunch ||
                            group == FunctionGroup::kSynchronisation;
    if (!options_.judges_all || (beside_gpu && !gpu_works)) return;
    TakeAll(group, duty, {beta.begin(), beta.end()}, std::max(options_.least_beta, MostExpected(group)));
  }

  double MostExpected(FunctionGroup group) const { return ExpectedRangeOf(group, framework_, phase_).most_beta; }

  const PatternFleet& fleet_;
  const DutyOrder& order_;
  const GroupBetas& groups_;
  const ComparisonOptions& options_;
  std::array<std::vector<float>, kFunctionGroups> group_distances_;
  Columns columns_;
  const KernelFramework framework_ = FrameworkOf(fleet_);
  const WindowPhase phase_ = PhaseOf(fleet_);
  std::vector<AbnormalUnit> found_;
};

}  // namespace

std::vector<AbnormalUnit> FindAbnormalUnits(const PatternFleet& fleet, const DutyOrder& order, const GroupBetas& groups,
                                            const ComparisonOptions& options) {
  return UnitSearch(fleet, order, groups, options).Find();
}

}  // namespace lockstep
