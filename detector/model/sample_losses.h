// What a history or a stream of samples held that could not be used, by reason.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_SAMPLE_LOSSES_H_
#define LOCKSTEP_DETECTOR_MODEL_SAMPLE_LOSSES_H_

#include <cstdint>
#include <vector>

namespace lockstep {

struct SampleLosses {
  uint64_t samples = 0;       // all that there were, usable or not
  uint64_t not_finite = 0;    // NaN and infinities
  uint64_t blank = 0;         // sentinels of DCGM
  uint64_t duplicate = 0;     // a second sample of the same moment
  uint64_t out_of_order = 0;  // older than its predecessor
  uint64_t late = 0;          // of a tick that was over when it came
  uint64_t resets = 0;        // intervals in which a counter fell
  uint64_t far_off = 0;       // single samples of a time at which the job did not run
  uint64_t over_limit = 0;    // samples or series beyond the limits
  uint64_t process_series = 0;
  uint64_t repeated_series = 0;           // a second one of the same host, device and name
  std::vector<int32_t> misclocked_hosts;  // dropped altogether

  // Whether anything was left out that a reader should know of.
  bool any() const {
    return not_finite + blank + duplicate + out_of_order + late + resets + far_off + over_limit + repeated_series > 0 ||
           !misclocked_hosts.empty();
  }
  bool operator==(const SampleLosses&) const = default;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_SAMPLE_LOSSES_H_
