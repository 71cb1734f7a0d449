#include "detector/patterns/duty_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lockstep {
namespace {

// Groups of GPU compute only: how often the host is called depends on its own troubles.
constexpr size_t kComputeGroups = static_cast<size_t>(FunctionGroup::kOtherKernel) + 1;
constexpr double kTolerance = 0.06;    // of a number of calls: windows cut steps in different places
constexpr float kVisibleBeta = 0.01F;  // of a group that one worker has and another has not
constexpr float kHardlyBeta = 0.002F;
constexpr size_t kMostSlips = 2;       // differences of a worker that is no kind of its own
constexpr size_t kWorkersPerSlip = 8;  // fewer than one of so many workers are such ones
constexpr size_t kLeastPeers = 3;
// Of names of operators: ranks of one framework share most, even where summaries leave some out; of two, none.
constexpr double kSharedOperators = 0.1;

struct Work {
  std::array<float, kComputeGroups> calls = {};  // per step, or per second where steps are not marked
  std::array<float, kComputeGroups> beta = {};
};

// In how many groups of functions the two differ.
size_t Differences(const Work& a, const Work& b) {
  size_t differences = 0;
  for (size_t group = 0; group < kComputeGroups; ++group) {
    const float most_beta = std::max(a.beta[group], b.beta[group]);
    if (most_beta < kVisibleBeta) continue;
    const bool in_one = std::min(a.beta[group], b.beta[group]) < kHardlyBeta;
    const double most = std::max(a.calls[group], b.calls[group]);
    const bool other_number = std::fabs(a.calls[group] - b.calls[group]) > kTolerance * most;
    differences += in_one || other_number ? 1 : 0;
  }
  return differences;
}

std::vector<Work> WorkOf(const PatternFleet& fleet) {
  std::vector<Work> work(fleet.workers().size());
  for (const FleetFunction& function : fleet.functions()) {
    const auto group = static_cast<size_t>(function.group);
    if (function.kind != FunctionKind::kGpuCompute || group >= kComputeGroups) continue;
    for (const PatternCell& cell : function.cells) {
      const FleetWorker& worker = fleet.workers()[cell.worker];
      const float steps_per_second =
          worker.steps > 0 && worker.window_seconds > 0 ? static_cast<float>(worker.steps) / worker.window_seconds : 1;
      work[cell.worker].calls[group] += cell.calls_per_second / steps_per_second;
      work[cell.worker].beta[group] += cell.beta;
    }
  }
  return work;
}

bool UsesGpu(const Work& work) {
  return std::any_of(work.beta.begin(), work.beta.end(), [](float beta) { return beta > 0; });
}

// Of the names that either calls.
double SharedOperators(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  std::vector<size_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(a.size() + b.size() - both.size());
}

// Each worker joins the first group whose first member is alike, or begins one; the last one takes the rest.
template <typename Alike>
std::vector<std::vector<uint32_t>> GroupAlike(size_t workers, Alike alike) {
  std::vector<std::vector<uint32_t>> groups;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const std::vector<uint32_t>& members) { return alike(members.front(), worker); });
    if (group == groups.end() && groups.size() == kMostDuties) group = groups.end() - 1;
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(worker);
  }
  return groups;
}

// A worker without any operators is as the first ones are.
std::vector<std::vector<uint32_t>> GroupsByOperators(const PatternFleet& fleet) {
  std::vector<std::vector<size_t>> operators(fleet.workers().size());
  for (size_t index = 0; index < fleet.functions().size(); ++index) {
    const FleetFunction& function = fleet.functions()[index];
    if (function.kind != FunctionKind::kOperator) continue;
    for (const PatternCell& cell : function.cells) operators[cell.worker].push_back(index);
  }
  return GroupAlike(operators.size(), [&](uint32_t one, uint32_t other) {
    return operators[one].empty() || operators[other].empty() ||
           SharedOperators(operators[one], operators[other]) >= kSharedOperators;
  });
}

std::optional<std::vector<std::vector<uint32_t>>> StatedDuties(const PatternFleet& fleet) {
  std::vector<std::vector<uint32_t>> groups;
  absl::flat_hash_map<int32_t, size_t> group_of_duty;
  for (uint32_t worker = 0; worker < fleet.workers().size(); ++worker) {
    const int32_t duty = fleet.workers()[worker].duty;
    if (duty < 0) return std::nullopt;
    const size_t group = group_of_duty.emplace(duty, groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(worker);
  }
  return groups;
}

// A summary that lacks a function makes nobody another kind of worker: few that are nearly alike many are of those.
void JoinSlips(const std::vector<Work>& work, std::vector<std::vector<uint32_t>>& groups) {
  if (work.empty()) return;
  const size_t few = std::max<size_t>(1, (work.size() - 1) / kWorkersPerSlip);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() > few) continue;
    size_t nearest = groups.size();
    size_t least = kMostSlips + 1;
    for (size_t other = 0; other < groups.size(); ++other) {
      if (groups[other].size() < std::max(kLeastPeers, 3 * groups[i].size())) continue;
      const size_t differences = Differences(work[groups[i].front()], work[groups[other].front()]);
      if (differences < least) {
        nearest = other;
        least = differences;
      }
    }
    if (nearest == groups.size()) continue;
    groups[nearest].insert(groups[nearest].end(), groups[i].begin(), groups[i].end());
    groups[i].clear();
  }
  std::erase_if(groups, [](const std::vector<uint32_t>& members) { return members.empty(); });
}

}  // namespace

std::vector<std::vector<uint32_t>> DutyGroups(const PatternFleet& fleet) {
  std::optional<std::vector<std::vector<uint32_t>>> stated = StatedDuties(fleet);
  if (stated.has_value()) return *std::move(stated);
  const std::vector<Work> work = WorkOf(fleet);
  if (std::none_of(work.begin(), work.end(), UsesGpu)) return GroupsByOperators(fleet);
  std::vector<std::vector<uint32_t>> groups =
      GroupAlike(work.size(), [&](uint32_t one, uint32_t other) { return Differences(work[one], work[other]) == 0; });
  JoinSlips(work, groups);
  return groups;
}

}  // namespace lockstep
