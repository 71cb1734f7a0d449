// Follows one recorder's ring file (agent/recorder/ring_format.h) from outside.
//
// The file belongs to another process, which may be buggy, hostile or dead: it may scribble over any byte or truncate
// the file at any moment. Therefore it is read with pread(2) and never mapped: a truncated file ends a read early
// instead of raising SIGBUS, and what is checked is a copy that cannot change between check and use. It costs two
// system calls per run of neighbouring slots, which is a few per tick.
//
// Consistency of a slot: it is copied twice; the copy counts only if its version is even and both copies are equal, so
// that no writer was inside between them. Writers never wait for readers. Not thread-safe.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_READER_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/unique_fd.h"
#include "proto/resume.pb.h"

namespace lockstep {

// Why a file is not followed. The names are values of a metric's label: see RingRefusalName.
enum class RingRefusalReason {
  kNone,
  kInitializing,  // its recorder is still writing the header
  kUnreadable,    // cannot be opened or read
  kNotARing,      // no regular file, or without the magic number
  kNewerLayout,   // written by a newer recorder: upgrade the agent
  kBadGeometry,   // capacities, sizes or offsets contradict the layout or the file
  kBadIdentity,   // rank, pid or the like make no sense
  kTooMany,       // more rings or jobs than the agent follows, of this user or in all
  kForeignOwner,  // the file is not owned by the user of the process that it names
  kDamaged,       // was followed until its header changed or its end went missing
};
inline constexpr int kRingRefusalReasons = 10;

// "newer_layout" and so on. Immutable.
absl::string_view RingRefusalName(RingRefusalReason reason);

struct RingRefusal {
  RingRefusalReason reason = RingRefusalReason::kNone;
  std::string detail;  // for people
};

// How much one Poll may look at, and so how much its snapshot holds: what is in a ring is as much as its writer likes.
// 8 MiB of operations and 4 MiB of transfers unless the caller wants less.
struct RingAllowance {
  uint64_t operations = 65'536;  // new ones; older ones are skipped and counted
  uint32_t communicators = ring::kMaxCommunicators;
  uint32_t transfers = ring::kMaxTransfers;  // rows of the table
};

// Not thread-safe. Owns the descriptor, and no memory that depends on the ring but kMaxPending tickets.
class RingReader {
 public:
  // Unfinished operations that are remembered; the oldest are given up, and counted as overwritten. A quarter of the
  // operations of the allowance where that is less, but never below kMinPending: ranks have dozens in flight.
  static constexpr size_t kMaxPending = 4096;
  static constexpr size_t kMinPending = 64;

  // Checks the header. nullptr = refused, and `refusal` says why.
  //
  // A ring that was opened at or after `since_ns` (CLOCK_MONOTONIC, the start of the agent) is read from its first
  // ticket on. Of an older one, only operations that finish after `since_ns` count: what it did before, the agent
  // before us has sent, and what was overwritten in it before the first Poll is not our loss.
  static std::unique_ptr<RingReader> Open(UniqueFd file, int64_t since_ns, RingRefusal* refusal);

  // The header as it was when opened; its texts may lack their NUL.
  const ring::RingHeader& header() const { return header_; }

  // How far it has been read: see proto/resume.proto. Of the operations that had not finished, the newest
  // kMaxKeptPending.
  static constexpr size_t kMaxKeptPending = 256;
  void Describe(wire::RingPosition& position) const;

  // Goes on exactly there, whatever the time: before the first Poll. False = that is the position of another ring.
  bool ResumeAt(const wire::RingPosition& position);

  // Looks at everything that may have changed. DATA_LOSS = the file has been damaged since: do not follow it further.
  absl::Status Poll(RingSnapshot* snapshot, const RingAllowance& allowance = {});

  // Tickets handed out since the last Poll, without looking at them; 0 = none, or unreadable.
  uint64_t Backlog() const;

  // Writes the control word: events of `mask` until `until_ns` (CLOCK_MONOTONIC), for which `writable` must be the same
  // file, opened for writing. UNAVAILABLE = it cannot be written.
  absl::Status RequestEvents(const UniqueFd& writable, uint64_t mask, int64_t until_ns) const;

  const UniqueFd& file() const { return file_; }

 private:
  RingReader(UniqueFd file, int64_t since_ns, const ring::RingHeader& header)
      : file_(std::move(file)), since_ns_(since_ns), header_(header) {}

  uint64_t NextTicket() const;  // as of now; 0 = unreadable
  absl::Status PollCommunicators(uint32_t count, RingSnapshot* snapshot) const;
  absl::Status PollTransfers(uint64_t active_mask, uint32_t most, RingSnapshot* snapshot);
  absl::Status PollOperations(uint64_t next_ticket, uint64_t most, RingSnapshot* snapshot);
  // Of the pending operations, those that are gone once the ring is at `next_ticket`; the `oldest` so many.
  void ForgetOverwritten(uint64_t next_ticket, RingSnapshot* snapshot);
  void ForgetPending(size_t oldest, RingSnapshot* snapshot);
  absl::Status ReadRun(const std::vector<uint64_t>& tickets, size_t begin, size_t end, RingSnapshot* snapshot);
  void Classify(uint64_t ticket, const ring::OperationSlot& first, const ring::OperationSlot& second,
                RingSnapshot* snapshot);

  UniqueFd file_;
  int64_t since_ns_;
  const ring::RingHeader header_;
  bool polled_ = false;
  uint64_t last_mask_ = 0;         // the active mask at the look before
  uint64_t next_unseen_ = 0;       // ticket; everything before was looked at
  uint64_t forgotten_ = 0;         // by the reader before, to be counted in the first look
  std::vector<uint64_t> pending_;  // tickets before next_unseen_ that had not finished, rising
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_READER_H_
