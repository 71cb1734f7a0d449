// Where each rank stands: the operations in which it is blocked, as far as records tell them.
//
// A rank stands at the first open operation of each of its streams, begun where that can be told. One that has begun
// nothing of what it called may stand in an operation whose record was lost, and one that stands nowhere in an
// operation of a communicator in which nothing of it is recorded. The frontier must outlive it. Thread-compatible. Cost
// O(open operations), and O(operations) of ranks that began what another has called and not begun.

#ifndef LOCKSTEP_DETECTOR_HANG_BLOCKED_PLACES_H_
#define LOCKSTEP_DETECTOR_HANG_BLOCKED_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/hang/blind_members.h"
#include "detector/hang/blocked_operation.h"
#include "detector/hang/frontier.h"
#include "detector/model/trace.h"

namespace lockstep {

class BlockedPlaces {
 public:
  explicit BlockedPlaces(const Frontier& frontier);

  const std::vector<BlockedOperation>& operations() const { return operations_; }
  // Indices of operations(), by rank index.
  const std::vector<std::vector<int32_t>>& of_rank() const { return of_rank_; }
  // By rank index: it has called operations and begun none of them.
  const std::vector<char>& not_begun() const { return not_begun_; }
  // By rank index: it stands somewhere, and has not begun what it called before: nothing that is known holds that up
  // but its own GPU.
  const std::vector<char>& held_by_itself() const { return held_by_itself_; }
  // By rank index: it is not known where the rank stands.
  const std::vector<char>& place_lost() const { return place_lost_; }

  // Whether the member has come to the operation itself, and not only called it behind an earlier one.
  bool StandsHere(const BlockedOperation& blocked, int32_t rank) const;
  const BlindMembers& blind() const { return blind_; }

 private:
  using StreamKey = std::tuple<int32_t, int32_t, int32_t>;             // communicator, source, destination
  using Alike = std::tuple<int, size_t, int32_t, uint64_t>;            // kind, members, peer, sequence
  using BlockedKey = std::tuple<int32_t, int32_t, int32_t, uint64_t>;  // and sequence

  const TraceOperation& Operation(size_t index) const { return trace_.operations[index]; }
  StreamKey StreamOf(size_t rank, const TraceOperation& operation) const;
  // The first open operation of each stream, begun where that can be told.
  std::vector<int32_t> Stand(size_t rank);
  // Whether nothing in which the rank stands can hold up what it called and has not begun, by the order of its calls.
  bool IsHeldByItself(size_t rank) const;
  // The same by the example of others: who stood in the like of all that the rank stands in began the collective.
  void FindHeldBesideOthers();
  Alike LikeOf(const TraceOperation& operation) const;
  // What the rank has begun and not ended, outside of a communicator, as it is comparable between ranks. Rising.
  std::vector<Alike> StandsIn(size_t rank, int32_t communicator) const;
  // What it has begun, before or since, and had not ended when it began an operation, outside of the communicator of
  // that: nothing of it held that operation up. Rising.
  std::vector<Alike> StoodIn(size_t rank, const TraceOperation& begun) const;
  // It has called the collective, stands in others, and could have begun it for all that is known.
  bool MayBeHeld(const BlockedOperation& blocked, int32_t member) const;
  // What is missing between the last finished and the first open operation of a stream, and others have not left.
  void FillGaps(size_t rank, std::vector<int32_t>* blocked_operations);
  // Operations of communicators in which a rank without a place left no record at all: it may stand in any of them.
  void PlaceTheBlind();
  // The last operation of the stream that the rank has left, as its own or others' records prove.
  int64_t LastDone(size_t rank, const TraceOperation& operation, const StreamKey& stream) const;
  bool HoldsSequence(size_t rank, const StreamKey& stream, int64_t sequence) const;
  int32_t BlockedOf(const StreamKey& stream, size_t index, int32_t rank);
  // The record of this call was lost and the rank has begun nothing else.
  bool MayStandHere(const BlockedOperation& blocked, size_t rank) const;

  const Frontier& frontier_;
  const Trace& trace_;
  const BlindMembers blind_;
  std::vector<BlockedOperation> operations_;
  std::vector<std::vector<int32_t>> of_rank_;
  std::vector<char> not_begun_;
  std::vector<char> held_by_itself_;
  std::vector<char> place_lost_;
  std::vector<int32_t> without_place_;             // rank indices whose begun operation left no record, rising
  std::vector<const TraceOperation*> first_open_;  // of each rank; nullptr = none
  absl::flat_hash_map<BlockedKey, int32_t> numbers_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_BLOCKED_PLACES_H_
