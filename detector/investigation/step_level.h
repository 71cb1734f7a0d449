// Whether steps take longer than they usually do: the job against its own past.
//
// While all is as usual, a sample of the step time is kept every second; what is usual is the median of the newest five
// minutes. Steps are slower when they exceed it by a tenth, and by four robust deviations of the samples, for three
// seconds without interruption; they are usual again below half of that excess. While they are slower nothing is
// learnt, for ten minutes at most: then what is found usual begins anew, since a job may be made slower on purpose.
//
// Pure: time is what the caller passes. Bounded by kMaxSamples. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_INVESTIGATION_STEP_LEVEL_H_
#define LOCKSTEP_DETECTOR_INVESTIGATION_STEP_LEVEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace lockstep {

class StepLevel {
 public:
  static constexpr size_t kMaxSamples = 300;
  static constexpr size_t kMinSamples = 5;  // before anything is usual

  // `step_seconds` of the newest steps, above 0. A new `unit` (operations that count as a step) begins anew, as does
  // Clear. `found` = somebody knows why steps are slower: then that is not taken for usual, however long it lasts.
  void Observe(int64_t now_ns, double step_seconds, uint64_t unit, bool found);
  void Clear();

  bool slower() const { return slower_; }
  double usual_seconds() const { return usual_seconds_; }  // 0 = unknown
  // Of a step, beyond the usual; 0 unless slower.
  double lost_seconds() const { return slower_ ? newest_seconds_ - usual_seconds_ : 0; }

 private:
  void Learn(int64_t now_ns, double step_seconds);

  std::deque<double> samples_;
  uint64_t unit_ = 0;
  int64_t sampled_ns_ = 0;
  int64_t above_since_ns_ = 0;  // 0 = it is not
  bool slower_ = false;
  double usual_seconds_ = 0;
  double limit_seconds_ = 0;
  double newest_seconds_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_INVESTIGATION_STEP_LEVEL_H_
