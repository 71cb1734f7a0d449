// Collectives, Send and Recv, one entry each.

#include "agent/recorder/preload_group.h"
#include "agent/recorder/preload_next_function.h"
#include "agent/recorder/preload_recorder.h"

namespace lockstep::ring {
namespace {

using nccl::Communicator;
using nccl::Stream;

constinit thread_local NcclGroup g_group __attribute__((tls_model("initial-exec")));

constinit NextFunction<const void*, void*, size_t, int, int, Communicator, Stream> g_next_all_reduce("ncclAllReduce");
constinit NextFunction<const void*, void*, size_t, int, int, Communicator, Stream> g_next_broadcast("ncclBroadcast");
constinit NextFunction<void*, size_t, int, int, Communicator, Stream> g_next_bcast("ncclBcast");
constinit NextFunction<const void*, void*, size_t, int, int, int, Communicator, Stream> g_next_reduce("ncclReduce");
constinit NextFunction<const void*, void*, size_t, int, Communicator, Stream> g_next_all_gather("ncclAllGather");
constinit NextFunction<const void*, void*, size_t, int, int, Communicator, Stream> g_next_reduce_scatter(
    "ncclReduceScatter");
constinit NextFunction<const void*, size_t, int, int, Communicator, Stream> g_next_send("ncclSend");
constinit NextFunction<void*, size_t, int, int, Communicator, Stream> g_next_recv("ncclRecv");

struct NcclOperation {
  OperationKind kind;
  Communicator communicator;
  uint64_t count;
  int datatype;
  int peer = kNoPeer;              // the root, or the other side
  bool counts_per_member = false;  // `count` elements for each member
};

// The handle is not live when the operation is not recorded.
OperationHandle Begin(const NcclOperation& operation) {
  RingWriter& writer = g_preload_recorder.writer;
  const KnownMember known = g_preload_recorder.communicators.Resolve(operation.communicator, AskNccl, &writer);
  if (!known.is_recorded) {
    writer.CountIgnored();
    return {};
  }
  const bool is_collective = IsCollective(operation.kind);
  OperationDescription description;
  description.kind = operation.kind;
  description.timing_quality = TimingQuality::kHostEnqueue;
  description.flags = is_collective && operation.peer != kNoPeer ? kFlagRooted : 0;
  description.communicator = known.index;
  description.datatype_bytes = nccl::DatatypeBytes(operation.datatype);
  description.bytes = operation.count * description.datatype_bytes *
                      static_cast<uint64_t>(operation.counts_per_member ? known.size : 1);
  description.peer = operation.peer;
  if (!is_collective) {
    // Counted also while messages are masked out, so that both sides still agree afterwards.
    description.sequence = g_preload_recorder.sequences.Next(known.index, operation.peer, operation.kind);
    if (writer.IsMaskedOut(kRecordPointToPoint)) return {};
  }
  return writer.Begin(description, MonotonicNs());
}

template <typename Call>
int Record(const NcclOperation& operation, Call call) {
  NcclCall scope;
  if (!scope.is_recorded()) return call();
  const OperationHandle handle = Begin(operation);
  const int result = call();
  if (handle.live && !g_group.Hold(handle)) g_preload_recorder.writer.Finish(handle, {}, MonotonicNs());
  return result;
}

}  // namespace

NcclGroup& ThisThreadsGroup() { return g_group; }

LOCKSTEP_NCCL_ENTRY ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Communicator communicator,
                                  Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kAllReduce, communicator, count, type},
                [&] { return g_next_all_reduce(caller, in, out, count, type, op, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclBroadcast(const void* in, void* out, size_t count, int type, int root,
                                  Communicator communicator, Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kBroadcast, communicator, count, type, root},
                [&] { return g_next_broadcast(caller, in, out, count, type, root, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclBcast(void* data, size_t count, int type, int root, Communicator communicator, Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kBroadcast, communicator, count, type, root},
                [&] { return g_next_bcast(caller, data, count, type, root, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclReduce(const void* in, void* out, size_t count, int type, int op, int root,
                               Communicator communicator, Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kReduce, communicator, count, type, root},
                [&] { return g_next_reduce(caller, in, out, count, type, op, root, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclAllGather(const void* in, void* out, size_t count, int type, Communicator communicator,
                                  Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kAllGather, communicator, count, type},
                [&] { return g_next_all_gather(caller, in, out, count, type, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclReduceScatter(const void* in, void* out, size_t count, int type, int op,
                                      Communicator communicator, Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({.kind = OperationKind::kReduceScatter,
                 .communicator = communicator,
                 .count = count,
                 .datatype = type,
                 .counts_per_member = true},
                [&] { return g_next_reduce_scatter(caller, in, out, count, type, op, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclSend(const void* data, size_t count, int type, int peer, Communicator communicator,
                             Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kSend, communicator, count, type, peer},
                [&] { return g_next_send(caller, data, count, type, peer, communicator, stream); });
}

LOCKSTEP_NCCL_ENTRY ncclRecv(void* data, size_t count, int type, int peer, Communicator communicator, Stream stream) {
  const void* const caller = LOCKSTEP_CALLER;
  return Record({OperationKind::kRecv, communicator, count, type, peer},
                [&] { return g_next_recv(caller, data, count, type, peer, communicator, stream); });
}

}  // namespace lockstep::ring
