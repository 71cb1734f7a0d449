// Transfers that are slow for one reason, as far as replays need to know: which, since when, and by how much.
// Pure values.

#ifndef LOCKSTEP_DETECTOR_STEPS_SLOW_TRANSFERS_H_
#define LOCKSTEP_DETECTOR_STEPS_SLOW_TRANSFERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

struct SlowChannel {
  int32_t channel = -1;  // OperationInstances::channels
  int32_t first_step = 0;
  double ratio = 1;  // of its transfer times over the usual ones
};

struct SlowTransfers {
  std::vector<SlowChannel> channels;
  int32_t first_step = 0;
  std::vector<char> in_step;   // by step: 1 = slow in it; empty = in all from first_step on
  std::vector<int32_t> ranks;  // rank indices, rising: whose NIC it may be; empty = of nobody alone
  std::vector<int32_t> hosts;  // rising: that they connect
  double excess_seconds = 0;   // per step, of the rank with most of it: the cost where nothing can be replayed

  bool IsIn(int32_t step) const {
    return step >= first_step && (in_step.empty() || in_step[static_cast<size_t>(step)] != 0);
  }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_SLOW_TRANSFERS_H_
