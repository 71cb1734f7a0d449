// Send and Recv in their forms, one entry each.

#include "agent/recorder/mpi_recorder.h"

// Open MPI's request for a send that was complete before the call returned; all such sends share it.
extern "C" __attribute__((weak)) char ompi_request_empty;

namespace lockstep::ring {
namespace {

struct Message {
  OperationKind kind;
  MPI_Comm communicator;
  int count;
  MPI_Datatype type;
  int peer;  // MPI_ANY_SOURCE and MPI_PROC_NULL included
};

// The handle is not live when the message is not recorded: no such peer, an intercommunicator, or the agent asked for
// it.
OperationHandle Begin(const Message& message, bool is_blocking) {
  if (message.peer == MPI_PROC_NULL) return {};
  RingWriter& writer = g_recorder.writer;
  const KnownCommunicator known = g_recorder.communicators.Resolve(message.communicator, &writer);
  if (!known.is_recorded) {
    writer.CountIgnored();
    return {};
  }
  const uint32_t datatype_bytes = DatatypeBytes(message.type);
  OperationDescription description;
  description.kind = message.kind;
  description.timing_quality = is_blocking ? TimingQuality::kHostCall : TimingQuality::kHostEnqueue;
  description.flags = is_blocking ? 0 : kFlagNonBlocking;
  description.started = true;
  description.communicator = known.index;
  description.peer = message.peer == MPI_ANY_SOURCE ? kAnyPeer : message.peer;
  description.sequence = g_recorder.sequences.Next(known.index, description.peer, message.kind);
  description.bytes = message.count > 0 ? static_cast<uint64_t>(message.count) * datatype_bytes : 0;
  description.datatype_bytes = datatype_bytes;
  if (writer.IsMaskedOut(kRecordPointToPoint)) return {};
  return writer.Begin(description, MonotonicNs());
}

void Finish(const OperationHandle& operation, const MPI_Status* status) {
  if (!operation.live) return;
  OperationResult result;
  if (status != nullptr && status->MPI_SOURCE >= 0) result.peer = status->MPI_SOURCE;
  g_recorder.writer.Finish(operation, result, MonotonicNs());
}

template <typename Call>
int Blocking(const Message& message, const MPI_Status* status, Call call) {
  MpiCall scope;
  if (!scope.is_recorded()) return call();
  const OperationHandle operation = Begin(message, /*is_blocking=*/true);
  const int result = call();
  Finish(operation, status);
  return result;
}

template <typename Call>
int NonBlocking(const Message& message, const MPI_Request* request, Call call) {
  MpiCall scope;
  if (!scope.is_recorded()) return call();
  const OperationHandle operation = Begin(message, /*is_blocking=*/false);
  const int result = call();
  const MPI_Request made = result == MPI_SUCCESS ? *request : MPI_REQUEST_NULL;
  if (reinterpret_cast<const char*>(made) == &ompi_request_empty) {
    Finish(operation, nullptr);
  } else {
    g_recorder.requests.Track(made, operation, &g_recorder.writer);
  }
  return result;
}

// Both halves are one call: they begin and end together.
template <typename Call>
int BothWays(const Message& sent, const Message& received, const MPI_Status* status, Call call) {
  MpiCall scope;
  if (!scope.is_recorded()) return call();
  const OperationHandle send = Begin(sent, /*is_blocking=*/true);
  const OperationHandle recv = Begin(received, /*is_blocking=*/true);
  const int result = call();
  Finish(send, nullptr);
  Finish(recv, status);
  return result;
}

}  // namespace

LOCKSTEP_MPI_ENTRY MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return Blocking({OperationKind::kSend, comm, count, type, to}, nullptr,
                  [&] { return PMPI_Send(data, count, type, to, tag, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return Blocking({OperationKind::kSend, comm, count, type, to}, nullptr,
                  [&] { return PMPI_Ssend(data, count, type, to, tag, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  return NonBlocking({OperationKind::kSend, comm, count, type, to}, request,
                     [&] { return PMPI_Isend(data, count, type, to, tag, comm, request); });
}

LOCKSTEP_MPI_ENTRY MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                            MPI_Status* status) {
  MPI_Status own_status;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own_status : status;
  return Blocking({OperationKind::kRecv, comm, count, type, from}, seen,
                  [&] { return PMPI_Recv(data, count, type, from, tag, comm, seen); });
}

LOCKSTEP_MPI_ENTRY MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  return NonBlocking({OperationKind::kRecv, comm, count, type, from}, request,
                     [&] { return PMPI_Irecv(data, count, type, from, tag, comm, request); });
}

LOCKSTEP_MPI_ENTRY MPI_Sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
                                void* received, int received_count, MPI_Datatype received_type, int from,
                                int received_tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Status own_status;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own_status : status;
  return BothWays({OperationKind::kSend, comm, sent_count, sent_type, to},
                  {OperationKind::kRecv, comm, received_count, received_type, from}, seen, [&] {
                    return PMPI_Sendrecv(sent, sent_count, sent_type, to, sent_tag, received, received_count,
                                         received_type, from, received_tag, comm, seen);
                  });
}

}  // namespace lockstep::ring
