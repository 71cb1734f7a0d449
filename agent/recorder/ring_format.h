// The recorder's shared-memory file, layout version 1: what a recorder inside a training process writes and what the
// agent reads. docs/recorder-format.md explains it; ring_format_test.cc pins every offset and a golden file.
//
// One file per recorder and process:
//
//   RingHeader | CommunicatorEntry x communicator_capacity | OperationSlot x operation_capacity
//              | TransferWaits x transfer_capacity
//
// All integers are little-endian, all times are nanoseconds of CLOCK_MONOTONIC of the writing host, 0 = not yet.
// Nothing here allocates, locks or needs a library: this header is all that a foreign recorder has to agree with.
//
// Who writes what: the recorder writes everything except `control`, which the agent writes. Readers never make the
// writer wait. A field marked "atomic" is accessed with std::atomic_ref of its own type; the rest is thread-compatible.

#ifndef LOCKSTEP_AGENT_RECORDER_RING_FORMAT_H_
#define LOCKSTEP_AGENT_RECORDER_RING_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "agent/recorder/ring_format_nccl.h"

namespace lockstep::ring {

inline constexpr uint64_t kMagic = 0x474E49524B434F4C;  // "LOCKRING" in memory
inline constexpr uint32_t kLayoutVersion = 1;

// Limits that a reader enforces before it believes any capacity in a header.
inline constexpr uint32_t kMaxCommunicators = 4096;
inline constexpr uint32_t kMaxOperations = 1u << 20;
inline constexpr uint32_t kMaxTransfers = 1u << 16;

// `<directory>/<pid>-<process start ticks>-<recorder number in the process>.ring`
inline constexpr char kDefaultDirectory[] = "/dev/shm/lockstep";
inline constexpr char kDirectoryVariable[] = "LOCKSTEP_RING_DIR";
inline constexpr char kFileSuffix[] = ".ring";

enum class RecorderKind : uint32_t { kUnknown = 0, kMpi = 1, kNcclProfiler = 2, kNcclPreload = 3 };

// Life of a recorder. A reader that finds kActive and a dead process knows that the process was killed.
enum class RecorderState : uint32_t { kInitializing = 0, kActive = 1, kFinalized = 2, kDisabled = 3 };

// Why a recorder disabled itself.
enum class DisabledReason : uint32_t {
  kNone = 0,
  kByEnvironment = 1,       // the user asked for it
  kUnknownAbi = 2,          // the library's ABI is not one that we know
  kInconsistentEvents = 3,  // events arrived in an order that cannot be explained
  kOverBudget = 4,          // recording cost more than its budget
  kOtherRecorder = 5,       // a better recorder of the same library is in the process
  kDefectiveRelease = 6,    // this release of the library is known to crash when it is recorded
};

enum class OperationKind : uint8_t {
  kUnknown = 0,
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kReduce = 5,
  kAllToAll = 6,
  kGather = 7,
  kScatter = 8,
  kBarrier = 9,
  kSend = 10,
  kRecv = 11,
};

enum class OperationState : uint8_t { kEmpty = 0, kEnqueued = 1, kStarted = 2, kFinished = 3 };

// How far a start and an end can be trusted as "the time inside the operation", best first.
enum class TimingQuality : uint8_t {
  kUnknown = 0,
  kGpuTimer = 1,       // stamped by the GPU, mapped to the host clock
  kKernelWindow = 2,   // kernel start and stop as the host saw them
  kProxyEnvelope = 3,  // first and last activity of the network proxy
  kHostCall = 4,       // a blocking host call: entry and return (exact for MPI)
  kHostEnqueue = 5,    // only the moment of enqueueing on the host
};

// OperationSlot::flags
inline constexpr uint8_t kFlagNonBlocking = 1;  // start = call, end = the Wait or Test that completed it
inline constexpr uint8_t kFlagRooted = 2;       // `peer` is the root

// Exact accounting, per recorder: enqueued == finished + in flight + lost, at every moment when no writer is inside.
struct RingCounters {
  uint64_t enqueued;               // atomic; operations that began, also those that found no slot
  uint64_t finished;               // atomic; operations whose end was recorded
  uint64_t lost;                   // atomic; unfinished operations that were overwritten or found no slot
  uint64_t communicators_dropped;  // atomic; communicators that did not fit into the table
  uint64_t events_ignored;         // atomic; events that belonged to no live operation (late stops, re-entry)
  uint64_t reserved[3];
};
static_assert(sizeof(RingCounters) == 64);

// Written by the agent, obeyed by the recorder at its next event. An expired request counts as absent, so that a dead
// agent cannot leave detail switched on.
struct RingControl {
  uint64_t event_mask;     // atomic; recorder-specific detail bits; 0 = the recorder's default
  uint64_t expires_at_ns;  // atomic; CLOCK_MONOTONIC
  uint64_t reserved[6];
};
static_assert(sizeof(RingControl) == 64);

struct RingHeader {
  // Constant once `state` has left kInitializing.
  uint64_t magic;
  uint32_t layout_version;
  uint32_t header_bytes;        // sizeof(RingHeader)
  uint32_t communicator_bytes;  // sizeof(CommunicatorEntry)
  uint32_t communicator_capacity;
  uint32_t operation_bytes;     // sizeof(OperationSlot)
  uint32_t operation_capacity;  // a power of two
  uint64_t total_bytes;         // of the file
  uint32_t recorder_kind;       // RecorderKind
  uint32_t library_version;     // MPI: version * 100 + subversion; NCCL: ncclGetVersion
  uint32_t abi_version;         // NCCL profiler ABI in use; 0 = does not apply
  int32_t pid;
  uint64_t process_start_ticks;  // field 22 of /proc/<pid>/stat: with pid, unique on the host since boot
  int64_t opened_at_ns;          // CLOCK_MONOTONIC
  int64_t opened_at_wall_ns;     // the same moment since the Unix epoch; display only
  int32_t rank;                  // global rank; -1 = unknown
  int32_t world_size;            // -1 = unknown
  int32_t local_rank;            // -1 = unknown
  int32_t gpu_index;             // of the machine, not of the process; -1 = unknown or none
  char gpu_uuid[48];             // NUL-terminated; empty = unknown
  char host[64];                 // NUL-terminated
  char job[128];                 // NUL-terminated job id; empty = unknown
  char recorder_version[32];     // NUL-terminated

  // Changing.
  uint32_t state;               // atomic; RecorderState
  uint32_t disabled_reason;     // atomic; DisabledReason
  uint64_t active_mask;         // atomic; detail bits in force now
  uint64_t next_ticket;         // atomic; tickets handed out so far; ticket t lives in slot t mod capacity
  uint32_t communicator_count;  // atomic; entries [0, count) have been claimed
  uint32_t transfer_capacity;   // constant like the fields above; 0 = no such table
  char gpu_pci_address[24];     // constant, NUL-terminated; empty = unknown
  // Constant; the oldest layout version whose readers may read this file by what they know: the records have their
  // sizes, what is new stands in reserved bytes or behind the tables. 0 = `layout_version` itself.
  uint32_t readable_since;
  uint8_t reserved1[84];

  RingCounters counters;
  RingControl control;
  NcclStatus nccl;
  uint8_t reserved2[256];
};
static_assert(sizeof(RingHeader) == 1024);

// One communicator of this process. Its counters are progress: they stay right when the operations behind them have
// long been overwritten.
struct CommunicatorEntry {
  uint32_t ready;      // atomic; 0 = being written, 1 = the constant fields may be read, 2 = freed by the program
  int32_t size;        // members
  int32_t rank;        // of this process among them
  int32_t node_count;  // hosts spanned; -1 = unknown
  uint64_t id;         // equal on all members, unlike that of any other communicator of the job
  int64_t created_at_ns;
  char name[64];          // NUL-terminated; empty = unnamed
  uint64_t enqueued;      // atomic; collectives only, = sequence number of the newest one, counted from 1
  uint64_t started;       // atomic; highest sequence number that started
  uint64_t finished;      // atomic; collectives that finished
  int64_t changed_at_ns;  // atomic; when one of the three above last changed
};
static_assert(sizeof(CommunicatorEntry) == 128);

// One operation, filled in place. `version` is a seqlock: odd while being written; a reader copies the slot and keeps
// the copy only if the version was even and is unchanged afterwards. `ticket` tells which operation it is: the slot was
// overwritten if it is not the one expected.
struct OperationSlot {
  uint32_t version;        // atomic
  uint8_t state;           // OperationState
  uint8_t kind;            // OperationKind
  uint8_t timing_quality;  // TimingQuality
  uint8_t flags;
  uint64_t ticket;    // counted from 0 over the life of the recorder
  uint64_t sequence;  // per communicator from 1; Send and Recv count per (communicator, peer, direction) instead
  uint64_t bytes;     // payload of this rank
  int64_t enqueued_at_ns;
  int64_t started_at_ns;
  int64_t finished_at_ns;
  uint32_t communicator;    // index in the table; kNoCommunicator = it did not fit
  int32_t peer;             // communicator rank of the other side or of the root; -1 = none; -2 = any source
  uint32_t datatype_bytes;  // size of one element; 0 = unknown
  uint16_t channels;        // 0 = unknown
  uint8_t algorithm;        // NCCL only; 0 = unknown
  uint8_t protocol;         // NCCL only; 0 = unknown
  int64_t waited_ns;        // non-blocking: time the caller spent inside Wait for it; -1 = does not apply
  uint32_t thread_id;       // of the caller
  // NCCL profiler only.
  uint16_t channels_started;   // channels whose kernel has begun
  uint16_t channels_finished;  // and ended
  uint32_t timing_error_ns;    // kGpuTimer: how far both times together may be off; their difference is exact
  uint8_t reserved1[36];
};
static_assert(sizeof(OperationSlot) == 128);

inline constexpr uint32_t kNoCommunicator = 0xFFFFFFFF;

constexpr uint64_t FileBytes(uint32_t communicators, uint32_t operations, uint32_t transfers = 0) {
  return sizeof(RingHeader) + uint64_t{communicators} * sizeof(CommunicatorEntry) +
         uint64_t{operations} * sizeof(OperationSlot) + uint64_t{transfers} * sizeof(TransferWaits);
}

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_RING_FORMAT_H_
