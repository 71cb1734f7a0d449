#include "detector/counters/sign_meaning.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/metric_catalog.h"
#include "detector/counters/degradation_sums.h"
#include "detector/counters/job_regime.h"
#include "detector/counters/metric_traits.h"
#include "detector/counters/peer_group.h"
#include "detector/stats/false_alarm_budget.h"

namespace lockstep {
namespace {

// Of load that may degrade nothing: four alarms of load, as many as one metric can add, are an observation. Empirical.
constexpr double kSoftWeight = 0.25;
constexpr double kMostOfOne = 4;
// Expected so near to the degradation, the usual 5 %; with more, a load explains nothing.
constexpr double kChanceLoads = 0.05;
// The degradation of a sign shows late in a job of long steps: three of 20 s.
constexpr int64_t kLongBeforeMs = 60'000;
// Of the work of a machine: by more no balancing of batches or experts moves it. Empirical.
constexpr double kMostShifted = 0.25;
// Jobs become slower more often than they hang, for whatever reason. Assumed; no source counts it.
constexpr double kSlowdownsPerHang = 4;
// One machine may see the same moment so much earlier than another.
constexpr double kApartTicks = 1.5;

}  // namespace

void SignMeaning::Begin(const Look& look, const std::vector<CounterSign>* signs) {
  look_ = look;
  signs_ = signs;
  stuck_factor_ = EvidenceNeeded(look_.series_per_machine, 1, look_.false_alarms_per_machine_day) /
                  EvidenceInHang(look_.series_per_machine * MachineCount(),
                                 look_.false_alarms_per_machine_day / kHangsPerMachineDay);
  FindSuspects();
  first_stop_ms_ = 0;
  for (const CounterSign& sign : *signs) {
    const WorkStop& stop = sign.excursion.stop;
    if (!StoppedBefore(sign) || stop.surprisal < EvidenceAtDegradation(sign)) continue;
    if (first_stop_ms_ == 0 || stop.since_ms < first_stop_ms_) first_stop_ms_ = stop.since_ms;
  }
}

// Of a device and in the direction that faults have. What has stood as it does for as long as the job is known is how
// the machine is, not what befell it. A machine that did a little less of the work of a step had less to do, as far as
// the job is not degraded; its traffic, which the rest of the job decides, never accuses it by a little.
bool SignMeaning::IsHard(const CounterSign& sign, bool may_degrade) const {
  const MetricTraits& traits = watch(sign.watch).traits();
  if (traits.family != MetricFamily::kDevice || !sign.has_changed) return false;
  if (!traits.is_work()) return true;
  if (sign.excursion.up) return false;
  if (StoppedFirst(sign)) return true;
  if (traits.work == WorkKind::kEffort || sign.excursion.net_change <= -kMostShifted) return true;
  return traits.work == WorkKind::kAmount && may_degrade;
}

// Of work that a unit does not do even while it waits. Errors and waits around a hang are everybody's.
bool SignMeaning::IsIdle(const CounterSign& sign) const {
  const MetricWatch& metric = watch(sign.watch);
  return !sign.excursion.up && (metric.traits().is_work() || metric.metric() == Metric::kGpuUtilizationRatio);
}

// True when the sign began about when the job began to be degraded.
bool SignMeaning::IsTimely(const CounterSign& sign) const {
  const int64_t before_ms = look_.activity->degraded_since_ms() - sign.excursion.onset_ms;
  return look_.degraded && before_ms >= -kTogetherMs && before_ms <= kLongBeforeMs + look_.activity->degraded_lag_ms();
}

// True when a device of another machine broke about when the job began to be degraded, and not with this sign: then the
// degradation has its cause, and load that comes later is chance. Load that another machine surely shows as well is
// none; traffic, which the degradation changes everywhere, is.
bool SignMeaning::IsExplained(const CounterSign& sign) const {
  const bool has_cause = std::any_of(look_.machines->begin(), look_.machines->end(), [&](const MachineBlame& other) {
    return &other != &(*look_.machines)[static_cast<size_t>(sign.host)] && other.broken_ms != 0 &&
           other.broken_ms >= look_.activity->degraded_since_ms() - look_.activity->degraded_lag_ms() - kLongBeforeMs &&
           std::abs(sign.excursion.onset_ms - other.broken_onset_ms) > kCoincidenceMs;
  });
  if (!has_cause || watch(sign.watch).traits().is_work()) return has_cause;
  return std::none_of(signs_->begin(), signs_->end(), [&](const CounterSign& other) {
    return other.host != sign.host && other.watch == sign.watch && other.excursion.up == sign.excursion.up &&
           other.excursion.share >= 1 && std::abs(sign.excursion.onset_ms - other.excursion.onset_ms) <= kTogetherMs;
  });
}

// True when so strong a load of a host, so near to the degradation, is hardly there by chance.
bool SignMeaning::IsNoChance(const CounterSign& sign) const {
  if (watch(sign.watch).traits().family != MetricFamily::kSoft) return true;
  const int64_t apart_ms = std::abs(look_.activity->degraded_since_ms() - sign.excursion.onset_ms) + kCoincidenceMs;
  return look_.loads->Expected(sign, apart_ms, MachineCount(), look_.now_ms) <= kChanceLoads;
}

// Nats that a sign needs near to degradation: there chance has as many looks as there are readings of all machines in
// the time between the two, as at a hang.
double SignMeaning::EvidenceAtDegradation(const CounterSign& sign) const {
  // Neither moment is known better: the sign may have begun at any time of its first tick, and the degradation earlier
  // by what the average that showed it is slow.
  const auto tick_ms = static_cast<int64_t>(1000 * sign.tick_seconds);
  const int64_t sign_first_ms = sign.excursion.onset_ms;
  const int64_t degradation_last_ms = look_.activity->degraded_since_ms();
  const int64_t degradation_first_ms = degradation_last_ms - look_.activity->degraded_lag_ms();
  const int64_t apart_ms =
      std::max({int64_t{0}, degradation_first_ms - (sign_first_ms + tick_ms), sign_first_ms - degradation_last_ms});
  const double looks =
      1 + static_cast<double>(look_.activity->degraded_lag_ms() + apart_ms) / static_cast<double>(tick_ms);
  return EvidenceInHang(look_.series_per_machine * MachineCount() * looks, WrongPerDegradation());
}

// How often a degradation of the job, once it is known, may be blamed on the wrong machine.
double SignMeaning::WrongPerDegradation() const {
  const double kinds = look_.activity->stuck_since_ms() != 0 ? 1 : kSlowdownsPerHang;
  return look_.false_alarms_per_machine_day / (kinds * kHangsPerMachineDay);
}

// True when the sign is of sums of work, not of single readings.
bool SignMeaning::InSums(const CounterSign& sign) const {
  return watch(sign.watch).traits().is_work() && sign.tick_seconds > look_.fastest_tick_seconds;
}

// What the surprisal of readings of a slow metric counts near to degradation, until somebody is known to be at fault.
// Sums of work only for as long as a shift is looked for: after a change of the load, which each machine follows a
// little more or less than the others, they would go on.
double SignMeaning::ShareAtDegradation(const CounterSign& sign) const {
  const double seconds = static_cast<double>(look_.now_ms - look_.activity->degraded_since_ms()) / 1000;
  if (HasCulprit(sign.host) || (InSums(sign) && seconds > DegradationSums::kMostSeconds)) return 0;
  return sign.excursion.surprisal / EvidenceAtDegradation(sign);
}

// True when another machine was accused since the job began to be degraded.
bool SignMeaning::HasCulprit(int32_t beside_host) const {
  const int64_t first_ms = look_.activity->degraded_since_ms() - look_.activity->degraded_lag_ms() - kLongBeforeMs;
  return std::any_of(look_.machines->begin(), look_.machines->end(), [&](const MachineBlame& other) {
    return &other != &(*look_.machines)[static_cast<size_t>(beside_host)] && other.accused_ms != 0 &&
           other.accused_ms >= first_ms;
  });
}

// What devices that changed about when the job began to be degraded say against their machines.
void SignMeaning::FindSuspects() {
  suspects_ = Suspects();
  for (const CounterSign& sign : *signs_) {
    const MetricTraits& traits = watch(sign.watch).traits();
    if (traits.family != MetricFamily::kDevice || (traits.is_work() && sign.excursion.up) || !IsTimely(sign)) continue;
    const double needed =
        EvidenceNeeded(look_.series_per_machine, sign.tick_seconds, look_.false_alarms_per_machine_day);
    suspects_.Add(sign.host, std::max(sign.excursion.share * needed, sign.excursion.since_degradation));
  }
}

// What the whole time since the job is slower counts: nothing once somebody is known to be at fault, nor while another
// is more suspect, since all that makes so little evidence enough is that somebody must be. Chance has about one look
// of its own per doubling of the time.
double SignMeaning::ShareSinceDegradation(const CounterSign& sign) const {
  if (sign.excursion.since_degradation == 0 || !look_.degraded || look_.activity->stuck_since_ms() != 0 ||
      HasCulprit(sign.host))
    return 0;
  if (sign.excursion.since_degradation < suspects_.RivalOf(sign.host)) return 0;
  const double seconds = static_cast<double>(look_.now_ms - look_.activity->degraded_since_ms()) / 1000;
  const double looks = 1 + std::log2(std::max(1.0, seconds / DegradationSums::kLeastSeconds));
  return sign.excursion.since_degradation /
         EvidenceInHang(look_.series_per_machine * MachineCount() * looks, WrongPerDegradation());
}

// True when a unit stopped right before everybody did: by two ticks, since machines sample at different moments.
bool SignMeaning::StoppedBefore(const CounterSign& sign) const {
  const int64_t before_ms = look_.activity->degraded_since_ms() - sign.excursion.stop.since_ms;
  const bool stopped = look_.activity->stuck_since_ms() != 0 && sign.excursion.stop.since_ms != 0;
  return stopped && static_cast<double>(before_ms) > kApartTicks * 1000 * sign.tick_seconds &&
         before_ms <= kCoincidenceMs;
}

// The same, and nothing did so earlier that is surely dead: those that wait for a machine stop next.
bool SignMeaning::StoppedFirst(const CounterSign& sign) const {
  return StoppedBefore(sign) && (first_stop_ms_ == 0 || sign.excursion.stop.since_ms <= first_stop_ms_);
}

// What a sign counts, in alarms.
double SignMeaning::WeightOf(const CounterSign& sign, const Meaning& meaning) const {
  const double dated = meaning.may_degrade ? ShareSinceDegradation(sign) : 0;
  const double share = std::min(std::max(sign.excursion.share, dated), kMostOfOne);
  if (!meaning.hard) return share * (meaning.may_degrade ? 1 : kSoftWeight);
  if (!look_.degraded) return share;
  if (look_.activity->regime() == kJobWorks) {
    return meaning.may_degrade ? std::max(share, std::min(ShareAtDegradation(sign), kMostOfOne)) : share;
  }
  // What machines read while a pause begins or ends is everybody's, here a moment earlier than there.
  if (look_.activity->stuck_since_ms() == 0) return share;
  // Clocks rise to their ceiling while GPUs spin, each to its own.
  if (watch(sign.watch).metric() == Metric::kGpuSmClockHertz) return share * kSoftWeight;
  // A sum tells of the time before: of a machine that did a little less, not of one that stopped.
  if (!IsTimely(sign) || !IsIdle(sign) || InSums(sign)) return share;
  const double stop = StoppedFirst(sign) ? sign.excursion.stop.surprisal / EvidenceAtDegradation(sign) : 0;
  return std::min(std::max(share * stuck_factor_, stop), kMostOfOne);
}

SignMeaning::Meaning SignMeaning::Of(const CounterSign& sign) const {
  Meaning meaning;
  const bool more_work = sign.excursion.up && watch(sign.watch).traits().is_work();
  const bool no_chance = IsNoChance(sign) || ShareSinceDegradation(sign) >= PeerGroup::kWorthMention;
  meaning.may_degrade = sign.has_changed && !more_work && IsTimely(sign) && !IsExplained(sign) && no_chance;
  meaning.hard = IsHard(sign, meaning.may_degrade);
  meaning.since_degradation = meaning.may_degrade && ShareSinceDegradation(sign) > sign.excursion.share;
  meaning.weight = WeightOf(sign, meaning);
  return meaning;
}

}  // namespace lockstep
