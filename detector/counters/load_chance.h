// How often hosts are loaded by chance, and whether a load that came with the degradation of a job is more than that.
//
// A backup, a cron job or an update loads a host for a while and degrades no job. When a job becomes slower at such a
// time, for whatever reason, the load is there as well: among a thousand hosts some are always busy. So a load is
// measured by what was seen in this very job: of one metric and direction, how many loads at least as strong (most
// evidence that they reached, in alarms) began so far, on all machines together. That is a rate of a Poisson process;
// times the distance in time between load and degradation it gives how many such loads chance alone puts there. A few
// in a hundred say that the load explains the degradation; more, that it may as well be one of the many. Until the job
// has shown its own rate, one load per machine and day is expected (a nightly backup), with the weight of half a load
// (Jeffreys' prior).
//
// A load may be interrupted for kPauseMs and counts once. Cost: O(loads under way) per look. Memory: 40 bytes per load
// under way and 400 per metric. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_LOAD_CHANCE_H_
#define LOCKSTEP_DETECTOR_COUNTERS_LOAD_CHANCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "detector/counters/metric_watch.h"

namespace lockstep {

class LoadChance {
 public:
  // One backup or scrub a day, until the job's own history says more: it counts half a load (Jeffreys' prior).
  static constexpr double kUsualPerMachineDay = 1;
  static constexpr double kPriorLoads = 0.5;
  // kTogetherMs: a load that comes back within it is the same.
  static constexpr int64_t kPauseMs = 45'000;
  // In alarms: a load whose evidence fell by more than this from where it was is over. An eighth of the 25 nats that
  // an alarm usually needs, or what a load that goes on loses by chance about once in twenty times.
  static constexpr double kFall = 0.125;

  // A load that stands out in the look at `now_ms`. Looks must not go back in time.
  void Note(const CounterSign& sign, int64_t now_ms);
  // Ends the look: loads that were not noted for kPauseMs are history.
  void EndLook(int64_t now_ms);

  // How many loads at least as strong as this one chance puts within `window_ms`, on all `machines` together.
  double Expected(const CounterSign& sign, int64_t window_ms, double machines, int64_t now_ms) const;
  // True while the load is as strong as it ever was. It must have been noted.
  bool Lasts(const CounterSign& sign) const;

 private:
  // Of strength, in alarms: tenths up to PeerGroup's most, five.
  static constexpr size_t kGrades = 50;
  static constexpr double kGrade = 0.1;

  struct Load {
    double strongest = 0;
    int64_t onset_ms = 0;
    int64_t noted_ms = 0;
  };
  // One metric in one direction.
  struct Kind {
    std::map<int32_t, Load> loads;             // under way, by unit
    std::array<uint32_t, kGrades> ended = {};  // by the strongest that they were
  };

  static size_t GradeOf(double strength);

  std::map<std::pair<int32_t, bool>, Kind> kinds_;  // by metric and direction
  int64_t first_ms_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_LOAD_CHANCE_H_
