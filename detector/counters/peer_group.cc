#include "detector/counters/peer_group.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "detector/counters/job_regime.h"
#include "detector/counters/peer_group_limits.h"
#include "detector/stats/false_alarm_budget.h"
#include "detector/stats/median.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

using namespace peer_group;  // NOLINT(google-build-using-namespace): its own numbers

// How much more sums of noise vary that remembers itself for kMemorySeconds than independent ticks would.
double UsualInflation(double tick_seconds) {
  const double memory = std::exp(-tick_seconds / kMemorySeconds);
  return std::max(kLeastInflation, (1 + memory) / (1 - memory));
}

}  // namespace

int32_t PeerGroup::AddUnit(int32_t host) {
  // Units of a host mostly come together.
  const bool known = (!units_.empty() && units_.back().host == host) || !host_known_.insert(host).second;
  hosts_ += known ? 0 : 1;
  units_.emplace_back();
  units_.back().host = host;
  stops_.AddUnit();
  degradation_.AddUnit();
  return units() - 1;
}

void PeerGroup::Resettle() {
  for (Unit& unit : units_) {
    for (int phase = 0; phase < PhaseTable::kPhases; ++phase) {
      unit.baseline[phase] += static_cast<float>(unit.excess * SpreadIn(phases_.at(phase)) / last_spread_);
      unit.seen[phase] = std::min(unit.seen[phase], kResettledTicks);
    }
    unit.evidence.Clear();
    unit.excess = 0;
    unit.away = false;
  }
  stops_.Clear();
  away_ = 0;
  excursions_.clear();
}

// Where everybody is. False when there are too few to say so.
bool PeerGroup::Locate(absl::Span<const float> values, Tick& tick) {
  const bool without_away = away_ > 0 && 2 * away_ <= units() && units() - away_ >= static_cast<int32_t>(kFewestValues);
  scratch_.clear();
  double magnitude = 0;
  double sum = 0;
  double known = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    sum += values[i];
    ++known;
    all_whole_ = all_whole_ && values[i] == std::floor(values[i]);
    if (without_away && units_[i].away) continue;
    scratch_.push_back(values[i]);
    magnitude += std::abs(values[i]);
  }
  if (scratch_.size() < kFewestValues) return false;
  tick.values = static_cast<double>(scratch_.size());
  const bool first = std::isnan(median_);
  if (first) inflation_ = UsualInflation(tick.seconds);
  tick.median = MedianOf(absl::MakeSpan(scratch_));
  tick.turn = median_ - tick.median;
  median_ = tick.median;
  mean_ = sum / known;
  magnitude_ += (first ? 1 : tick.gain) * (magnitude / tick.values - magnitude_);
  return true;
}

// On which scales to measure: those of the phase. Uses the values that Locate left up.
void PeerGroup::Scale(Tick& tick) {
  for (float& value : scratch_) value = std::abs(value - static_cast<float>(tick.median));
  const double spread = kMadToSigma * MedianOf(absl::MakeSpan(scratch_)) * tick.values / (tick.values - 0.8);
  const int main_phase = phases_.main_phase();
  const PhaseTable::Match match =
      phases_.Enter(tick.regime, tick.median, spread, static_cast<int64_t>(tick.values), tick.gain);
  tick.phase = match.phase;
  tick.inherited_from = main_phase;
  if (match.opened) {
    for (Unit& unit : units_) unit.seen[match.phase] = 0;
  }
  const LevelPhase& phase = phases_.at(match.phase);
  // Metrics that saturate bring machines together in some phases; what a machine is by nature is told by the others.
  const LevelPhase& main = phases_.at(main_phase);
  const double usual = main.center == 0 ? 0 : main.spread * std::abs(tick.median / main.center);
  const double floor = tick.median == 0 ? kMagnitudeFloor * magnitude_ : 0;
  tick.resolution = std::max(ResolutionAt(tick.median), floor);
  tick.spread = std::max(phase.spread, tick.resolution);
  tick.inherited_scale = main_phase == match.phase ? 1 : tick.spread / SpreadIn(main);
  tick.between = std::max(usual, tick.spread);
  tick.noise = std::max(phase.noise * tick.spread, kNoiseFloor * tick.resolution);
  tick.inflation = std::sqrt(std::max(1.0, inflation_));
  tick.freedom = std::min(kMostFreedom, std::max(2.0, (tick.values - 1) * static_cast<double>(phase.ticks) /
                                                          (tick.inflation * tick.inflation)));
  tick.natural = StudentOf(kNaturalScore, std::max(1, hosts_ - 1));
  if (tick.is_slow && last_phase_ >= 0 && phases_.at(last_phase_).regime != tick.regime) {
    const LevelPhase& last = phases_.at(last_phase_);
    tick.turned_from = last_phase_;
    tick.noise = std::max(tick.noise, last.noise * SpreadIn(last));
  }
  last_phase_ = tick.phase;
  last_spread_ = tick.spread;
}

// What follows from the length of the tick alone.
void PeerGroup::Begin(int64_t time_ms, double tick_seconds, int regime, Tick& tick) {
  tick_seconds_ = tick_seconds;
  tick.time_ms = time_ms;
  tick.seconds = tick_seconds;
  tick.regime = regime;
  tick.gain = std::min(0.5, tick_seconds / options_.memory_seconds);
  tick.gain_from = 1 / tick.gain + 1;
  const double share = 1000 * tick_seconds / static_cast<double>(options_.min_persistence_ms);
  tick.is_slow = share >= 1;
  tick.warm_up = std::clamp(kEstablishedSeconds / tick_seconds, kFewestWarmUpTicks, kWarmUpTicks);
  tick.net_gain = 1 / std::max(kNetTicks, kNetSeconds / tick_seconds);
  tick.established = std::max<double>(kYoungTicks, kEstablishedSeconds / tick_seconds);
  tick.limits = {.tick = options_.evidence * std::min(kLargestStep, share),
                 .total = kMostShares * options_.evidence,
                 .subtle = static_cast<double>(ticks_) >= tick.established};
}

// The work of a tick on one unit is inline: a library that may be linked dynamically calls functions otherwise.

// Of a new value after `seen` others: their mean at first, later a slow one.
inline double PeerGroup::WeightOf(uint16_t seen, const Tick& tick) {
  return seen >= tick.gain_from ? tick.gain : std::max(tick.gain, 1.0 / (1 + seen));
}

// Distance to where the unit should be. While the phase is new to it, that is anywhere between what it is here so far,
// which a passing trouble may have moved, and what it usually is; in a slow tick in which the job stopped or began to
// work, also anywhere between before and after, since machines sample at different moments.
inline double PeerGroup::Residual(Unit& unit, double distance, const Tick& tick) {
  const double usual = unit.baseline[tick.inherited_from] * tick.inherited_scale;
  if (unit.seen[tick.phase] == 0) unit.baseline[tick.phase] = static_cast<float>(usual);
  const double here = unit.baseline[tick.phase];
  if (unit.seen[tick.phase] >= tick.established && tick.turned_from < 0) return distance - here;
  const double young = unit.seen[tick.phase] < tick.established ? usual : here;
  const double before = tick.turned_from >= 0 ? tick.turn + unit.baseline[tick.turned_from] : here;
  return distance - std::clamp(distance, std::min({here, young, before}), std::max({here, young, before}));
}

// How far units stand from where they should be in this very tick, as far as that is more than noise. After a change of
// the job's load all have moved, each by a little more or less than the others, and stay there.
double PeerGroup::Moved(absl::Span<const float> values, const Tick& tick) {
  scratch_.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    scratch_.push_back(static_cast<float>(std::abs(Residual(units_[i], values[i] - tick.median, tick))));
  }
  const double most = tick.noise * (1 + kScatterErrors / std::sqrt(static_cast<double>(scratch_.size())));
  const double scatter = kMadToSigma * MedianOf(absl::MakeSpan(scratch_));
  return scatter <= most ? 0 : std::sqrt(scatter * scatter - tick.noise * tick.noise);
}

// The same lately, beyond what is usual: of work by what it adds up to, in which small changes show.
double PeerGroup::MovedLately(const Tick& tick) {
  scratch_.clear();
  for (const Unit& unit : units_) {
    if (unit.known) scratch_.push_back(static_cast<float>(std::abs(traits_.is_work() ? NetChange(unit) : unit.excess)));
  }
  if (scratch_.size() < kFewestValues) return 0;
  const double scatter = kMadToSigma * MedianOf(absl::MakeSpan(scratch_));
  const double weight = std::max(tick.gain, 1.0 / (1 + static_cast<double>(ticks_)));
  const double moved = lately_.Beyond(scatter, hosts_, weight, static_cast<double>(ticks_) >= tick.established);
  return moved * (traits_.is_work() ? std::abs(tick.median) : 1);
}

// `distance`: of the value to the median.
inline void PeerGroup::Learn(Unit& unit, double sigma, double value, double distance, bool doubtful, const Tick& tick) {
  const double residual = distance - unit.baseline[tick.phase];
  noise_sum_ += std::min(std::abs(residual), kWildest * tick.noise);
  ++learnt_;
  // A counter that stands still with the job remembers nothing and teaches nothing about the noise of work.
  const bool works = tick.regime == kJobWorks;
  if (works) unit.block_sum += static_cast<float>(std::clamp(residual / sigma, -kWildest, kWildest));
  if (works && ++unit.block_ticks == kBlockTicks) {
    blocks_ = std::min(blocks_ + 1, kMostBlocks);
    inflation_ +=
        (static_cast<double>(unit.block_sum) * unit.block_sum / kBlockTicks - inflation_) / (kPriorBlocks + blocks_);
    unit.block_sum = 0;
    unit.block_ticks = 0;
  }
  // Around where it was lately: a unit that has moved has become no noisier.
  const double own = std::abs(residual - unit.excess) / tick.noise;
  // What began with the degradation is what is looked for then, and no noise that hides it.
  const double learns = tick.dated ? 0 : 2 * tick.gain;
  unit.own_noise += static_cast<float>(learns * (kMeanToSigma * std::min(own, kWildest) - unit.own_noise));

  uint16_t& seen = unit.seen[tick.phase];
  float& baseline = unit.baseline[tick.phase];
  const double weight = WeightOf(seen, tick);
  const double young = doubtful ? tick.noise : kYoungReach * tick.between;
  const double reach = seen < kYoungTicks ? young : kWildest * tick.noise;
  const double learnt = baseline + weight * std::clamp(residual, -reach, reach);
  baseline = static_cast<float>(std::clamp(learnt, -tick.natural * tick.spread, tick.natural * tick.spread));
  if (seen < kMostSeen) ++seen;

  if (!unit.has_usual) {
    unit.has_usual = true;
    unit.usual = unit.recent = static_cast<float>(value);
  }
  unit.usual_noise += static_cast<float>(tick.gain * (std::abs(value - unit.usual) - unit.usual_noise));
  unit.usual += static_cast<float>(tick.gain * (value - unit.usual));
}

// A stopped job works nothing that could be added up.
inline bool PeerGroup::AddsUp(const Tick& tick) const { return traits_.is_work() && tick.regime == kJobWorks; }

// Adds up work and usual work, so that what one machine only samples earlier than another cancels.
inline void PeerGroup::AddUp(int32_t index, double value, bool calm, const Tick& tick) {
  if (!AddsUp(tick) || tick.median <= 0) return;
  Unit& unit = units_[static_cast<size_t>(index)];
  stops_.Observe(static_cast<size_t>(index), unit.net_usual * tick.median, value, Independent(tick), !unit.away,
                 tick.time_ms);
  const bool first = unit.net_median == 0;
  unit.net_value += static_cast<float>((first ? 1 : tick.net_gain) * (value - unit.net_value));
  unit.net_median += static_cast<float>((first ? 1 : tick.net_gain) * (tick.median - unit.net_median));
  const double ratio = unit.net_value / unit.net_median;
  const double weight = first ? 1 : calm ? WeightOf(unit.net_ticks, tick) : 0;
  unit.net_usual += static_cast<float>(weight * (ratio - unit.net_usual));
  if (calm && unit.net_ticks < kMostSeen) ++unit.net_ticks;
}

double PeerGroup::NetChange(const Unit& unit) const {
  return unit.net_median <= 0 ? 0 : unit.net_value / unit.net_median - unit.net_usual;
}

// False while what looks like less work may be work seen at another moment.
bool PeerGroup::IsNet(const Unit& unit, bool up, const Tick& tick) const {
  if (!AddsUp(tick) || unit.net_median <= 0) return true;
  const double change = NetChange(unit);
  const double apart = kSampledApart * tick.net_gain * phases_.Range(tick.regime) / unit.net_median;
  return (up ? change : -change) > apart;
}

void PeerGroup::List(int32_t index, double value, double sigma, const Tick& tick) {
  const Unit& unit = units_[static_cast<size_t>(index)];
  for (int side = 0; side < (traits_.counts_trouble ? 1 : ChangeEvidence::kSides); ++side) {
    const double share = unit.evidence.Of(side) / options_.evidence;
    if (share < kWorthMention) continue;
    const double own = std::max<double>(kMeanToSigma * unit.usual_noise, tick.resolution);
    excursions_.push_back({.unit = index,
                           .up = side == 0,
                           .net = IsNet(unit, side == 0, tick),
                           .net_change = AddsUp(tick) ? NetChange(unit) : 0,
                           .share = share,
                           .surprisal = unit.surprisal[side].most,
                           .level = value,
                           .median = tick.median,
                           .excess = unit.excess,
                           .sigmas = std::abs(unit.excess) / sigma,
                           .own_shift = (unit.recent - unit.usual) / own,
                           .onset_ms = unit.evidence.onset_ms(side)});
  }
}

// That the unit did nothing while its peers worked, on the evidence of its readings of then.
void PeerGroup::ListStop(int32_t index, double value, const Tick& tick) {
  const WorkStop& stop = stops_.Of(static_cast<size_t>(index));
  const bool listed = !excursions_.empty() && excursions_.back().unit == index && !excursions_.back().up;
  if (!listed) {
    excursions_.push_back({.unit = index, .level = value, .median = tick.median, .onset_ms = stop.since_ms});
  }
  excursions_.back().stop = stop;
}

// Notes how far a unit is from where it should be, in the metric's unit, as far as that is not wild; of one that is
// noisier than its peers so much less. In a new phase it should be where it usually is: what it does there since the
// job is slower must not become its place. Of work that is its usual part of what its peers do, whatever the phase, in
// all ticks that the value covers: what one sees earlier than the others cancels.
inline void PeerGroup::DateShift(int32_t index, double value, double away, const Tick& tick) {
  const auto place = static_cast<size_t>(index);
  const Unit& unit = units_[place];
  const int ticks = traits_.is_rate ? 1 + unit.missed : 1;
  // A slow counter is compared only when the reading before is known.
  if (ticks > (traits_.is_work() ? kMostMissed + 1 : 1)) return;
  double shift = away;
  if (traits_.is_work()) {
    const double peers = tick.median + (traits_.is_rate ? unit.missed_median : 0);
    shift = (value * ticks - unit.net_usual * peers) / ticks;
  } else if (unit.seen[tick.phase] < tick.established) {
    shift = value - tick.median - unit.baseline[tick.inherited_from] * tick.inherited_scale;
  }
  const double wildest = kWildest * tick.noise;
  shift = std::clamp(shift / std::max(1.0f, unit.own_noise), -wildest, wildest);
  for (int i = 0; i < ticks; ++i) degradation_.Add(place, shift, tick.seconds);
}

// What units do since the job is slower, beside what they may do anyway.
void PeerGroup::ListDegradation(absl::Span<const float> values, const Tick& tick) {
  const double least = (traits_.is_work() ? kLeastWorkScatter : kLeastScatter) * tick.resolution;
  const double noise = traits_.is_work() ? 0 : tick.noise;
  degradation_.Conclude(least, noise, tick.seconds, std::max(1, hosts_ - 1));
  for (size_t i = 0; i < units_.size(); ++i) {
    const DegradationShift shift = degradation_.Of(i);
    const bool up = shift.shift > 0;
    if (shift.nats < kLeastSinceDegradation || !units_[i].known) continue;
    if (!up && (traits_.counts_trouble || traits_.is_heat)) continue;
    const auto index = static_cast<int32_t>(i);
    auto listed = std::find_if(excursions_.begin(), excursions_.end(), [&](const Excursion& excursion) {
      return excursion.unit > index || (excursion.unit == index && excursion.up == up);
    });
    if (listed == excursions_.end() || listed->unit != index) {
      listed = excursions_.insert(
          listed,
          {.unit = index, .up = up, .level = values[i], .median = tick.median, .onset_ms = degradation_.since_ms()});
    }
    listed->since_degradation = shift.nats;
  }
}

// Adds to the evidence what the newest value says. A value that covers as much time as an alarm has to last may say as
// much as its surprisal is, and what too few readings could not tell yet, up to its share.
inline void PeerGroup::Judge(Unit& unit, double raw, const Tick& tick) {
  const double score = std::abs(raw) > 1 && tick.freedom < kMostFreedom ? NormalOf(raw, tick.freedom) : raw;
  EvidenceLimits limits = tick.limits;
  double surprisal = 0;
  const int side = raw > 0 ? 0 : 1;
  if (tick.is_slow) {
    surprisal = record_[side].SurprisalOf(std::abs(raw), Independent(tick));
    const double unknown = std::max(0.0, limits.tick - record_[side].MostKnown(Independent(tick)));
    limits.tick = std::min(std::max(limits.tick, surprisal), EvidenceOf(surprisal) + unknown);
    if (!unit.away) {
      record_[side].Add(std::abs(raw));
      record_[1 - side].Add(0);
    }
  }
  unit.readings += unit.readings < UINT8_MAX ? 1 : 0;
  if (static_cast<double>(ticks_) <= tick.warm_up || unit.readings <= tick.warm_up) return;
  unit.evidence.Add(score, tick.time_ms, limits);
  if (!tick.is_slow) return;
  for (int s = 0; s < ChangeEvidence::kSides; ++s) {
    if (unit.evidence.Of(s) <= ChangeEvidence::kNoise) {
      unit.surprisal[s] = {};
      continue;
    }
    Surprisal& all = unit.surprisal[s];
    all.sum += s == side ? static_cast<float>(std::max(0.0, surprisal)) : 0;
    ++all.readings;
    all.most = std::max(all.most, static_cast<float>(TogetherOf(all.sum, all.readings)));
  }
}

void PeerGroup::Step(absl::Span<const float> values, int64_t time_ms, double tick_seconds, int regime) {
  CHECK(values.size() == units_.size());
  excursions_.clear();
  Tick tick;
  Begin(time_ms, tick_seconds, regime, tick);
  if (!Locate(values, tick)) return;
  Scale(tick);
  tick.dated = degradation_.IsFresh(time_ms);
  tick.all_moved = tick.natural * (tick.is_slow && traits_.is_work() ? Moved(values, tick) : MovedLately(tick));
  ++ticks_;
  // Load of hosts has a measure of its own (load_chance.h), and sums of work are in the single ticks.
  const bool dates_degradation = (traits_.family == MetricFamily::kDevice || traits_.is_heat) && regime == kJobWorks &&
                                 !(tick.is_slow && traits_.is_work()) && static_cast<double>(ticks_) > tick.warm_up;
  noise_sum_ = 0;
  learnt_ = 0;
  away_ = 0;
  for (size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    const bool comparable = unit.known || !tick.is_slow || !traits_.is_rate;
    unit.known = !std::isnan(values[i]);
    if (!unit.known) {
      unit.missed = static_cast<uint16_t>(std::min<int>(unit.missed + 1, kMostSeen));
      unit.missed_median += static_cast<float>(tick.median);
    }
    if (!unit.known || !comparable) {
      if (unit.known) unit.missed = 0;
      away_ += unit.away ? 1 : 0;
      continue;
    }
    const double value = values[i];
    const double distance = value - tick.median;
    const double away = Residual(unit, distance, tick);
    const double residual = away - std::clamp(away, -tick.all_moved, tick.all_moved);
    const double noise = tick.noise * std::max(1.0f, unit.own_noise);
    const double young = tick.between / (1 + unit.seen[tick.phase]);
    const double old = std::max(noise * tick.inflation, tick.resolution);
    const double sigma = std::sqrt(old * old + young * young);
    const double raw = residual / sigma;
    Judge(unit, raw, tick);
    if (dates_degradation) DateShift(static_cast<int32_t>(i), value, away, tick);
    unit.missed = 0;
    unit.missed_median = 0;
    const double evidence = unit.evidence.Most();
    const bool calm = evidence < kCalmShare * options_.evidence;
    const bool settling = unit.seen[tick.phase] < kYoungTicks && !unit.away;
    const double learnt_from = tick.turned_from < 0 ? distance : unit.baseline[tick.phase] + away;
    if (calm || settling) Learn(unit, noise, value, learnt_from, evidence > kDoubtful * options_.evidence, tick);
    AddUp(static_cast<int32_t>(i), value, calm, tick);
    unit.excess += static_cast<float>(kRecentWeight * (away - unit.excess));
    unit.recent += static_cast<float>(kRecentWeight * (value - unit.recent));
    unit.away = evidence > kAwayShare * options_.evidence;
    away_ += unit.away ? 1 : 0;
    if (evidence >= kWorthMention * options_.evidence) List(static_cast<int32_t>(i), value, sigma, tick);
    if (tick.regime == kJobHangs && stops_.Of(i).surprisal >= kWorthMention * kLeastInHang) {
      ListStop(static_cast<int32_t>(i), value, tick);
    }
  }
  if (dates_degradation && degradation_.since_ms() != 0) ListDegradation(values, tick);
  if (learnt_ == 0) return;
  LevelPhase& phase = phases_.at(tick.phase);
  const double weight = std::max(tick.gain, 1.0 / (10 + static_cast<double>(phase.ticks)));
  phase.noise += weight * (kMeanToSigma * noise_sum_ / (static_cast<double>(learnt_) * tick.spread) - phase.noise);
}

}  // namespace lockstep
