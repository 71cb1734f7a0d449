// Slow and obvious versions of what the detector computes cleverly, to compare with on random input. Pure.

#ifndef LOCKSTEP_DETECTOR_TESTING_REFERENCE_H_
#define LOCKSTEP_DETECTOR_TESTING_REFERENCE_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "detector/collectives/typical_step.h"

namespace lockstep {

// SmallestPeriod by its definition.
size_t ReferencePeriod(const std::vector<uint64_t>& calls, int min_repetitions, double max_mismatch);

// ReplaySeconds by relaxation: times are raised until nothing changes any more, in no particular order.
double ReferenceReplaySeconds(const TypicalStep& step, const std::vector<char>& healed);

// What an unbounded history would hold: which members have recorded which operation.
class ReferenceHistory {
 public:
  void Add(int32_t communicator, uint64_t sequence, int32_t member) { members_[{communicator, sequence}][member] = 1; }
  bool Complete(int32_t communicator, uint64_t sequence, int32_t size) const;

 private:
  std::map<std::pair<int32_t, uint64_t>, std::map<int32_t, int>> members_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_REFERENCE_H_
