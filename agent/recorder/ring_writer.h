// Writes one recorder's ring (ring_format.h): communicators and operations, filled in place as they progress.
//
//   RingWriter writer;                                  // static storage; inert until opened
//   writer.Open(options);
//   uint32_t world = writer.FindOrAddCommunicator({.id = 17, .size = 4, .rank = 0, .name = "world"}, now);
//   OperationHandle op = writer.Begin({.kind = kAllReduce, .communicator = world, .bytes = 4096}, now);
//   writer.Start(op, now);  ...  writer.Finish(op, {}, now);
//
// Rules of the call path (Begin, Start, Finish): never blocks, allocates, prints, throws or makes a system call. A slot
// is locked by its version number for a few stores; whoever cannot get it within a bounded spin gives up and counts.
// Accounting is exact at every moment when no call is inside: enqueued == finished + in flight + lost.
//
// A writer that could not be opened, was disabled or finalized, or lives in a forked child, is inert: every call
// returns at once. The child never touches the ring of its parent.
//
// Thread-safe (unless RingOptions::calls_come_one_at_a_time, which promises that it need not be), except Open, which
// must be called once, before the writer is shared. Trivially destructible, so that calls during process exit stay
// safe. All times are nanoseconds of CLOCK_MONOTONIC (MonotonicNs()).

#ifndef LOCKSTEP_AGENT_RECORDER_RING_WRITER_H_
#define LOCKSTEP_AGENT_RECORDER_RING_WRITER_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

inline constexpr uint64_t kNoTicket = ~uint64_t{0};
inline constexpr int32_t kNoPeer = -1;
inline constexpr int32_t kAnyPeer = -2;
inline constexpr int64_t kNotWaited = -1;

// Collectives take their sequence number from the communicator; Send and Recv bring their own.
constexpr bool IsCollective(OperationKind kind) { return kind < OperationKind::kSend; }

struct CommunicatorDescription {
  uint64_t id = 0;
  int32_t size = 0;
  int32_t rank = -1;
  int32_t node_count = -1;
  const char* name = "";  // borrowed for the call
};

// What is known of an operation when it begins.
struct OperationDescription {
  OperationKind kind = OperationKind::kUnknown;
  TimingQuality timing_quality = TimingQuality::kHostCall;
  uint8_t flags = 0;
  bool started = false;  // enqueued and started are the same moment
  uint32_t communicator = kNoCommunicator;
  uint64_t sequence = 0;  // Send and Recv only; 0 = unknown
  uint64_t bytes = 0;
  int32_t peer = kNoPeer;
  uint32_t datatype_bytes = 0;
};

// What is known only when it ends.
struct OperationResult {
  int64_t waited_ns = kNotWaited;
  int32_t peer = kAnyPeer;                                 // replaces a recorded kAnyPeer
  TimingQuality timing_quality = TimingQuality::kUnknown;  // kUnknown = as it began
};

// A plain value; copies name the same operation. A default handle names none and is ignored everywhere.
struct OperationHandle {
  uint64_t ticket = kNoTicket;  // kNoTicket with `live` = it found no slot, but still counts as progress
  uint64_t sequence = 0;
  uint32_t communicator = kNoCommunicator;
  bool collective = false;
  bool live = false;
};

class RingWriter {
 public:
  constexpr RingWriter() = default;
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  // Creates the ring file and begins to record. False = inert; see ring_file.h for why.
  bool Open(const RingOptions& options);

  bool active() const { return header() != nullptr; }

  // The index of the live communicator with this id, which is added when absent. kNoCommunicator when the table is full
  // (counted) or the writer inert. Linear in the number of communicators: for their creation, not for every call.
  uint32_t FindOrAddCommunicator(const CommunicatorDescription& description, int64_t now_ns);
  void NameCommunicator(uint32_t communicator, const char* name);
  void FreeCommunicator(uint32_t communicator);

  OperationHandle Begin(const OperationDescription& operation, int64_t now_ns);
  void Start(const OperationHandle& handle, int64_t now_ns);
  void Finish(const OperationHandle& handle, const OperationResult& result, int64_t now_ns);

  // Counts events that are seen but not recorded.
  void CountIgnored(uint64_t events = 1);

  // True when the agent has asked for `bit` to be left out; see RingControl. Costs one load while it asks for nothing.
  bool IsMaskedOut(uint64_t bit);

  // Both end recording for good. The file stays for readers.
  void Finalize();
  void Disable(DisabledReason reason);

 private:
  // nullptr = inert.
  RingHeader* header() const;
  // Makes the writer inert; returns what header() was.
  RingHeader* End();

  std::atomic<RingHeader*> header_{nullptr};
  // Constant once header_ is set.
  uint32_t generation_ = 0;  // of the process that opened the ring
  bool alone_ = false;       // RingOptions::calls_come_one_at_a_time
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_RING_WRITER_H_
