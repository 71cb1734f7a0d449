// The collective operations of MPI, one entry each.

#include "agent/recorder/mpi_recorder.h"

namespace lockstep::ring {
namespace {

// What one rank passes to a collective. `bytes` is what it contributes, or, where it contributes in place, receives.
struct Collective {
  OperationKind kind;
  MPI_Comm communicator;
  int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int root = kNoPeer;
  bool counts_per_member = false;  // `count` elements for each member
  const int* counts = nullptr;     // one count per member, instead of `count`
};

int64_t Elements(const Collective& collective, int members) {
  if (collective.counts == nullptr) return collective.count * (collective.counts_per_member ? members : 1);
  int64_t sum = 0;
  for (int i = 0; i < members; ++i) sum += collective.counts[i];
  return sum;
}

// The handle is not live when the communicator is not one that is recorded.
OperationHandle Begin(const Collective& collective, bool is_blocking) {
  RingWriter& writer = g_recorder.writer;
  const KnownCommunicator known = g_recorder.communicators.Resolve(collective.communicator, &writer);
  if (!known.is_recorded) {
    writer.CountIgnored();
    return {};
  }
  const uint32_t datatype_bytes = DatatypeBytes(collective.type);
  const bool is_rooted = collective.root != kNoPeer;
  OperationDescription description;
  description.kind = collective.kind;
  description.timing_quality = is_blocking ? TimingQuality::kHostCall : TimingQuality::kHostEnqueue;
  description.flags = static_cast<uint8_t>((is_blocking ? 0 : kFlagNonBlocking) | (is_rooted ? kFlagRooted : 0));
  description.started = true;
  description.communicator = known.index;
  const int64_t elements = Elements(collective, known.size);
  description.bytes = elements > 0 ? static_cast<uint64_t>(elements) * datatype_bytes : 0;
  description.peer = collective.root;
  description.datatype_bytes = datatype_bytes;
  return writer.Begin(description, MonotonicNs());
}

template <typename Call>
int Blocking(const Collective& collective, Call call) {
  MpiCall scope;
  if (!scope.is_recorded()) return call();
  const OperationHandle operation = Begin(collective, /*is_blocking=*/true);
  const int result = call();
  if (operation.live) g_recorder.writer.Finish(operation, {}, MonotonicNs());
  return result;
}

template <typename Call>
int NonBlocking(const Collective& collective, const MPI_Request* request, Call call) {
  MpiCall scope;
  if (!scope.is_recorded()) return call();
  const OperationHandle operation = Begin(collective, /*is_blocking=*/false);
  const int result = call();
  const MPI_Request made = result == MPI_SUCCESS ? *request : MPI_REQUEST_NULL;
  g_recorder.requests.Track(made, operation, &g_recorder.writer);
  return result;
}

// A collective in place contributes what it receives.
Collective OutOfPlaceOr(OperationKind kind, MPI_Comm comm, const void* sent, int sent_count, MPI_Datatype sent_type,
                        int received_count, MPI_Datatype received_type) {
  const bool in_place = sent == MPI_IN_PLACE;
  return {kind, comm, in_place ? received_count : sent_count, in_place ? received_type : sent_type};
}

}  // namespace

LOCKSTEP_MPI_ENTRY MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return Blocking({OperationKind::kAllReduce, comm, count, type},
                  [&] { return PMPI_Allreduce(in, out, count, type, op, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                  MPI_Request* request) {
  return NonBlocking({OperationKind::kAllReduce, comm, count, type}, request,
                     [&] { return PMPI_Iallreduce(in, out, count, type, op, comm, request); });
}

LOCKSTEP_MPI_ENTRY MPI_Reduce_scatter(const void* in, void* out, const int counts[], MPI_Datatype type, MPI_Op op,
                                      MPI_Comm comm) {
  return Blocking({.kind = OperationKind::kReduceScatter, .communicator = comm, .type = type, .counts = counts},
                  [&] { return PMPI_Reduce_scatter(in, out, counts, type, op, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                                            MPI_Comm comm) {
  return Blocking({.kind = OperationKind::kReduceScatter,
                   .communicator = comm,
                   .count = count,
                   .type = type,
                   .counts_per_member = true},
                  [&] { return PMPI_Reduce_scatter_block(in, out, count, type, op, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Allgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                                 MPI_Datatype out_type, MPI_Comm comm) {
  return Blocking(OutOfPlaceOr(OperationKind::kAllGather, comm, in, in_count, in_type, out_count, out_type),
                  [&] { return PMPI_Allgather(in, in_count, in_type, out, out_count, out_type, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Iallgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                                  MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return NonBlocking(OutOfPlaceOr(OperationKind::kAllGather, comm, in, in_count, in_type, out_count, out_type), request,
                     [&] { return PMPI_Iallgather(in, in_count, in_type, out, out_count, out_type, comm, request); });
}

// In place, the count of this rank is one of `out_counts`; which one costs a look-up that is not worth it: 0 bytes.
LOCKSTEP_MPI_ENTRY MPI_Allgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int out_counts[],
                                  const int displacements[], MPI_Datatype out_type, MPI_Comm comm) {
  return Blocking(OutOfPlaceOr(OperationKind::kAllGather, comm, in, in_count, in_type, 0, out_type), [&] {
    return PMPI_Allgatherv(in, in_count, in_type, out, out_counts, displacements, out_type, comm);
  });
}

LOCKSTEP_MPI_ENTRY MPI_Alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                                MPI_Datatype out_type, MPI_Comm comm) {
  Collective collective = OutOfPlaceOr(OperationKind::kAllToAll, comm, in, in_count, in_type, out_count, out_type);
  collective.counts_per_member = true;
  return Blocking(collective, [&] { return PMPI_Alltoall(in, in_count, in_type, out, out_count, out_type, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Alltoallv(const void* in, const int in_counts[], const int in_displacements[],
                                 MPI_Datatype in_type, void* out, const int out_counts[], const int out_displacements[],
                                 MPI_Datatype out_type, MPI_Comm comm) {
  Collective collective = OutOfPlaceOr(OperationKind::kAllToAll, comm, in, 0, in_type, 0, out_type);
  collective.counts = in == MPI_IN_PLACE ? out_counts : in_counts;
  return Blocking(collective, [&] {
    return PMPI_Alltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm);
  });
}

LOCKSTEP_MPI_ENTRY MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return Blocking({OperationKind::kBroadcast, comm, count, type, root},
                  [&] { return PMPI_Bcast(data, count, type, root, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return NonBlocking({OperationKind::kBroadcast, comm, count, type, root}, request,
                     [&] { return PMPI_Ibcast(data, count, type, root, comm, request); });
}

LOCKSTEP_MPI_ENTRY MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                              MPI_Comm comm) {
  return Blocking({OperationKind::kReduce, comm, count, type, root},
                  [&] { return PMPI_Reduce(in, out, count, type, op, root, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                              MPI_Datatype out_type, int root, MPI_Comm comm) {
  Collective collective = OutOfPlaceOr(OperationKind::kGather, comm, in, in_count, in_type, out_count, out_type);
  collective.root = root;
  return Blocking(collective, [&] { return PMPI_Gather(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

// What a rank receives. The root may name MPI_IN_PLACE as its own place and then gives what it sends to each.
LOCKSTEP_MPI_ENTRY MPI_Scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                               MPI_Datatype out_type, int root, MPI_Comm comm) {
  Collective collective = OutOfPlaceOr(OperationKind::kScatter, comm, out, out_count, out_type, in_count, in_type);
  collective.root = root;
  return Blocking(collective,
                  [&] { return PMPI_Scatter(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Barrier(MPI_Comm comm) {
  return Blocking({OperationKind::kBarrier, comm}, [&] { return PMPI_Barrier(comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return NonBlocking({OperationKind::kBarrier, comm}, request, [&] { return PMPI_Ibarrier(comm, request); });
}

}  // namespace lockstep::ring
