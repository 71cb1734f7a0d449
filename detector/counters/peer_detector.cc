#include "detector/counters/peer_detector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "detector/counters/false_alarm_budget.h"

namespace lockstep {
namespace {

constexpr double kDeviating = 0.5;  // share of the evidence from which a machine counts as gone the same way
constexpr double kCounted = 0.3;    // from which a metric adds to the pool
constexpr double kMostOfOne = 4;    // what one metric can add, in alarms
constexpr int32_t kFewHosts = 3;
constexpr int32_t kSomeHosts = 8;         // from here on two may fail at once
constexpr double kOwnShift = 5;           // deviations of its own past
constexpr double kOwnShiftRatio = 3;      // over the next
constexpr size_t kMostSigns = 8;          // kept of a case
constexpr int64_t kGapMs = 8000;          // a silence worth counting
constexpr int64_t kCoincidenceMs = 9000;  // around the moment at which the job got stuck
constexpr double kChanceGaps = 0.05;      // expected in that time, at most
constexpr int64_t kResettleMs = 60'000;   // after so long, what moved many at once is how things are
constexpr int64_t kTogetherMs = 45'000;   // a soft sign and the harm to the job that it explains
constexpr double kFreshHosts = 0.7;       // of all must report while one is called silent

double Weight(MetricFamily family) { return family == MetricFamily::kDevice ? 1 : PeerDetector::kSoftWeight; }

}  // namespace

int32_t PeerDetector::Watch(absl::string_view name, Metric metric, double tick_seconds) {
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (watches_[i].name() == name) return static_cast<int32_t>(i);
  }
  if (TraitsOf(metric, name).family == MetricFamily::kIgnored) return -1;
  if (watches() >= options_.max_metrics) return -1;
  PeerGroupOptions group;
  group.evidence = EvidenceNeeded(options_.series_per_machine, tick_seconds, options_.false_alarms_per_machine_day);
  group.min_persistence_ms = options_.min_persistence_ms;
  watches_.emplace_back(std::string(name), metric, group);
  return watches() - 1;
}

int32_t PeerDetector::AddUnit(int32_t watch, int32_t host, const std::string& device) {
  CHECK(host >= 0);
  if (units_ >= options_.max_units) {
    ++refused_units_;
    return -1;
  }
  ++units_;
  const auto index = static_cast<size_t>(host);
  if (index >= hosts_.size()) hosts_.resize(index + 1);
  const int32_t duty = index < options_.duty_of_host.size() ? options_.duty_of_host[index] : -1;
  return watches_[static_cast<size_t>(watch)].AddUnit(host, device, duty);
}

void PeerDetector::Step(int32_t watch, absl::Span<const float> values, int64_t time_ms, double tick_seconds) {
  MetricWatch& metric = watches_[static_cast<size_t>(watch)];
  for (int32_t row = 0; row < metric.units(); ++row) {
    if (std::isnan(values[static_cast<size_t>(row)])) continue;
    Host& host = hosts_[static_cast<size_t>(metric.HostOf(row))];
    if (host.last_ms == 0) host.first_ms = time_ms;
    if (host.last_ms != 0 && time_ms - host.last_ms > kGapMs + static_cast<int64_t>(1000 * tick_seconds)) ++gaps_;
    host.last_ms = time_ms;
  }
  metric.Step(values, time_ms, tick_seconds, activity_.regime());
  if (metric.traits().is_activity || metric.metric() == Metric::kGpuUtilizationRatio) {
    activity_.Observe(metric.metric(), metric.median(), time_ms, tick_seconds);
  }
}

void PeerDetector::CollectSigns() {
  signs_.clear();
  for (int32_t i = 0; i < watches(); ++i) watches_[static_cast<size_t>(i)].AppendSigns(i, &signs_);
  common_.assign(signs_.size(), false);
}

// Of few machines that deviate from each other, those whose own level changed while the others' did not.
std::vector<int32_t> PeerDetector::OwnChange(const std::vector<size_t>& signs) const {
  std::map<int32_t, double> shift;
  for (const size_t i : signs) {
    double& most = shift[signs_[i].host];
    most = std::max(most, std::abs(signs_[i].excursion.own_shift));
  }
  int32_t first = -1;
  double highest = 0;
  double next = 0;
  for (const auto& [host, value] : shift) {
    if (value > highest) {
      next = highest;
      highest = value;
      first = host;
    } else {
      next = std::max(next, value);
    }
  }
  if (highest < kOwnShift || highest < kOwnShiftRatio * next) return {};
  return {first};
}

// Signs that more machines show at once, in one metric and direction, than can be faulty independently; and whatever
// else began on those machines at the time.
void PeerDetector::SetCommonAside(int64_t now_ms) {
  const auto machines = static_cast<int32_t>(hosts_.size());
  const int32_t least = machines < kSomeHosts ? 1 : 2;
  const int32_t most = std::max(least, static_cast<int32_t>(options_.most_at_once * machines));
  std::map<std::pair<int32_t, bool>, std::set<int32_t>> same_way;
  std::map<int32_t, std::vector<size_t>> of_metric;
  for (size_t i = 0; i < signs_.size(); ++i) {
    same_way[{signs_[i].watch, signs_[i].excursion.up}].insert(signs_[i].host);
    of_metric[signs_[i].watch].push_back(i);
  }
  for (const auto& [way, hosts] : same_way) {
    int64_t& since_ms = common_since_ms_[way];
    if (static_cast<int32_t>(hosts.size()) <= most) {
      since_ms = 0;
      continue;
    }
    if (since_ms == 0) since_ms = now_ms;
    for (const int32_t host : hosts) hosts_[static_cast<size_t>(host)].common_ms = now_ms;
    if (now_ms - since_ms >= kResettleMs) {
      watches_[static_cast<size_t>(way.first)].Resettle();
      since_ms = 0;
    }
  }
  for (size_t i = 0; i < signs_.size(); ++i) {
    const CounterSign& sign = signs_[i];
    const int64_t common_ms = hosts_[static_cast<size_t>(sign.host)].common_ms;
    common_[i] = common_ms != 0 && sign.excursion.onset_ms <= common_ms + kTogetherMs;
  }
  if (machines <= kFewHosts) SetAmbiguousAside(of_metric);
  common_signs_ = static_cast<int>(std::count(common_.begin(), common_.end(), true));
}

// Of few machines that differ from each other, only the one that left its own past can be told.
void PeerDetector::SetAmbiguousAside(const std::map<int32_t, std::vector<size_t>>& of_metric) {
  for (const auto& [watch, signs] : of_metric) {
    std::set<int32_t> hosts;
    for (const size_t i : signs) hosts.insert(signs_[i].host);
    if (hosts.size() < 2) continue;
    const std::vector<int32_t> changed = OwnChange(signs);
    for (const size_t i : signs) {
      common_[i] = std::find(changed.begin(), changed.end(), signs_[i].host) == changed.end();
    }
  }
}

void PeerDetector::Open(int32_t index, CaseKind kind, double score, int64_t now_ms) {
  Host& host = hosts_[static_cast<size_t>(index)];
  if (host.case_since_ms == 0 || host.kind != kind) {
    host.case_since_ms = now_ms;
    host.kind = kind;
  }
  MachineCase& opened = cases_.emplace_back();
  opened.host = index;
  opened.kind = kind;
  opened.score = score;
  opened.since_ms = host.case_since_ms;
  opened.onset_ms = host.last_ms;
  if (kind == CaseKind::kSilence) return;
  opened.onset_ms = now_ms;
  for (const size_t i : host.best) {
    if (opened.signs.size() == kMostSigns) break;
    opened.signs.push_back(signs_[i]);
    opened.onset_ms = std::min(opened.onset_ms, signs_[i].excursion.onset_ms);
  }
}

void PeerDetector::JudgeHost(int32_t index, int64_t now_ms) {
  Host& host = hosts_[static_cast<size_t>(index)];
  const auto weighted = [this](size_t i) {
    const CounterSign& sign = signs_[i];
    return Weight(watch(sign.watch).traits().family) * std::min(sign.excursion.share, kMostOfOne);
  };
  std::stable_sort(host.best.begin(), host.best.end(), [&](size_t a, size_t b) { return weighted(a) > weighted(b); });
  double pooled = 0;
  bool witness = false;
  size_t counted = 0;
  int64_t onset_ms = now_ms;
  for (const size_t i : host.best) {
    const CounterSign& sign = signs_[i];
    const bool device = watch(sign.watch).traits().family == MetricFamily::kDevice;
    witness = witness || (device && sign.excursion.share >= kDeviating) ||
              (hurt_ && sign.excursion.share >= kDeviating &&
               std::abs(sign.excursion.onset_ms - activity_.hurt_since_ms()) <= kTogetherMs);
    if (counted == kPooledMetrics || sign.excursion.share < kCounted) continue;
    ++counted;
    pooled += weighted(i);
    onset_ms = std::min(onset_ms, sign.excursion.onset_ms);
  }
  const double needed = 1 + kPerMetric * static_cast<double>(counted == 0 ? 0 : counted - 1);
  const double score = pooled / needed;
  const bool lasts = now_ms - onset_ms >= options_.min_pooled_ms;
  if (score < 1 || !lasts || hosts_.size() < 2) {
    // A case ends when little of it is left, so that it does not flicker.
    if (score < kCounted) host.case_since_ms = 0;
    return;
  }
  Open(index, witness ? CaseKind::kAlarm : CaseKind::kSoft, score, now_ms);
}

void PeerDetector::JudgeSilence(int64_t now_ms) {
  int64_t seconds = 0;
  int64_t known = 0;
  int64_t fresh = 0;
  for (const Host& host : hosts_) {
    if (host.last_ms == 0) continue;
    ++known;
    fresh += now_ms - host.last_ms < kGapMs ? 1 : 0;
    seconds += (host.last_ms - host.first_ms) / 1000;
  }
  if (known < 2 || static_cast<double>(fresh) < kFreshHosts * static_cast<double>(known)) return;
  const double gap_rate = static_cast<double>(gaps_ + 2) / static_cast<double>(std::max<int64_t>(1, seconds));
  const double chance = gap_rate * static_cast<double>(known * kCoincidenceMs) / 1000;
  const int64_t stuck_ms = activity_.stuck_since_ms();
  for (size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (host.last_ms == 0) continue;
    const int64_t silent_ms = now_ms - host.last_ms;
    const bool together =
        stuck_ms != 0 && hurt_ && host.last_ms <= stuck_ms + 1000 && host.last_ms >= stuck_ms - kCoincidenceMs + 1000;
    int64_t needed_ms = options_.silent_ms;
    if (together) needed_ms = chance <= kChanceGaps ? options_.silent_when_stuck_ms : options_.silent_ms / 2;
    if (silent_ms < needed_ms) continue;
    Open(static_cast<int32_t>(i), CaseKind::kSilence, static_cast<double>(silent_ms) / 1000, now_ms);
  }
}

const std::vector<MachineCase>& PeerDetector::Conclude(int64_t now_ms) {
  cases_.clear();
  hurt_ = activity_.IsHurt(now_ms);
  CollectSigns();
  SetCommonAside(now_ms);
  std::set<int32_t> touched;
  for (Host& host : hosts_) host.best.clear();
  for (Host& host : hosts_) host.has_signs = false;
  for (const CounterSign& sign : signs_) hosts_[static_cast<size_t>(sign.host)].has_signs = true;
  for (Host& host : hosts_) {
    if (!host.has_signs) host.common_ms = 0;
  }
  for (size_t i = 0; i < signs_.size(); ++i) {
    if (common_[i]) continue;
    std::vector<size_t>& best = hosts_[static_cast<size_t>(signs_[i].host)].best;
    const auto same =
        std::find_if(best.begin(), best.end(), [&](size_t j) { return signs_[j].watch == signs_[i].watch; });
    if (same == best.end()) {
      best.push_back(i);
    } else if (signs_[*same].excursion.share < signs_[i].excursion.share) {
      *same = i;
    }
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (!hosts_[i].best.empty()) {
      JudgeHost(static_cast<int32_t>(i), now_ms);
    } else if (hosts_[i].kind != CaseKind::kSilence || now_ms - hosts_[i].last_ms < kGapMs) {
      hosts_[i].case_since_ms = 0;
    }
  }
  JudgeSilence(now_ms);
  std::stable_sort(cases_.begin(), cases_.end(),
                   [](const MachineCase& a, const MachineCase& b) { return a.host < b.host; });
  return cases_;
}

}  // namespace lockstep
