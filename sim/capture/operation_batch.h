// Operations of a trace as an agent sends them.

#ifndef LOCKSTEP_SIM_CAPTURE_OPERATION_BATCH_H_
#define LOCKSTEP_SIM_CAPTURE_OPERATION_BATCH_H_

#include <cstdint>
#include <vector>

#include "detector/trace/trace.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The simulated hosts were booted so long before the job began: times of the trace, moved into the positive.
inline constexpr int64_t kBootNanos = 3'600'000'000'000;

// `operations` of one rank and communicator, all finished, by rising enqueue time. To be called once per batch.
void AppendToBatch(const std::vector<const TraceOperation*>& operations, wire::OperationBatch& batch);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_OPERATION_BATCH_H_
