// What a job loses while something is wrong, told apart from what it does less of anyway.
//
// A job that works, but slower, loses what its pace lies below the usual one, in the mean over that time: a single
// moment may lie in an evaluation. While it stands idle, as at a checkpoint, it does next to nothing and loses nothing
// by it that the fault explains; only where nothing else was seen is that what is known. Where it hangs in the end,
// that it stands is the loss. Pure; O(1).

#ifndef LOCKSTEP_DETECTOR_COUNTERS_JOB_LOSS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_JOB_LOSS_H_

#include <algorithm>

#include "detector/counters/job_regime.h"

namespace lockstep {

class JobLoss {
 public:
  // `loss` of the moment (JobActivity::loss) in `regime` (job_regime.h).
  void Note(int regime, double loss) {
    hangs_ = regime == kJobHangs;
    if (regime != kJobWorks) {
      standing_ = std::max(standing_, loss);
    } else if (loss > 0) {
      ++moments_;
      at_work_ += (loss - at_work_) / moments_;
    }
  }

  double share() const { return hangs_ || moments_ == 0 ? standing_ : at_work_; }

 private:
  bool hangs_ = false;  // at the newest moment
  double standing_ = 0;
  double at_work_ = 0;
  double moments_ = 0;  // that at_work_ is the mean of
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_JOB_LOSS_H_
