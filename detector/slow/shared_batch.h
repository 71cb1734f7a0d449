// Machines that are slow because they work on the same batches.
//
// A longer batch makes all machines of its data replica slower, in all pipeline stages; if the same replica gets longer
// ones several steps in a row, each of its machines looks slow. That several machines become slow in one way at one
// step and are just those of one replica is no chance. So: causes that are whole hosts, of one kind and onset, and
// together all the hosts of a replica, at least kMinBatchHosts of them, are the data. A replica of one or two hosts
// tells nothing. The test is ours. Pure. Cost O(ranks + causes).

#ifndef LOCKSTEP_DETECTOR_SLOW_SHARED_BATCH_H_
#define LOCKSTEP_DETECTOR_SLOW_SHARED_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/trace.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/step_profile.h"

namespace lockstep {

// Two may be one pair, or chance.
inline constexpr size_t kMinBatchHosts = 3;

struct SharedBatch {
  int32_t replica = 0;
  std::vector<size_t> causes;  // rising
};

// `places` by rank index. Each cause is in one at most.
std::vector<SharedBatch> FindSharedBatches(const Trace& trace, absl::Span<const PlaceInJob> places,
                                           const std::vector<SlowCause>& causes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_SHARED_BATCH_H_
