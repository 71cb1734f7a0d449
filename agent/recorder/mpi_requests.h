// Non-blocking operations between their call and the Wait or Test that completes them.
//
// Bounded: when there is no room for a request, its operation is finished at once with TimingQuality::kHostEnqueue, and
// so are requests that are freed while active. A request handle that turns up again while it is still in the table
// proves that its operation completed unseen.
//
// Thread-safe; allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_MPI_REQUESTS_H_
#define LOCKSTEP_AGENT_RECORDER_MPI_REQUESTS_H_

#include <mpi.h>

#include <cstddef>

#include "agent/recorder/handle_table.h"
#include "agent/recorder/ring_writer.h"

namespace lockstep::ring {

class MpiRequests {
 public:
  static constexpr size_t kMaxActive = 4096;

  constexpr MpiRequests() = default;

  // Follows `operation` until `request` completes.
  void Track(MPI_Request request, const OperationHandle& operation, RingWriter* writer);

  // Forgets `request` and returns its operation; a handle that is not live when it was not tracked.
  OperationHandle Take(MPI_Request request);

 private:
  HandleTable<OperationHandle, kMaxActive> active_;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_MPI_REQUESTS_H_
