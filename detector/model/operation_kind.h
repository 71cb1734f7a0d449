// The operations that members of a communicator carry out, and how communicators are called. Pure values.

#ifndef LOCKSTEP_DETECTOR_MODEL_OPERATION_KIND_H_
#define LOCKSTEP_DETECTOR_MODEL_OPERATION_KIND_H_

#include <cstdint>

namespace lockstep {

using CommunicatorId = uint64_t;

enum class OperationKind : uint8_t {
  kUnknown = 0,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kSend,
  kRecv,
};

// True when every member leaves the operation only after every member has entered it: then the member that spent the
// least time inside was the last to arrive. Rooted operations and Send/Recv have one-sided waits.
bool IsSynchronous(OperationKind kind);

inline bool IsSendOrRecv(OperationKind kind) { return kind == OperationKind::kSend || kind == OperationKind::kRecv; }

// Bytes of an operation below which latency and not bandwidth sets the time: a loss, a norm, a barrier.
inline constexpr uint64_t kMuchBytes = 1 << 20;

// "AllReduce", "Send", ...; "Unknown" for kUnknown.
const char* Name(OperationKind kind);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_OPERATION_KIND_H_
