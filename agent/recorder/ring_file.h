// Creates and maps the shared-memory file of one recorder (layout: ring_format.h).
//
// Runs once per process, at start-up of the recorded library. Whatever goes wrong (directory missing and not creatable,
// read-only, full, no permission, file size limit) the result is nullptr and the job goes on unrecorded: nothing is
// printed, thrown or signalled. All memory of the file is reserved at creation, so that a file system that fills up
// later cannot raise SIGBUS in the job. A reader never sees a half-made header: the file gets its name when it is
// complete.
//
// Thread-compatible. Allocates nothing on the heap.

#ifndef LOCKSTEP_AGENT_RECORDER_RING_FILE_H_
#define LOCKSTEP_AGENT_RECORDER_RING_FILE_H_

#include <cstdint>

#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

inline constexpr uint32_t kDefaultCommunicatorCapacity = 1024;
inline constexpr uint32_t kDefaultOperationCapacity = 8192;  // 1 MiB; a power of two

// What the header says about the process. Strings are borrowed for the call and cut to the size of their field.
struct RingOptions {
  const char* directory = nullptr;  // nullptr = $LOCKSTEP_RING_DIR, else kDefaultDirectory
  RecorderKind kind = RecorderKind::kUnknown;
  uint32_t library_version = 0;
  uint32_t abi_version = 0;
  uint32_t communicator_capacity = kDefaultCommunicatorCapacity;
  uint32_t operation_capacity = kDefaultOperationCapacity;
  uint32_t transfer_capacity = 0;
  bool calls_come_one_at_a_time =
      false;  // the recorded library promises it: the writer may leave out locked instructions
  int32_t rank = -1;
  int32_t world_size = -1;
  int32_t local_rank = -1;
  int32_t gpu_index = -1;
  const char* gpu_uuid = "";
  const char* gpu_pci_address = "";
  const char* job = "";
};

// Maps a new ring with a complete header in state kInitializing, or returns nullptr. The mapping is never removed.
RingHeader* CreateRingFile(const RingOptions& options);

// CLOCK_MONOTONIC of this host, nanoseconds.
int64_t MonotonicNs();

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_RING_FILE_H_
