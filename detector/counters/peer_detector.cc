#include "detector/counters/peer_detector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "detector/stats/false_alarm_budget.h"

namespace lockstep {
namespace {

constexpr int32_t kFewHosts = 3;  // of which a median has one neighbour on each side
constexpr int32_t kAllWork = CommonShift::kAllWork;
constexpr std::pair<int32_t, bool> kAnyWay = {-2, false};
// From here on two may fail at once: 15 % (PeerOptions::most_at_once) of 8 are one, rounded up two.
constexpr int32_t kSomeHosts = 8;
// Deviations of its own past, and over the next: 1e-6 of a normal, and no doubt about who moved. Empirical.
constexpr double kOwnShift = 5;
constexpr double kOwnShiftRatio = 3;
constexpr size_t kMostSigns = 8;  // kept of a case
// A silence worth counting: JobActivity::kStuckMs, after which a hang may have come with it.
constexpr int64_t kGapMs = 8000;
// Gaps expected by chance in that time: the usual 5 %. With more, other signs are waited for, for kCautionMs.
constexpr double kChanceGaps = 0.05;
constexpr int64_t kCautionMs = 5000;
// After so long, what moved many at once is how things are. Empirical.
constexpr int64_t kResettleMs = 60'000;
// Deviations from the peers of the recent mean of a soft sign that accuses: two standard errors of that mean.
constexpr double kStillAway = 2.0 / 3;
// Intervals that must be missing at least: two are missing by chance where some 1 % of the samples do.
constexpr double kSilentTicks = 3;
// Of all must report while one is called silent: with fewer, the way to the collector is what failed.
constexpr double kFreshHosts = 0.7;

}  // namespace

int32_t PeerDetector::Watch(absl::string_view name, Metric metric, double tick_seconds) {
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (watches_[i].name() == name) return static_cast<int32_t>(i);
  }
  if (TraitsOf(metric, name).family == MetricFamily::kIgnored) return -1;
  if (watches() >= options_.max_metrics) return -1;
  PeerGroupOptions group;
  group.evidence = EvidenceNeeded(options_.series_per_machine, tick_seconds, options_.false_alarms_per_machine_day);
  const bool soft = TraitsOf(metric, name).family == MetricFamily::kSoft;
  group.min_persistence_ms = soft ? options_.min_soft_ms : options_.min_persistence_ms;
  watches_.emplace_back(std::string(name), metric, group, tick_seconds);
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
  if (index >= hosts_.size()) {
    hosts_.resize(index + 1);
    blames_.resize(index + 1);
  }
  const int32_t duty = index < options_.duty_of_host.size() ? options_.duty_of_host[index] : -1;
  return watches_[static_cast<size_t>(watch)].AddUnit(host, device, duty);
}

void PeerDetector::SetSeriesPerMachine(double series) {
  options_.series_per_machine = series;
  for (MetricWatch& metric : watches_) {
    metric.Need(EvidenceNeeded(series, metric.tick_seconds(), options_.false_alarms_per_machine_day));
  }
}

void PeerDetector::SetDuties(absl::Span<const int32_t> duty_of_host) {
  if (std::equal(duty_of_host.begin(), duty_of_host.end(), options_.duty_of_host.begin(), options_.duty_of_host.end()))
    return;
  options_.duty_of_host.assign(duty_of_host.begin(), duty_of_host.end());
  for (MetricWatch& metric : watches_) metric.SetDuties(duty_of_host);
}

void PeerDetector::Step(int32_t watch, absl::Span<const float> values, int64_t time_ms, double tick_seconds) {
  MetricWatch& metric = watches_[static_cast<size_t>(watch)];
  fastest_tick_seconds_ = std::min(fastest_tick_seconds_, tick_seconds);
  // A value of a long tick may have been sampled at its beginning.
  const int64_t sampled_ms = time_ms - static_cast<int64_t>(1000 * (tick_seconds - fastest_tick_seconds_));
  bool any = false;
  for (int32_t row = 0; row < metric.units(); ++row) {
    if (std::isnan(values[static_cast<size_t>(row)])) continue;
    any = true;
    Host& host = hosts_[static_cast<size_t>(metric.HostOf(row))];
    if (host.last_ms == 0) host.first_ms = time_ms;
    if (host.last_ms != 0 && sampled_ms - host.last_ms > kGapMs + static_cast<int64_t>(1000 * tick_seconds)) ++gaps_;
    host.last_ms = std::max(host.last_ms, sampled_ms);
  }
  metric.DateDegradation(activity_.slower_since_ms());
  metric.Step(values, time_ms, tick_seconds, activity_.regime());
  // A tick without a value says nothing about the job.
  if (any && (metric.traits().is_activity || metric.metric() == Metric::kGpuUtilizationRatio)) {
    activity_.Observe(metric.metric(), metric.median(), metric.mean(), time_ms, tick_seconds);
  }
}

void PeerDetector::CollectSigns(int64_t now_ms) {
  signs_.clear();
  for (int32_t i = 0; i < watches(); ++i) watches_[static_cast<size_t>(i)].AppendSigns(i, &signs_);
  // What a slow metric shows may have begun right after the reading before.
  for (CounterSign& sign : signs_) {
    sign.excursion.onset_ms -= static_cast<int64_t>(1000 * (sign.tick_seconds - fastest_tick_seconds_));
  }
  meaning_.Begin({.watches = &watches_,
                  .machines = &blames_,
                  .activity = &activity_,
                  .loads = &loads_,
                  .series_per_machine = options_.series_per_machine,
                  .false_alarms_per_machine_day = options_.false_alarms_per_machine_day,
                  .fastest_tick_seconds = fastest_tick_seconds_,
                  .degraded = degraded_,
                  .now_ms = now_ms},
                 &signs_);
  std::erase_if(signs_, [&](const CounterSign& sign) {
    return sign.excursion.share < PeerGroup::kWorthMention && !meaning_.StoppedFirst(sign) &&
           meaning_.ShareSinceDegradation(sign) < kCounted;
  });
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

// Errors, waits and states of devices: that many show them, as everybody does around a hang, says nothing of the rest
// of a machine. Nor do temperatures, which follow what a job does. Work and load that moved on many machines have moved
// other things there as well.
bool PeerDetector::IsOwnAffair(const std::pair<int32_t, bool>& way) const {
  if (way.first == kAllWork) return false;
  const MetricWatch& metric = watch(way.first);
  if (metric.traits().is_heat) return true;
  return metric.traits().family == MetricFamily::kDevice && !metric.traits().is_work();
}

// Signs that more machines show at once, in one metric and direction, than can be faulty independently; and whatever
// else began on those machines at the time, unless it is IsOwnAffair.
void PeerDetector::SetCommonAside(int64_t now_ms) {
  const auto machines = static_cast<int32_t>(hosts_.size());
  const int32_t least = machines < kSomeHosts ? 1 : 2;
  const int32_t most = std::max(least, static_cast<int32_t>(options_.most_at_once * machines));
  common_shifts_.clear();
  std::map<std::pair<int32_t, bool>, std::set<int32_t>> same_way;
  std::map<int32_t, std::vector<size_t>> of_metric;
  for (size_t i = 0; i < signs_.size(); ++i) {
    const bool up = signs_[i].excursion.up;
    of_metric[signs_[i].watch].push_back(i);
    // One sum in which the pace changed may show on many and is no way that they go: the next one has to agree.
    if (meaning_.InSums(signs_[i]) && signs_[i].excursion.share < kDeviating) continue;
    // Who changed with the job did so beyond what the others did, and has gone nowhere for long.
    if (signs_[i].excursion.share < PeerGroup::kWorthMention && !meaning_.StoppedFirst(signs_[i])) continue;
    same_way[{signs_[i].watch, up}].insert(signs_[i].host);
    // Work that moves from machine to machine shows here in one metric and there in another.
    if (watch(signs_[i].watch).traits().is_work()) same_way[{kAllWork, up}].insert(signs_[i].host);
  }
  for (const auto& [way, hosts] : same_way) {
    int64_t& since_ms = common_since_ms_[way];
    if (static_cast<int32_t>(hosts.size()) <= most) {
      since_ms = 0;
      continue;
    }
    if (since_ms == 0) since_ms = now_ms;
    for (const int32_t host : hosts)
      hosts_[static_cast<size_t>(host)].common_ms[IsOwnAffair(way) ? way : kAnyWay] = now_ms;
    NoteCommonShift(way.first, way.second, hosts);
    if (now_ms - since_ms >= kResettleMs) {
      for (size_t i = 0; i < watches_.size(); ++i) {
        const bool work = way.first == kAllWork && watches_[i].traits().is_work();
        if (work || static_cast<int32_t>(i) == way.first) watches_[i].Resettle();
      }
      since_ms = 0;
    }
  }
  for (size_t i = 0; i < signs_.size(); ++i) {
    const CounterSign& sign = signs_[i];
    for (const auto& [way, common_ms] : hosts_[static_cast<size_t>(sign.host)].common_ms) {
      // What stands out for so much longer than the many did is no longer theirs.
      if (now_ms - common_ms > kResettleMs) continue;
      const bool concerned = way == kAnyWay || way == std::pair(sign.watch, sign.excursion.up);
      if (concerned && sign.excursion.onset_ms <= common_ms + kTogetherMs) common_[i] = true;
    }
  }
  if (machines <= kFewHosts) SetAmbiguousAside(of_metric);
  common_signs_ = static_cast<int>(std::count(common_.begin(), common_.end(), true));
}

void PeerDetector::NoteCommonShift(int32_t watch_index, bool up, const std::set<int32_t>& hosts) {
  CommonShift& shift = common_shifts_.emplace_back();
  shift.watch = watch_index;
  shift.up = up;
  shift.hosts.assign(hosts.begin(), hosts.end());
  for (const CounterSign& sign : signs_) {
    const bool is_of_it =
        watch_index == CommonShift::kAllWork ? watch(sign.watch).traits().is_work() : sign.watch == watch_index;
    if (!is_of_it || sign.excursion.up != up) continue;
    if (shift.onset_ms == 0 || sign.excursion.onset_ms < shift.onset_ms) shift.onset_ms = sign.excursion.onset_ms;
    if (sign.excursion.share > shift.strongest.excursion.share) shift.strongest = sign;
  }
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

void PeerDetector::NoteLoads(int64_t now_ms) {
  for (const CounterSign& sign : signs_) {
    if (watch(sign.watch).traits().family == MetricFamily::kSoft) loads_.Note(sign, now_ms);
  }
  loads_.EndLook(now_ms);
}

// Adds up what a host's signs count, the strongest first. `serious`: only those that may accuse it, and load that began
// together with one of them.
PeerDetector::Pool PeerDetector::AddUp(const Host& host, bool serious, int64_t now_ms) const {
  const auto accuses = [&](size_t i) {
    if (!signs_[i].excursion.up && watch(signs_[i].watch).traits().is_host_load) return false;
    const bool stays = meaning_.ShareSinceDegradation(signs_[i]) >= kDeviating ||
                       (signs_[i].excursion.sigmas >= kStillAway && loads_.Lasts(signs_[i]));
    return meanings_[i].weight >= kDeviating && (meanings_[i].hard || (meanings_[i].may_degrade && stays));
  };
  const auto belongs = [&](size_t i) {
    if (!serious || meanings_[i].hard || meanings_[i].may_degrade) return true;
    return std::any_of(host.best.begin(), host.best.end(), [&](size_t j) {
      return accuses(j) && std::abs(signs_[i].excursion.onset_ms - signs_[j].excursion.onset_ms) <= kTogetherMs;
    });
  };
  Pool pool{.onset_ms = now_ms};
  double sum = 0;
  double soft = 0;
  size_t counted = 0;
  bool since_degradation = false;
  for (const size_t i : host.best) {
    const SignMeaning::Meaning& meaning = meanings_[i];
    pool.witness = pool.witness || accuses(i);
    pool.hard = pool.hard || (meaning.hard && meaning.weight >= kDeviating);
    if (counted == kPooledMetrics || meaning.weight < kCounted || !belongs(i)) continue;
    pool.onset_ms = std::min(pool.onset_ms, signs_[i].excursion.onset_ms);
    // What a machine changed with the job shows in all that it does, and is one sign; a little of it is chance.
    if (meaning.since_degradation && (since_degradation || meaning.weight < kDeviating)) continue;
    since_degradation = since_degradation || meaning.since_degradation;
    // One foreign process loads several of a host's resources at once: those are one sign.
    if (!meaning.hard && soft >= meaning.weight) continue;
    ++counted;
    sum += meaning.weight - (meaning.hard ? 0 : soft);
    if (!meaning.hard) soft = meaning.weight;
  }
  pool.score = sum / (1 + kPerMetric * static_cast<double>(counted == 0 ? 0 : counted - 1));
  return pool;
}

void PeerDetector::JudgeHost(int32_t index, int64_t now_ms) {
  Host& host = hosts_[static_cast<size_t>(index)];
  std::stable_sort(host.best.begin(), host.best.end(),
                   [&](size_t a, size_t b) { return meanings_[a].weight > meanings_[b].weight; });
  // Load that made the job slower for as long as an average over minutes needs has lasted that long itself.
  const int64_t soft_ms = std::max(options_.min_soft_ms, degraded_ ? activity_.degraded_lag_ms() : 0);
  const auto suffices = [&](const Pool& pool) {
    return pool.score >= 1 && now_ms - pool.onset_ms >= (pool.hard ? options_.min_pooled_ms : soft_ms);
  };
  const Pool serious = AddUp(host, true, now_ms);
  const Pool all = AddUp(host, false, now_ms);
  const bool accused = serious.witness && suffices(serious);
  if (hosts_.size() < 2 || (!accused && !suffices(all))) {
    // A case ends when little of it is left, so that it does not flicker.
    if (all.score < kCounted) host.case_since_ms = 0;
    return;
  }
  const Pool& pool = accused ? serious : all;
  MachineBlame& blame = blames_[static_cast<size_t>(index)];
  if (accused) blame.accused_ms = now_ms;
  if (accused && pool.hard) {
    blame.broken_ms = now_ms;
    blame.broken_onset_ms = pool.onset_ms;
  }
  Open(index, accused ? CaseKind::kAlarm : CaseKind::kSoft, pool.score, now_ms);
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
  const int64_t stuck_ms = degraded_ ? activity_.stuck_since_ms() : 0;
  const auto silent_ms = [&](const Host& host) { return host.last_ms == 0 ? 0 : now_ms - host.last_ms; };
  const auto together = [&](const Host& host) {
    return stuck_ms != 0 && silent_ms(host) >= kGapMs && host.last_ms <= stuck_ms + 1000 &&
           host.last_ms >= stuck_ms - kCoincidenceMs + 1000;
  };
  const auto coincide = std::count_if(hosts_.begin(), hosts_.end(), together);
  // Whoever stands out by other signs explains the hang already, and a gap at the time is chance. Loads explain none.
  bool explained =
      std::any_of(cases_.begin(), cases_.end(), [](const MachineCase& found) { return found.kind != CaseKind::kSoft; });
  for (size_t i = 0; i < signs_.size() && !explained; ++i) {
    const bool of_device = meaning_.IsIdle(signs_[i]) || (meanings_[i].hard && !common_[i]);
    explained = of_device && meaning_.IsTimely(signs_[i]) && meanings_[i].weight >= kDeviating;
  }
  const double gap_rate = static_cast<double>(gaps_ + 2) / static_cast<double>(std::max<int64_t>(1, seconds));
  const double chance = gap_rate * static_cast<double>(known * kCoincidenceMs) / 1000;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    int64_t needed_ms = options_.silent_ms;
    if (together(hosts_[i]) && !explained) {
      needed_ms = options_.silent_ms / 2;
      if (coincide == 1) needed_ms = options_.silent_when_stuck_ms + (chance <= kChanceGaps ? 0 : kCautionMs);
    }
    needed_ms = std::max(needed_ms, static_cast<int64_t>(1000 * kSilentTicks * fastest_tick_seconds_));
    if (silent_ms(hosts_[i]) < needed_ms) continue;
    Open(static_cast<int32_t>(i), CaseKind::kSilence, static_cast<double>(silent_ms(hosts_[i])) / 1000, now_ms);
  }
}

const std::vector<MachineCase>& PeerDetector::Conclude(int64_t now_ms) {
  cases_.clear();
  degraded_ = activity_.IsDegraded(now_ms);
  CollectSigns(now_ms);
  SetCommonAside(now_ms);
  NoteLoads(now_ms);
  meanings_.clear();
  for (const CounterSign& sign : signs_) meanings_.push_back(meaning_.Of(sign));
  for (Host& host : hosts_) host.best.clear();
  for (Host& host : hosts_) host.has_signs = false;
  for (const CounterSign& sign : signs_) hosts_[static_cast<size_t>(sign.host)].has_signs = true;
  for (Host& host : hosts_) {
    if (!host.has_signs) host.common_ms.clear();
  }
  for (size_t i = 0; i < signs_.size(); ++i) {
    if (common_[i] || !signs_[i].excursion.net) continue;
    std::vector<size_t>& best = hosts_[static_cast<size_t>(signs_[i].host)].best;
    const auto same =
        std::find_if(best.begin(), best.end(), [&](size_t j) { return signs_[j].watch == signs_[i].watch; });
    if (same == best.end()) {
      best.push_back(i);
      continue;
    }
    if (meanings_[*same].weight >= meanings_[i].weight) continue;
    // Single ticks tell the onset better than sums do.
    if (signs_[*same].tick_seconds < signs_[i].tick_seconds) {
      signs_[i].excursion.onset_ms = signs_[*same].excursion.onset_ms;
    }
    *same = i;
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
