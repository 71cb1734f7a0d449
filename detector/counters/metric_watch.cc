#include "detector/counters/metric_watch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "detector/counters/behaviour.h"
#include "detector/counters/job_regime.h"

namespace lockstep {

MetricWatch::MetricWatch(std::string name, Metric metric, const PeerGroupOptions& options, double tick_seconds)
    : name_(std::move(name)),
      metric_(metric),
      traits_(TraitsOf(metric, name_)),
      options_(options),
      tick_seconds_(tick_seconds) {}

void MetricWatch::Place(int32_t row, int32_t duty) {
  Unit& unit = units_[static_cast<size_t>(row)];
  auto group = std::find_if(groups_.begin(), groups_.end(), [duty](const Group& other) { return other.duty == duty; });
  if (group == groups_.end()) {
    groups_.emplace_back();
    group = groups_.end() - 1;
    group->duty = duty;
    group->peers = std::make_unique<PeerGroup>(traits_, options_);
    if (traits_.is_work()) group->slowly = std::make_unique<PeerGroup>(traits_, options_);
  }
  unit.duty = duty;
  unit.group = static_cast<size_t>(group - groups_.begin());
  unit.index = group->peers->AddUnit(unit.host);
  if (group->slowly != nullptr) group->slowly->AddUnit(unit.host);
  group->rows.push_back(row);
}

int32_t MetricWatch::AddUnit(int32_t host, const std::string& device, int32_t duty) {
  units_.push_back({.host = host, .device = device, .duty = duty});
  Place(units() - 1, duty);
  return units() - 1;
}

void MetricWatch::SortByBehaviour() {
  if (groups_.size() != 1 || groups_[0].duty != -1) return;
  std::vector<float> levels;
  std::vector<int32_t> hosts;
  for (const Unit& unit : units_) {
    levels.push_back(static_cast<float>(groups_[0].peers->UsualLevel(unit.index)));
    hosts.push_back(unit.host);
  }
  const std::vector<int32_t> duties = DutiesByLevel(levels, hosts);
  if (duties.empty() || *std::max_element(duties.begin(), duties.end()) == 0) return;
  groups_.clear();
  for (size_t row = 0; row < units_.size(); ++row) Place(static_cast<int32_t>(row), duties[row]);
}

void MetricWatch::NoteChanges(absl::Span<const float> values) {
  for (size_t row = 0; row < units_.size(); ++row) {
    Unit& unit = units_[row];
    if (unit.has_changed || std::isnan(values[row])) continue;
    if (std::isnan(unit.first)) unit.first = values[row];
    unit.has_changed = values[row] != unit.first;
  }
}

void MetricWatch::Step(absl::Span<const float> values, int64_t time_ms, double tick_seconds, int regime) {
  CHECK(values.size() == units_.size());
  tick_seconds_ = tick_seconds;
  NoteChanges(values);
  for (Group& group : groups_) {
    group.values.clear();
    for (const int32_t row : group.rows) group.values.push_back(values[static_cast<size_t>(row)]);
    group.peers->Step(group.values, time_ms, tick_seconds, regime);
    StepSums(&group, time_ms, tick_seconds, regime);
  }
  if (++ticks_ == kLearningTicks) SortByBehaviour();
}

void MetricWatch::StepSums(Group* group, int64_t time_ms, double tick_seconds, int regime) const {
  if (group->slowly == nullptr || tick_seconds >= WorkSums::kSeconds) return;
  if (regime != kJobWorks) {
    // What the sums said is about a job that worked.
    group->sums.Restart();
    return;
  }
  if (!group->sums.Add(group->values, group->peers->median(), tick_seconds)) return;
  group->slowly->Step(group->sums.levels(), time_ms, WorkSums::kSeconds, regime);
}

void MetricWatch::SetDuties(absl::Span<const int32_t> duty_of_host) {
  const auto duty_of = [duty_of_host](int32_t host) {
    return static_cast<size_t>(host) < duty_of_host.size() ? duty_of_host[static_cast<size_t>(host)] : -1;
  };
  std::map<int32_t, int32_t> newer_of, older_of;  // duties
  const bool same_peers = std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
    const int32_t newer = duty_of(unit.host);
    return newer_of.emplace(unit.duty, newer).first->second == newer &&
           older_of.emplace(newer, unit.duty).first->second == unit.duty;
  });
  if (same_peers) {
    for (Unit& unit : units_) unit.duty = duty_of(unit.host);
    for (Group& group : groups_) group.duty = newer_of.at(group.duty);
    return;
  }
  groups_.clear();
  for (size_t row = 0; row < units_.size(); ++row) Place(static_cast<int32_t>(row), duty_of(units_[row].host));
}

void MetricWatch::Need(double evidence) {
  options_.evidence = evidence;
  for (Group& group : groups_) {
    group.peers->Need(evidence);
    if (group.slowly != nullptr) group.slowly->Need(evidence);
  }
}

void MetricWatch::DateDegradation(int64_t slower_since_ms) {
  for (Group& group : groups_) group.peers->DateDegradation(slower_since_ms);
}

void MetricWatch::Resettle() {
  for (Group& group : groups_) {
    group.peers->Resettle();
    if (group.slowly == nullptr) continue;
    // So few sums know the new places that they are learnt anew.
    group.sums.Restart();
    group.slowly = std::make_unique<PeerGroup>(traits_, options_);
    for (const int32_t row : group.rows) group.slowly->AddUnit(HostOf(row));
  }
}

bool MetricWatch::HasSigns() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& group) {
    return !group.peers->excursions().empty() || (group.slowly != nullptr && !group.slowly->excursions().empty());
  });
}

void MetricWatch::Append(int32_t watch, const Group& group, const PeerGroup& peers, double tick_seconds,
                         std::vector<CounterSign>* signs) const {
  for (const Excursion& excursion : peers.excursions()) {
    const int32_t row = group.rows[static_cast<size_t>(excursion.unit)];
    const Unit& unit = units_[static_cast<size_t>(row)];
    signs->push_back({unit.host, unit.device, watch, excursion, peers.units(), tick_seconds, unit.has_changed});
    signs->back().excursion.unit = row;
  }
}

void MetricWatch::AppendSigns(int32_t watch, std::vector<CounterSign>* signs) const {
  for (const Group& group : groups_) {
    Append(watch, group, *group.peers, tick_seconds_, signs);
    if (group.slowly != nullptr) Append(watch, group, *group.slowly, WorkSums::kSeconds, signs);
  }
}

const PeerGroup* MetricWatch::Largest() const {
  const auto largest = std::max_element(groups_.begin(), groups_.end(),
                                        [](const Group& a, const Group& b) { return a.rows.size() < b.rows.size(); });
  return largest == groups_.end() ? nullptr : largest->peers.get();
}

double MetricWatch::median() const {
  const PeerGroup* const largest = Largest();
  return largest == nullptr ? std::numeric_limits<double>::quiet_NaN() : largest->median();
}

double MetricWatch::mean() const {
  const PeerGroup* const largest = Largest();
  return largest == nullptr ? std::numeric_limits<double>::quiet_NaN() : largest->mean();
}

}  // namespace lockstep
