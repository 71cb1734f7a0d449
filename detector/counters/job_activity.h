// Whether the job as a whole is degraded, from counters alone: what all its machines do at once.
//
// A synchronous job stops or slows down everywhere when one machine does. So what GPUs and NICs do on all machines
// (power, tensor activity, bytes) tells how the job fares, whoever is the cause. Both the median and the mean over the
// machines count, and the one that lost less: a few machines that do less do not move the median, and work that went
// from some machines to others does not move the mean.
// - standing: all of them far below their usual level. While GPUs are at full utilisation nonetheless, they spin inside
//   operations that do not end (stuck, kStuckMs); while they are idle it may be a checkpoint, and counts only after
//   kPauseMs.
// - slower: what GPUs do is below its usual level in averages that steps do not show in (pace_average.h), in looks that
//   lie kSlowerMs apart: each step has become longer, and so the share of it in which GPUs compute smaller. The ticks
//   in which a pause begins and ends are part of it, and make no job slower.
// Nothing is concluded before kLearningSeconds. While the job is degraded, what is usual is not learnt. A job starts
// up: it loads, compiles, warms up. So its first moments are forgotten soon (their weight falls with the square of the
// time), and a level that makes all before it look like standing is learnt anew. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_JOB_ACTIVITY_H_
#define LOCKSTEP_DETECTOR_COUNTERS_JOB_ACTIVITY_H_

#include <cstdint>
#include <map>

#include "base/metric_catalog.h"
#include "detector/counters/job_regime.h"
#include "detector/counters/pace_average.h"

namespace lockstep {

class JobActivity {
 public:
  // Several steps of jobs whose steps take 10 to 20 s; to know a pace takes twice as long.
  static constexpr double kLearningSeconds = 60;
  static constexpr double kPaceSeconds = 120;
  // Many times PaceAverage::kLongest, so that a slow decline of a minute is no new usual, and well below an hour of
  // drift.
  static constexpr double kUsualSeconds = 600;
  // Of what was observed, while that is less than kUsualSeconds: the weight of a moment falls with the square of the
  // time.
  static constexpr double kRemembered = 0.5;
  // Two steps of 12 s.
  static constexpr double kLatelySeconds = 24;
  // Of the usual mean. Empirical: between an idle GPU, at a fifth of its power, and the waits of a healthy step.
  static constexpr double kStanding = 0.6;
  // Empirical: longer than the waits inside healthy steps.
  static constexpr int64_t kStuckMs = 8000;
  // Empirical: shorter pauses are checkpoints.
  static constexpr int64_t kPauseMs = 30'000;
  // Two looks of metrics that are read once a second.
  static constexpr int64_t kSlowerMs = 2'000;
  // Prometheus scrapes every 10 to 30 s where nobody thinks of a job; of what is read less often two steps of 10 s are
  // less than a reading.
  static constexpr double kLongestTickSeconds = 30;
  // Beside metrics that are read faster, those that are read less often than this come too late to tell: kStuckMs would
  // be a single reading.
  static constexpr double kLongestBesideFaster = 5;
  // Readings that a level is learnt from, however long they take: known to a third of what they vary by. Twice as many
  // for a pace, as with the seconds.
  static constexpr double kLearningTicks = 8;
  static constexpr double kPaceTicks = 16;
  // One reading is no state: the next one comes within so many ticks.
  static constexpr double kNextReading = 1.5;

  // Median and mean over all machines of one activity metric or of GPU utilisation, for the tick that ended at
  // `time_ms`.
  void Observe(Metric metric, double median, double mean, int64_t time_ms, double tick_seconds);

  // Since when everything stands while GPUs are busy; 0 = it does not.
  int64_t stuck_since_ms() const { return stuck_since_ms_; }
  // True when the job has been stuck, idle or slower for as long as each needs.
  bool IsDegraded(int64_t now_ms) const;
  // Since when it is degraded, whatever the kind; 0 = it is not.
  int64_t degraded_since_ms() const;
  // Since when it is slower, seen but for an instant so far; 0 = it is not.
  int64_t slower_since_ms() const { return slower_since_ms_; }
  // By how much the degradation may have begun earlier: an average over a minute and a half shows it that late.
  int64_t degraded_lag_ms() const { return standing_since_ms_ != 0 ? 0 : slower_lag_ms_; }
  // Of job_regime.h.
  int regime() const { return standing_since_ms_ == 0 ? kJobWorks : (stuck_since_ms_ == 0 ? kJobStands : kJobHangs); }
  // False when no metric tells, or none has been read often enough: then degraded is not known, and not false.
  bool IsKnown() const;

  // True while the job seems slower, though not surely enough to be degraded (PaceAverage::kFewRipples).
  bool SeemsSlower() const { return standing_since_ms_ == 0 && loss_ > 0; }

  // How much the most telling metric has fallen below its usual mean, 0 to 1; of a job that works what seems so.
  double loss() const { return loss_; }

 private:
  // Of the median or the mean over machines.
  struct Level {
    double usual = 0;
    double now = 0;
    double lately = 0;  // over some kLatelySeconds, also while the level is being learnt
    PaceAverage average;

    double Loss() const;  // of the last tick
    bool HasWokenUp() const { return kStanding * lately > usual; }
  };
  struct Activity {
    Level median;
    Level mean;
    double seconds = 0;       // observed
    double readings = 0;      // of all times
    double tick_seconds = 0;  // the newest; 0 = none yet
    bool resumes = false;     // after a pause: its next tick may hold part of it
  };

  bool TellsInTime(double tick_seconds) const;
  int64_t NextReadingMs() const { return static_cast<int64_t>(1000 * kNextReading * fastest_tick_seconds_); }
  void Conclude(int64_t time_ms);
  int64_t LagOf(int64_t time_ms, int64_t average_ms) const;
  void Resume(int64_t time_ms);
  static void Relearn(Activity* activity);
  bool IsSlower() const;  // seen to be, over kSlowerMs

  std::map<Metric, Activity> series_;
  double fastest_tick_seconds_ = kLongestTickSeconds;  // of them
  double utilisation_ = -1;                            // -1 = unknown
  int64_t stuck_since_ms_ = 0;
  int64_t standing_since_ms_ = 0;
  int64_t paused_ms_ = 0;   // when it last began to stand, of a pause that is over
  int64_t resumed_ms_ = 0;  // and when it worked again; 0 = never
  int64_t slower_since_ms_ = 0;
  int64_t slower_last_ms_ = 0;
  int64_t slower_lag_ms_ = 0;
  double loss_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_JOB_ACTIVITY_H_
