#include "agent/recorder/mpi_requests.h"

#include "agent/recorder/mpi_recorder.h"

namespace lockstep::ring {
namespace {

// Operations of one call that are looked at; of longer lists the rest counts as finished when the call begins, with
// TimingQuality::kHostEnqueue. Two sizes, because most calls are short and the space is cleared at each call.
constexpr int kMaxWatched = 512;
constexpr int kMaxWatchedShort = 16;

constexpr int kOnly = 0;  // index of the request of MPI_Wait and MPI_Test

constexpr OperationResult kEndUnseen = {.timing_quality = TimingQuality::kHostEnqueue};

uint64_t Key(MPI_Request request) { return reinterpret_cast<uint64_t>(request); }

enum class Manner { kWait, kTest };

int32_t SourceOf(const MPI_Status& status) { return status.MPI_SOURCE >= 0 ? status.MPI_SOURCE : kAnyPeer; }

// Takes the operations behind `requests` before a Wait or Test and, when it goes out of scope, finishes those that the
// call completed (MPI sets their requests to MPI_REQUEST_NULL) and restores the others. They leave the table meanwhile
// because another thread may be given the same handle the moment that this one is completed.
template <int kMax>
class Completions {
 public:
  Completions(Manner manner, int count, MPI_Request* requests) : manner_(manner), requests_(requests) {
    for (int i = 0; i < count; ++i) {
      const OperationHandle operation = g_recorder.requests.Take(requests[i]);
      if (!operation.live) continue;
      if (began_ns_ == 0) began_ns_ = MonotonicNs();
      if (i < kMax) {
        operations_[i] = operation;
        count_ = i + 1;
      } else {
        g_recorder.writer.Finish(operation, kEndUnseen, began_ns_);
      }
    }
  }
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  ~Completions() {
    for (int i = 0; i < count_; ++i) {
      if (!operations_[i].live) continue;
      if (requests_[i] == MPI_REQUEST_NULL) {
        Finish(i, kAnyPeer);
      } else {
        g_recorder.requests.Track(requests_[i], operations_[i], &g_recorder.writer);
      }
    }
  }

  // Request `index` may have been completed, and if so by a message from `source`.
  void Settle(int index, int32_t source) {
    if (index >= 0 && index < count_ && operations_[index].live && requests_[index] == MPI_REQUEST_NULL) {
      Finish(index, source);
    }
  }

 private:
  void Finish(int index, int32_t source) {
    if (ended_ns_ == 0) ended_ns_ = MonotonicNs();
    const int64_t waited_ns = manner_ == Manner::kWait ? ended_ns_ - began_ns_ : 0;
    g_recorder.writer.Finish(operations_[index], {.waited_ns = waited_ns, .peer = source}, ended_ns_);
    operations_[index].live = false;
  }

  const Manner manner_;
  MPI_Request* const requests_;
  OperationHandle operations_[kMax];
  int count_ = 0;  // operations_[count_] and later are not live
  int64_t began_ns_ = 0;
  int64_t ended_ns_ = 0;
};

// Runs `call`, which may complete some of `requests`; afterwards settle(completions) tells the sources it knows.
template <typename Call, typename Settle>
int Complete(Manner manner, int count, MPI_Request* requests, Call call, Settle settle) {
  MpiCall scope;
  if (requests == nullptr || count <= 0 || !scope.is_recorded()) return call();
  if (count <= kMaxWatchedShort) {
    Completions<kMaxWatchedShort> completions(manner, count, requests);
    const int result = call();
    settle(completions);
    return result;
  }
  Completions<kMaxWatched> completions(manner, count, requests);
  const int result = call();
  settle(completions);
  return result;
}

// For calls that complete all requests or none.
template <typename Call>
int CompleteAll(Manner manner, int count, MPI_Request* requests, const MPI_Status* statuses, Call call) {
  return Complete(manner, count, requests, call, [&](auto& completions) {
    if (statuses == MPI_STATUSES_IGNORE) return;
    // A Testall that completed nothing leaves the statuses undefined.
    for (int i = 0; i < count; ++i) {
      if (requests[i] == MPI_REQUEST_NULL) completions.Settle(i, SourceOf(statuses[i]));
    }
  });
}

// For calls that complete one request; `index` is set by the call.
template <typename Call>
int CompleteOne(Manner manner, int count, MPI_Request* requests, const int* index, const MPI_Status* status,
                Call call) {
  return Complete(manner, count, requests, call,
                  [&](auto& completions) { completions.Settle(*index, SourceOf(*status)); });
}

// For calls that complete some requests; `completed` and `indices` are set by the call.
template <typename Call>
int CompleteSome(Manner manner, int count, MPI_Request* requests, const int* completed, const int* indices,
                 const MPI_Status* statuses, Call call) {
  return Complete(manner, count, requests, call, [&](auto& completions) {
    if (statuses == MPI_STATUSES_IGNORE || *completed == MPI_UNDEFINED) return;
    for (int i = 0; i < *completed; ++i) completions.Settle(indices[i], SourceOf(statuses[i]));
  });
}

}  // namespace

void MpiRequests::Track(MPI_Request request, const OperationHandle& operation, RingWriter* writer) {
  if (!operation.live) return;
  if (request == MPI_REQUEST_NULL) return writer->Finish(operation, kEndUnseen, MonotonicNs());
  const OperationHandle completed_unseen = Take(request);
  if (completed_unseen.live) writer->Finish(completed_unseen, kEndUnseen, MonotonicNs());
  if (!active_.Insert(Key(request), operation)) writer->Finish(operation, kEndUnseen, MonotonicNs());
}

OperationHandle MpiRequests::Take(MPI_Request request) {
  OperationHandle operation;
  if (request != MPI_REQUEST_NULL) active_.Take(Key(request), &operation);
  return operation;
}

LOCKSTEP_MPI_ENTRY MPI_Wait(MPI_Request* request, MPI_Status* status) {
  MPI_Status own_status;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own_status : status;
  return CompleteOne(Manner::kWait, 1, request, &kOnly, seen, [&] { return PMPI_Wait(request, seen); });
}

LOCKSTEP_MPI_ENTRY MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  MPI_Status own_status;
  own_status.MPI_SOURCE = kAnyPeer;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own_status : status;
  return CompleteOne(Manner::kTest, 1, request, &kOnly, seen, [&] { return PMPI_Test(request, flag, seen); });
}

LOCKSTEP_MPI_ENTRY MPI_Waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  return CompleteAll(Manner::kWait, count, requests, statuses, [&] { return PMPI_Waitall(count, requests, statuses); });
}

LOCKSTEP_MPI_ENTRY MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return CompleteAll(Manner::kTest, count, requests, statuses,
                     [&] { return PMPI_Testall(count, requests, flag, statuses); });
}

LOCKSTEP_MPI_ENTRY MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  MPI_Status own_status;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own_status : status;
  return CompleteOne(Manner::kWait, count, requests, index, seen,
                     [&] { return PMPI_Waitany(count, requests, index, seen); });
}

LOCKSTEP_MPI_ENTRY MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  MPI_Status own_status;
  own_status.MPI_SOURCE = kAnyPeer;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own_status : status;
  return CompleteOne(Manner::kTest, count, requests, index, seen,
                     [&] { return PMPI_Testany(count, requests, index, flag, seen); });
}

LOCKSTEP_MPI_ENTRY MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[],
                                MPI_Status statuses[]) {
  return CompleteSome(Manner::kWait, count, requests, completed, indices, statuses,
                      [&] { return PMPI_Waitsome(count, requests, completed, indices, statuses); });
}

LOCKSTEP_MPI_ENTRY MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[],
                                MPI_Status statuses[]) {
  return CompleteSome(Manner::kTest, count, requests, completed, indices, statuses,
                      [&] { return PMPI_Testsome(count, requests, completed, indices, statuses); });
}

// The operation goes on, but nobody will hear of its end.
LOCKSTEP_MPI_ENTRY MPI_Request_free(MPI_Request* request) {
  MpiCall scope;
  if (request != nullptr && scope.is_recorded()) {
    const OperationHandle operation = g_recorder.requests.Take(*request);
    g_recorder.writer.Finish(operation, kEndUnseen, MonotonicNs());
  }
  return PMPI_Request_free(request);
}

// Persistent requests are not recorded: their handle outlives each of their operations.
LOCKSTEP_MPI_ENTRY MPI_Start(MPI_Request* request) {
  MpiCall scope;
  if (scope.is_recorded()) g_recorder.writer.CountIgnored();
  return PMPI_Start(request);
}

LOCKSTEP_MPI_ENTRY MPI_Startall(int count, MPI_Request requests[]) {
  MpiCall scope;
  if (scope.is_recorded() && count > 0) g_recorder.writer.CountIgnored(static_cast<uint64_t>(count));
  return PMPI_Startall(count, requests);
}

}  // namespace lockstep::ring
