// Whether the end of a trace shows a wait, a transfer or an absence such as there was none before it.
//
// Records that do not tell when they were taken may end at any moment of a job under way, also while all wait for one
// late rank. What the job has been through tells the two apart, whatever its sizes and its noise: of n + 1 moments of
// one kind the last is the longest by chance once in n + 1, and twice as long as all others far more seldom. So much is
// asked for. The precedents are those of the newer half of each rank's records; the older one holds the first step, in
// which everybody compiles and connects.
//   - A wait is compared with those in operations of its kind in its communicator; and it is longer than any in all
//     communicators of that size, since stalls go round. The clock is that of the rank's host. Of many waits that are
//     looked at some are the longest ever by chance: the more there are, the less likely each must be.
//   - A transfer (all stand in it) with the time that the last to come was inside before.
//   - An absence (a rank does nothing that others can see) with the longest own work of any rank, or, inside of an
//     operation, with the longest stay of any rank in any. It lasts to the last record of all hosts (HostOffsets).
//
// Cost O(operations) once, and O(operations of the members) per transfer. The frontier must outlive it.
// Thread-compatible.

#ifndef LOCKSTEP_DETECTOR_HANG_PRECEDENTS_H_
#define LOCKSTEP_DETECTOR_HANG_PRECEDENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "detector/hang/blocked_operation.h"
#include "detector/hang/frontier.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"

namespace lockstep {

// False where nothing has ended: such a dump is of what is open (the Flight Recorder), and written when somebody's
// patience is over.
bool HasPrecedents(const Frontier& frontier);

class Precedents {
 public:
  explicit Precedents(const Frontier& frontier);

  // What is known of waits longer than all n before: they become rare as an exponential's do, or, taking nothing for
  // granted, no rarer than once in (n + 1)^2.
  enum class Tail : uint8_t { kExponential, kUnknown };

  // Of the operations in which these ranks stand first, somebody has been inside of at least `least_share` (0 = of one)
  // for longer than before.
  bool WaitLongest(absl::Span<const size_t> rank_indices, double least_share, Tail tail) const;

  // All members stand in the operation, and have for longer than it ever took.
  bool TransfersLongest(const BlockedOperation& blocked) const;

  // For how long there has been nothing of the rank, over the longest that there ever was of anybody; none = not known.
  std::optional<double> AbsenceToLongest(size_t rank_index) const;

 private:
  using Here = std::pair<int32_t, OperationKind>;  // communicator
  using Alike = std::pair<size_t, OperationKind>;  // members of the communicator

  struct Longest {
    int64_t ns = 0;
    size_t records = 0;
  };

  double ChanceOfWait(const TraceOperation& first, int32_t host, Tail tail) const;
  void NoteWaits(size_t rank_index);
  void NoteWork(size_t rank_index);
  void NoteEnds();
  size_t SizeOf(const TraceOperation& operation) const;
  bool TakesPart(const BlockedOperation& blocked, const TraceOperation& operation, size_t rank_index) const;

  const Frontier* frontier_;
  const Trace* trace_;
  absl::flat_hash_map<Here, int64_t> longest_here_ns_;
  absl::flat_hash_map<Alike, Longest> longest_alike_;
  int64_t longest_stay_ns_ = 0;       // of those
  int64_t longest_work_ns_ = 0;       // from the end of one operation to the begin of the next
  std::vector<int64_t> host_end_ns_;  // by host: its last record, in its own clock
  std::vector<int64_t> all_end_ns_;   // by host: the last record of all hosts, in its own clock
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_PRECEDENTS_H_
