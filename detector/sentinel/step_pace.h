// How long the steps of a running job take, from the records of a few ranks.
//
// Follows pacemakers (steps/pacemaker.h): communicators in which a rank takes part equally often in every step.
// A step lasts from one operation of such a communicator to the one `operations_per_step` later, on the clock of the
// rank's own host. One pacemaker counts at a time; another one takes over when its records stop coming. Where reports
// are thinned, only distances of whole steps count. Nothing is known (0) until Follow has been called. Where no
// communicator is used equally often in every step (micro-batches that count as steps, and an optimizer after some of
// them), looks count: so many steps as fit between two of them, each as long as the newest look says.
//
// Memory: kKeptSteps step times. O(1) per record of a followed rank, nothing for others. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_SENTINEL_STEP_PACE_H_
#define LOCKSTEP_DETECTOR_SENTINEL_STEP_PACE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "detector/model/input.h"

namespace lockstep {

struct FollowedCalls {
  int32_t rank = -1;
  CommunicatorId communicator = 0;
  uint64_t operations_per_step = 0;
  uint64_t counted_to = 0;  // the operation that ended the newest step of the look; 0 = unknown

  bool SameCalls(const FollowedCalls& other) const {
    return rank == other.rank && communicator == other.communicator && operations_per_step == other.operations_per_step;
  }
};

class StepPace {
 public:
  // Bound of memory; a median of the recent ones is known to a third of their spread.
  static constexpr size_t kKeptSteps = 256;
  static constexpr size_t kRecentSteps = 16;

  // What a look found: which calls count steps, how many it saw and how long they took. True when other calls are
  // followed from now on than before, so that steps are counted in another unit: everything begins anew.
  bool Follow(const std::vector<FollowedCalls>& calls, int64_t steps, double step_seconds, int64_t now_ns);
  bool follows() const { return !followed_.empty(); }

  // One communicator of a rank of a report.
  void Observe(int32_t rank, const CommunicatorView& view, int64_t received_ns);

  // Step times that came since the last call, oldest first; the caller takes them away.
  std::vector<double> TakeNew();

  int64_t steps() const { return steps_; }  // since the engine began
  double MedianSeconds() const;             // of the kept steps; 0 = unknown
  double RecentSeconds() const;             // median of the newest kRecentSteps: follows a change, but not a spike
  double LongestUsualSeconds() const;       // 97 % of the kept steps took less
  double StepsPerSecond() const;            // over the newest steps of about two seconds; 0 = unknown
  int64_t newest_ns() const { return newest_ns_; }  // receive time of the newest step; 0 = none

  void Clear();

 private:
  struct Follower {
    FollowedCalls calls;
    uint64_t sequence = 0;  // of the newest operation that ended a step; 0 = none yet
    int64_t end_ns = 0;     // 0 = unknown
    int64_t received_ns = 0;
  };

  struct Call {
    uint64_t sequence = 0;
    int64_t end_ns = 0;

    auto operator<=>(const Call&) const = default;
  };

  // No pacemaker counts.
  void CountByLooks(int64_t steps, double step_seconds, int64_t now_ns);
  void Feed(const Call& call, int64_t received_ns, bool counts, Follower* follower);
  int64_t PatienceNs() const;
  bool MayCount(const Follower& follower, int64_t received_ns) const;
  double Quantile(double share) const;

  std::vector<Follower> followed_;
  size_t counting_ = 0;  // in followed_
  std::deque<double> step_seconds_;
  std::vector<double> new_;  // bounded by kKeptSteps
  int64_t steps_ = 0;
  int64_t newest_ns_ = 0;
  int64_t look_ns_ = 0;    // of the newest look that counted; 0 = none did
  double look_steps_ = 0;  // of the part of a step that was over then
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SENTINEL_STEP_PACE_H_
