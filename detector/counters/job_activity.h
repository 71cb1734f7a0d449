// Whether the job as a whole is hurt, from counters alone: what all its machines do at once.
//
// A synchronous job stops or slows down everywhere when one machine does. So the medians over all machines of what GPUs
// and NICs do (power, tensor activity, bytes) tell how the job fares, whoever is the cause:
// - standing: all of them far below their usual mean. While GPUs are at full utilisation nonetheless, they spin inside
//   operations that do not end (stuck, kStuckMs); while they are idle it may be a checkpoint, and counts only after
//   kPauseMs.
// - slower: the mean of what GPUs do over kRecentSeconds is kSlower below its usual, for kSlowerMs: each step has
// become longer, and so
//   the share of it in which GPUs compute smaller.
// Nothing is concluded before kLearningSeconds. While the job is hurt, what is usual is not learnt. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_JOB_ACTIVITY_H_
#define LOCKSTEP_DETECTOR_COUNTERS_JOB_ACTIVITY_H_

#include <cstdint>
#include <map>

#include "base/metric_catalog.h"

namespace lockstep {

class JobActivity {
 public:
  static constexpr double kLearningSeconds = 60;
  static constexpr double kRecentSeconds = 40;
  static constexpr double kUsualSeconds = 600;
  static constexpr double kStanding = 0.6;  // of the usual mean
  static constexpr double kSlower = 0.03;
  static constexpr int64_t kStuckMs = 8000;
  static constexpr int64_t kPauseMs = 30'000;
  static constexpr int64_t kSlowerMs = 25'000;
  static constexpr double kLongestTickSeconds = 5;  // slower metrics come too late to tell

  // The median over all machines of one activity metric or of GPU utilisation, for the tick that ended at `time_ms`.
  void Observe(Metric metric, double median, int64_t time_ms, double tick_seconds);

  // Since when everything stands while GPUs are busy; 0 = it does not.
  int64_t stuck_since_ms() const { return stuck_since_ms_; }
  // True when the job has been stuck, idle or slower for as long as each needs.
  bool IsHurt(int64_t now_ms) const;
  // Since when it is hurt, whatever the kind; 0 = it is not.
  int64_t hurt_since_ms() const;
  // 0 = works, 1 = stands and GPUs idle, 2 = stands and GPUs are busy.
  int regime() const { return standing_since_ms_ == 0 ? 0 : (stuck_since_ms_ == 0 ? 1 : 2); }
  // False when no metric tells: then hurt is not known, and not false.
  bool IsKnown() const { return !series_.empty(); }

  // How much the most telling metric has fallen below its usual mean, 0 to 1.
  double loss() const { return loss_; }

 private:
  struct Activity {
    double usual = 0;
    double recent = 0;
    double now = 0;
    double seconds = 0;  // observed
  };

  void Conclude(int64_t time_ms);

  std::map<Metric, Activity> series_;
  double utilisation_ = -1;  // -1 = unknown
  int64_t stuck_since_ms_ = 0;
  int64_t standing_since_ms_ = 0;
  int64_t slower_since_ms_ = 0;
  double loss_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_JOB_ACTIVITY_H_
