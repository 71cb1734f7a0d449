// The process-wide recorder behind liblockstep-mpi.so, which stands between a program and Open MPI 4.1 (LD_PRELOAD):
// the library defines MPI_X, records, and calls PMPI_X. C bindings only: Open MPI's Fortran bindings call PMPI_X
// directly.
//
// The recorder opens in MPI_Init and ends in MPI_Finalize; before, after and without a ring every entry only forwards.
// Entries must not change what the program sees: arguments, results, error codes and the order of MPI calls stay.
//
// Thread-safe like MPI itself (MPI_THREAD_MULTIPLE). Static storage, constant-initialized, never destroyed.

#ifndef LOCKSTEP_AGENT_RECORDER_MPI_RECORDER_H_
#define LOCKSTEP_AGENT_RECORDER_MPI_RECORDER_H_

#include <mpi.h>

#include "agent/recorder/mpi_communicators.h"
#include "agent/recorder/mpi_requests.h"
#include "agent/recorder/peer_sequences.h"
#include "agent/recorder/ring_writer.h"

// The only symbols that the library exports.
#define LOCKSTEP_MPI_ENTRY extern "C" __attribute__((visibility("default"))) int

namespace lockstep::ring {

// Bits of RingControl::event_mask. Collectives are always recorded: the order of their sequence numbers is the product.
inline constexpr uint64_t kRecordCollectives = 1;
inline constexpr uint64_t kRecordPointToPoint = 2;

struct MpiRecorder {
  RingWriter writer;
  MpiCommunicators communicators;
  MpiRequests requests;
  PeerSequences sequences;
};
extern MpiRecorder g_recorder;

// One per entry, first thing. MPI may call MPI, and callbacks of the program (reduction operators, attribute copies)
// run inside an MPI call: only the outermost entry of a thread records.
class MpiCall {
 public:
  MpiCall() : is_outermost_(depth_++ == 0) {}
  ~MpiCall() { --depth_; }
  MpiCall(const MpiCall&) = delete;
  MpiCall& operator=(const MpiCall&) = delete;

  // False: forward and nothing else. Counts what it leaves out.
  bool is_recorded() const {
    if (!g_recorder.writer.active()) return false;
    if (!is_outermost_) g_recorder.writer.CountIgnored();
    return is_outermost_;
  }

 private:
  static constinit thread_local int depth_ __attribute__((tls_model("initial-exec")));
  bool is_outermost_;
};

inline uint32_t DatatypeBytes(MPI_Datatype type) {
  int bytes = 0;
  return type != MPI_DATATYPE_NULL && PMPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes > 0
             ? static_cast<uint32_t>(bytes)
             : 0;
}

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_MPI_RECORDER_H_
