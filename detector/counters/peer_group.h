// Units of equal duty and one metric: which of them went away from the others, on how much evidence.
//
// Once per tick, for all units together:
// 1. The median over the units that are not themselves away is where everybody is (Rousseeuw and Croux 1993: up to
//    half of the units may be anywhere); it also tells the phase of the job (phase_table.h). Common mode, such as
//    checkpoints, drift of the day and the stop of the whole job, is gone with it.
// 2. What is left of a unit is its signed distance to the median. Its own usual distance in this phase is its baseline,
//    learnt slowly; it cannot learn further away than a healthy one among so many peers could stand (StudentOf of the
//    spread between machines), so that a machine which is odd from the start stays so. Where the job stops or begins to
//    work, a slow metric may read anything between before and after.
// 3. The residual is measured on max(noise of the group, noise of the unit's own past, resolution of the metric),
//    widened for noise that remembers: by how much more sums over kBlockTicks vary than they would if ticks were
//    independent (the effective sample size, measured); and wider still while the phase is new to the unit. It is what
//    lies beyond where one unit among so many may be when all have moved: as after a change of the load, which each
//    follows a little more or less than the others.
// 4. Evidence adds up in either direction, for gross changes and, as soon as places are means of two minutes, for
//    subtle ones (change_evidence.h): of a thousand units some are off by as much after less, and stay so. No tick adds
//    more than its share, so that an alarm needs min_persistence at least. A tick that is as long as that itself adds
//    the surprisal of one reading at most (tail_record.h), as far as there are readings enough to tell; of counters it
//    is compared only when the reading before is known.
// 5. Work (traffic, power, tensor activity) is added up over tens of seconds as well: a burst that one machine samples
//    earlier than the others makes it odd at both ends of the burst, but not in sum (Excursion::net). While the job
//    hangs, a unit is listed that stopped before everybody did (work_stop.h), however little evidence there was time
//    for; and while it is slower, one of a device that changed since then (degradation_sums.h).
// Units on more than half of the evidence are away: they no longer define the median or the noise (iterated removal of
// concurrent faults), and nothing is learnt from them.
//
// With fewer than three values nothing is judged, nor is a unit by its first readings. O(units) per tick (nth_element),
// 180 bytes per unit. Values must be finite or NaN = unknown, which is no evidence either way. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PEER_GROUP_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PEER_GROUP_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "detector/counters/degradation_sums.h"
#include "detector/counters/excursion.h"
#include "detector/counters/metric_traits.h"
#include "detector/counters/phase_table.h"
#include "detector/counters/usual_scatter.h"
#include "detector/counters/work_stop.h"
#include "detector/stats/change_evidence.h"
#include "detector/stats/tail_record.h"

namespace lockstep {

struct PeerGroupOptions {
  double evidence = 27;  // nats that an alarm needs
  int64_t min_persistence_ms = 15'000;
  double memory_seconds = 600;  // time constant of what is learnt
};

class PeerGroup {
 public:
  static constexpr double kWorthMention = 0.3;  // share of the evidence from which an excursion is listed

  PeerGroup(const MetricTraits& traits, const PeerGroupOptions& options) : traits_(traits), options_(options) {}

  // Returns the unit's index: 0, 1, ...
  int32_t AddUnit(int32_t host);
  int32_t HostOf(int32_t unit) const { return units_[static_cast<size_t>(unit)].host; }

  // One value per unit. `time_ms` must increase. `regime`: what the job as a whole does (job_activity.h).
  void Step(absl::Span<const float> values, int64_t time_ms, double tick_seconds, int regime);

  // Nats that an alarm needs, from now on.
  void Need(double evidence) { options_.evidence = evidence; }

  // Since when the job is slower, before the Step that it is about; 0 = it is not.
  void DateDegradation(int64_t slower_since_ms) { degradation_.Date(slower_since_ms); }

  // Takes wherever everybody is now for the new usual: after something moved many machines at once.
  void Resettle();

  // After the newest Step, by unit.
  const std::vector<Excursion>& excursions() const { return excursions_; }
  int32_t units() const { return static_cast<int32_t>(units_.size()); }
  int32_t hosts() const { return hosts_; }
  // NaN before the first judged tick.
  double median() const { return median_; }
  // Of all units, those that are away included; NaN before the first judged tick.
  double mean() const { return mean_; }
  double UsualLevel(int32_t unit) const { return units_[static_cast<size_t>(unit)].usual; }

 private:
  // Of which the noise of a mean is learnt. By judgement, not measured.
  static constexpr int kBlockTicks = 16;

  // Of the readings of a slow metric since its evidence rose.
  struct Surprisal {
    float sum = 0;
    int readings = 0;
    float most = 0;  // that they were worth together
  };

  struct Unit {
    int32_t host = -1;
    bool away = false;
    bool known = false;  // had a value in the newest tick
    bool has_usual = false;
    uint8_t readings = 0;                      // saturating
    uint16_t seen[PhaseTable::kPhases] = {};   // ticks, saturating
    float baseline[PhaseTable::kPhases] = {};  // usual distance to the median
    ChangeEvidence evidence;
    Surprisal surprisal[ChangeEvidence::kSides];
    float own_noise = 1;  // over the noise of the group
    float block_sum = 0;  // of residuals, in noise
    uint8_t block_ticks = 0;
    float excess = 0;       // recent mean residual, in the metric's unit
    float usual = 0;        // level, slow mean
    float usual_noise = 0;  // mean distance to it
    float recent = 0;       // level, fast mean
    float net_value = 0;    // of work: mean over tens of seconds of the unit
    float net_median = 0;   // and of the medians of the same ticks
    float net_usual = 0;    // their usual ratio
    uint16_t net_ticks = 0;
    uint16_t missed = 0;      // ticks since the newest value
    float missed_median = 0;  // sum of their medians
  };

  // What all units share in one tick. Distances are in the metric's unit.
  struct Tick {
    double median = 0;
    double values = 0;  // that the median is of
    double spread = 0;
    double between = 0;  // how far apart machines stand by their nature, in any phase
    double resolution = 0;
    double noise = 1;
    double inflation = 1;
    double freedom = 1;
    double natural = 0;  // scales of their peers that one may stand away from them
    double gain = 0;
    double gain_from = 0;  // values seen, after which the gain is their weight
    EvidenceLimits limits;
    double net_gain = 0;
    int regime = 0;
    double all_moved = 0;    // so far one may stand from its place since all have moved
    double established = 0;  // ticks after which a baseline is trusted
    int phase = 0;
    int inherited_from = 0;
    double inherited_scale = 1;  // what machines differ by here over what they do there
    int turned_from = -1;        // of slow metrics: the phase of the tick before, if the regime was another
    double turn = 0;             // how much higher the median of the tick before was
    int64_t time_ms = 0;
    bool dated = false;    // the job became slower lately
    bool is_slow = false;  // as long as an alarm has to last, or longer
    double seconds = 1;
    double warm_up = 0;  // ticks before anything is judged, and readings of a unit before it is
  };

  void Begin(int64_t time_ms, double tick_seconds, int regime, Tick& tick);
  bool Locate(absl::Span<const float> values, Tick& tick);
  void Scale(Tick& tick);
  static double WeightOf(uint16_t seen, const Tick& tick);
  static double Residual(Unit& unit, double distance, const Tick& tick);
  double Moved(absl::Span<const float> values, const Tick& tick);
  double MovedLately(const Tick& tick);
  void Learn(Unit& unit, double sigma, double value, double distance, bool doubtful, const Tick& tick);
  void AddUp(int32_t index, double value, bool calm, const Tick& tick);
  bool AddsUp(const Tick& tick) const;
  void Judge(Unit& unit, double raw, const Tick& tick);
  double NetChange(const Unit& unit) const;
  bool IsNet(const Unit& unit, bool up, const Tick& tick) const;
  void List(int32_t index, double value, double sigma, const Tick& tick);
  void ListStop(int32_t index, double value, const Tick& tick);
  void DateShift(int32_t index, double value, double away, const Tick& tick);
  void ListDegradation(absl::Span<const float> values, const Tick& tick);
  // How far apart machines stand in a phase, at least what can be told apart.
  double SpreadIn(const LevelPhase& phase) const { return std::max(phase.spread, ResolutionAt(phase.center)); }
  double ResolutionAt(double level) const {
    return std::max(ResolutionOf(traits_, level, tick_seconds_), all_whole_ ? traits_.whole_resolution : 0);
  }
  double Independent(const Tick& tick) const { return 1 / (tick.inflation * tick.inflation); }

  MetricTraits traits_;
  PeerGroupOptions options_;
  std::vector<Unit> units_;
  int32_t hosts_ = 0;
  std::set<int32_t> host_known_;
  int32_t away_ = 0;
  int64_t ticks_ = 0;
  double last_spread_ = 1;
  int last_phase_ = -1;  // none yet
  UsualScatter lately_;
  double tick_seconds_ = 1;
  bool all_whole_ = true;  // all values so far are whole numbers
  PhaseTable phases_;
  double magnitude_ = 0;  // slow mean of |value|
  double inflation_ = 1;  // mean of (sum over a block)^2 / its ticks, in noise: 1 if ticks were independent
  double blocks_ = 0;
  TailRecord record_[ChangeEvidence::kSides];  // of what units deviated by, in slow metrics
  WorkStops stops_;
  DegradationSums degradation_;
  double median_ = std::numeric_limits<double>::quiet_NaN();
  double mean_ = std::numeric_limits<double>::quiet_NaN();
  std::vector<float> scratch_;
  std::vector<Excursion> excursions_;
  // Of the current tick.
  double noise_sum_ = 0;
  int64_t learnt_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PEER_GROUP_H_
