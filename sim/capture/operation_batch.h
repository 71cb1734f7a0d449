// Operations of a trace as an agent sends them. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_CAPTURE_OPERATION_BATCH_H_
#define LOCKSTEP_SIM_CAPTURE_OPERATION_BATCH_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The simulated hosts were booted so long before the job began: times of the trace, moved into the positive.
inline constexpr int64_t kBootNanos = 3'600'000'000'000;

// How numbers of a trace become those of the wire.
struct WireNumbers {
  int64_t clock_shift_ns = kBootNanos;  // added to the host's times
  // Added to sequence numbers: on the wire they count from 1, and 0 means unknown.
  uint64_t collective_shift = 0;
  uint64_t transfer_shift = 0;

  uint64_t SequenceOf(const TraceOperation& operation) const;
};

// Whether `operation` is one side of a transfer between two ranks.
bool IsTransfer(const TraceOperation& operation);

// `operations` of one rank and communicator, all finished, by rising enqueue time. To be called once per batch. Of
// `stride` operations one is kept, by its sequence number, so that the samples of different ranks meet.
void AppendToBatch(const std::vector<const TraceOperation*>& operations, wire::OperationBatch& batch,
                   const WireNumbers& numbers = {}, uint32_t stride = 1);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_OPERATION_BATCH_H_
