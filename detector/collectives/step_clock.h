// How fast a job steps, from the calls of one of its ranks: period of the calls, step times, longest usual step.
//
// The rank is a member of the anchor communicator (the one over the whole job). A step ends with every
// `anchors_per_step`-th operation of the anchor, counted by its sequence number, so that all ranks number steps alike.
// Times are of the rank's own host. Bounded by the constants below. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_STEP_CLOCK_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_STEP_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

class StepClock {
 public:
  static constexpr size_t kMaxCalls = 4096;  // signatures that are looked at for the period
  static constexpr size_t kMaxSteps = 256;   // step times that are kept

  static constexpr size_t kRecentSteps = 16;

  // The next call of the rank. `anchor_sequence` is 0 unless the call is on the anchor.
  void Append(uint64_t signature, uint64_t anchor_sequence, int64_t end_ns);

  // Operations of the anchor per step; at least 1, which is also the answer while no period is known.
  uint64_t anchors_per_step() const { return anchors_per_step_; }
  // Number of the step that ends with or contains this operation of the anchor.
  int64_t StepOf(uint64_t anchor_sequence) const {
    return static_cast<int64_t>((anchor_sequence - 1) / anchors_per_step_);
  }

  int64_t steps() const { return steps_; }
  double MedianStepSeconds() const;  // 0 = unknown
  double RecentStepSeconds() const;  // mean of the newest steps of about two seconds; 0 = unknown
  // Median of the newest kRecentSteps steps: follows a change, but not a spike. 0 = unknown.
  double RecentMedianStepSeconds() const;
  // The longest step that is usual: 97 % of the recent steps took less. 0 = unknown.
  double LongestUsualStepSeconds() const;

  // Looks for the period again if the calls stopped repeating. True when anchors_per_step changed.
  bool Refresh();

 private:
  double StepSecondsQuantile(double quantile) const;

  std::vector<uint64_t> calls_;       // ring
  std::vector<bool> call_is_anchor_;  // ring
  size_t next_call_ = 0;              // place in the rings
  uint64_t calls_seen_ = 0;
  uint64_t calls_at_refresh_ = 0;
  uint64_t anchors_per_step_ = 1;
  uint64_t last_end_sequence_ = 0;
  int64_t last_end_ns_ = 0;
  int64_t steps_ = 0;
  std::vector<double> step_seconds_;  // ring
  size_t next_step_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_STEP_CLOCK_H_
