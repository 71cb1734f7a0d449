#include "detector/hang/blocked_places.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/model/begin_order.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// Bound of the walk.
constexpr int64_t kMaxLostInARow = 8;

}  // namespace

BlockedPlaces::BlockedPlaces(const Frontier& frontier)
    : frontier_(frontier), trace_(frontier.trace()), blind_(frontier) {
  const size_t ranks = trace_.ranks.size();
  not_begun_.assign(ranks, 0);
  held_by_itself_.assign(ranks, 0);
  place_lost_.assign(ranks, 0);
  first_open_.assign(ranks, nullptr);
  of_rank_.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    of_rank_[rank] = Stand(rank);
    if (of_rank_[rank].empty() && frontier_.IsMoving(rank)) place_lost_[rank] = 1;
    held_by_itself_[rank] = IsHeldByItself(rank) ? 1 : 0;
  }
  FindHeldBesideOthers();
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (not_begun_[rank] == 0) continue;
    FillGaps(rank, &of_rank_[rank]);
    if (not_begun_[rank] == 0) without_place_.push_back(static_cast<int32_t>(rank));
  }
  PlaceTheBlind();
}

BlockedPlaces::StreamKey BlockedPlaces::StreamOf(size_t rank, const TraceOperation& operation) const {
  const int32_t member = frontier_.MemberOf(rank, operation.communicator);
  if (operation.kind == OperationKind::kSend) return {operation.communicator, member, operation.peer};
  if (operation.kind == OperationKind::kRecv) return {operation.communicator, operation.peer, member};
  return {operation.communicator, -1, -1};
}

std::vector<int32_t> BlockedPlaces::Stand(size_t rank) {
  const absl::Span<const size_t> open = frontier_.OpenOf(rank);
  if (open.empty()) return {};
  const auto began = [this](size_t index) { return Operation(index).started(); };
  const bool tells = frontier_.TellsBegun(rank);
  first_open_[rank] = &Operation(open.front());
  not_begun_[rank] = tells && std::none_of(open.begin(), open.end(), began) ? 1 : 0;
  if (not_begun_[rank] != 0) return {};
  std::vector<int32_t> blocked_operations;
  std::vector<std::pair<StreamKey, uint64_t>> first;  // lowest open sequence of each stream
  std::vector<size_t> first_index;
  for (const size_t index : open) {
    if (tells && !began(index)) continue;
    const StreamKey stream = StreamOf(rank, Operation(index));
    const auto same = std::find_if(first.begin(), first.end(), [&](const auto& f) { return f.first == stream; });
    if (same == first.end()) {
      first.push_back({stream, Operation(index).sequence});
      first_index.push_back(index);
    } else if (Operation(index).sequence < same->second) {
      same->second = Operation(index).sequence;
      first_index[static_cast<size_t>(same - first.begin())] = index;
    }
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const int32_t blocked = BlockedOf(first[i].first, first_index[i], static_cast<int32_t>(rank));
    if (frontier_.IsStuckIn(rank, Operation(first_index[i]))) blocked_operations.push_back(blocked);
  }
  return blocked_operations;
}

// What was called after the first open operation cannot hold it up. A call whose record was lost can.
bool BlockedPlaces::IsHeldByItself(size_t rank) const {
  const absl::Span<const size_t> open = frontier_.OpenOf(rank);
  const bool tells = frontier_.TellsCalled(rank) && frontier_.TellsBegun(rank);
  if (open.empty() || !tells || not_begun_[rank] != 0) return false;
  const TraceOperation& first = Operation(open.front());
  if (first.started()) return false;
  const StreamKey stream = StreamOf(rank, first);
  if (LastDone(rank, first, stream) < static_cast<int64_t>(first.sequence) - 1) return false;
  // A communicator may be used on two streams, so that a later call of it ends before an earlier one.
  const absl::Span<const TraceOperation> operations = trace_.OperationsOf(rank);
  const bool stands_behind = std::any_of(operations.begin(), operations.end(), [&](const TraceOperation& operation) {
    return operation.started() && !operation.finished() && operation.sequence < first.sequence &&
           StreamOf(rank, operation) == stream;
  });
  if (stands_behind) return false;
  return std::none_of(open.begin(), open.end(), [&](size_t index) {
    return Operation(index).started() && frontier_.CalledNs(index) <= frontier_.CalledNs(open.front());
  });
}

BlockedPlaces::Alike BlockedPlaces::LikeOf(const TraceOperation& operation) const {
  const size_t members = trace_.communicators[static_cast<size_t>(operation.communicator)].members.size();
  return {static_cast<int>(operation.kind), members, operation.peer, operation.sequence};
}

std::vector<BlockedPlaces::Alike> BlockedPlaces::StandsIn(size_t rank, int32_t communicator) const {
  std::vector<Alike> alike;
  for (const size_t index : frontier_.OpenOf(rank)) {
    const TraceOperation& operation = Operation(index);
    if (operation.started() && operation.communicator != communicator) alike.push_back(LikeOf(operation));
  }
  std::sort(alike.begin(), alike.end());
  return alike;
}

std::vector<BlockedPlaces::Alike> BlockedPlaces::StoodIn(size_t rank, const TraceOperation& begun) const {
  std::vector<Alike> alike = StandsIn(rank, begun.communicator);
  for (const TraceOperation& operation : trace_.OperationsOf(rank)) {
    if (!operation.started() || operation.communicator == begun.communicator) continue;
    const bool ran = operation.start_ns <= begun.start_ns && operation.finished() &&
                     operation.end_ns - begun.start_ns > kOneMomentNs && !HasEndedBy(operation, begun.start_ns);
    if (ran) alike.push_back(LikeOf(operation));
  }
  std::sort(alike.begin(), alike.end());
  return alike;
}

bool BlockedPlaces::MayBeHeld(const BlockedOperation& blocked, int32_t member) const {
  const auto rank = static_cast<size_t>(member);
  const StreamKey stream{blocked.communicator, -1, -1};
  if (member < 0 || std::binary_search(blocked.at.begin(), blocked.at.end(), member)) return false;
  const bool called = HoldsSequence(rank, stream, static_cast<int64_t>(blocked.sequence));
  const bool waits_before = HoldsSequence(rank, stream, static_cast<int64_t>(blocked.sequence) - 1);
  return called && !waits_before && frontier_.TellsBegun(rank) && not_begun_[rank] == 0 &&
         frontier_.ProvesAbsence(rank, blocked.since_ns);
}

// Ranks of one group have the same duties. What one of them stood in as it began a collective holds up none of them.
void BlockedPlaces::FindHeldBesideOthers() {
  for (const BlockedOperation& blocked : operations_) {
    if (!blocked.collective() || blocked.passing) continue;
    std::vector<int32_t> held;
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(blocked.communicator)].members;
    std::copy_if(members.begin(), members.end(), std::back_inserter(held),
                 [&](int32_t member) { return MayBeHeld(blocked, member); });
    if (held.empty()) continue;
    std::set<std::vector<Alike>> begun;  // by those that have begun it, in what else they stood
    for (size_t i = 0; i < blocked.at.size(); ++i) {
      const TraceOperation& operation = Operation(blocked.operations[i]);
      const auto rank = static_cast<size_t>(blocked.at[i]);
      if (operation.started() && frontier_.TellsBegun(rank)) begun.insert(StoodIn(rank, operation));
    }
    for (const int32_t rank : held) {
      const std::vector<Alike> mine = StandsIn(static_cast<size_t>(rank), blocked.communicator);
      const bool excused = std::none_of(begun.begin(), begun.end(), [&](const std::vector<Alike>& theirs) {
        return std::includes(theirs.begin(), theirs.end(), mine.begin(), mine.end());
      });
      if (!begun.empty() && !excused) held_by_itself_[static_cast<size_t>(rank)] = 1;
    }
  }
}

// A rank that has begun nothing of what it called may stand in an operation whose record was lost: one that is
// missing between the last finished and the first open of a stream, and that others have not left. Its GPU is not
// accused.
void BlockedPlaces::FillGaps(size_t rank, std::vector<int32_t>* blocked_operations) {
  for (const size_t index : frontier_.OpenOf(rank)) {
    const StreamKey stream = StreamOf(rank, Operation(index));
    const auto [communicator, source, destination] = stream;
    const int64_t done = LastDone(rank, Operation(index), stream);
    const auto open = static_cast<int64_t>(Operation(index).sequence);
    const bool earlier_is_open = HoldsSequence(rank, stream, open - 1);
    if (earlier_is_open || open - done < 2) continue;
    not_begun_[rank] = 0;
    for (int64_t lost = std::max(done + 1, open - kMaxLostInARow); lost < open; ++lost) {
      const auto found = numbers_.find({communicator, source, destination, static_cast<uint64_t>(lost)});
      if (found != numbers_.end()) blocked_operations->push_back(found->second);
    }
    place_lost_[rank] = blocked_operations->empty() ? 1 : 0;
  }
}

void BlockedPlaces::PlaceTheBlind() {
  if (!blind_.any()) return;
  std::vector<char> placed(trace_.ranks.size(), 0);
  for (size_t rank = 0; rank < placed.size(); ++rank) {
    const bool ends_early = frontier_.Unseen(rank) || frontier_.CutShort(rank);  // of these, less is known still
    placed[rank] = ends_early || !of_rank_[rank].empty() ? 1 : 0;
  }
  const auto place = [&](size_t s, int32_t member) {
    const BlockedOperation& blocked = operations_[s];
    const int32_t rank = blind_.IsBlind(blocked, member) ? blind_.RankAt(blocked.communicator, member) : -1;
    if (rank < 0 || placed[static_cast<size_t>(rank)] != 0) return;
    of_rank_[static_cast<size_t>(rank)].push_back(static_cast<int32_t>(s));
    not_begun_[static_cast<size_t>(rank)] = 0;
  };
  for (size_t s = 0; s < operations_.size(); ++s) {
    const BlockedOperation& blocked = operations_[s];
    const auto members =
        static_cast<int32_t>(trace_.communicators[static_cast<size_t>(blocked.communicator)].members.size());
    if (!blocked.collective()) {
      for (const int32_t side : {blocked.source, blocked.destination}) {
        if (side >= 0 && side < members) place(s, side);
      }
    } else if (frontier_.EnteredByAll(blocked.communicator) < static_cast<int64_t>(blocked.sequence)) {
      for (int32_t member = 0; member < members; ++member) place(s, member);
    }
  }
  for (size_t rank = 0; rank < placed.size(); ++rank) {
    if (blind_.somewhere()[rank] == 0 || placed[rank] != 0 || !of_rank_[rank].empty()) continue;
    not_begun_[rank] = 0;
    place_lost_[rank] = 1;
  }
}

int64_t BlockedPlaces::LastDone(size_t rank, const TraceOperation& operation, const StreamKey& stream) const {
  const auto [communicator, source, destination] = stream;
  if (IsPointToPoint(operation.kind)) {
    return std::max(frontier_.Sends(communicator, source, destination).finished,
                    frontier_.Receives(communicator, source, destination).finished);
  }
  const int32_t member = frontier_.MemberOf(rank, communicator);
  return std::max(frontier_.Of(communicator, member).finished, frontier_.EnteredByAll(communicator));
}

bool BlockedPlaces::HoldsSequence(size_t rank, const StreamKey& stream, int64_t sequence) const {
  const absl::Span<const size_t> open = frontier_.OpenOf(rank);
  return std::any_of(open.begin(), open.end(), [&](size_t index) {
    return static_cast<int64_t>(Operation(index).sequence) == sequence && StreamOf(rank, Operation(index)) == stream;
  });
}

int32_t BlockedPlaces::BlockedOf(const StreamKey& stream, size_t index, int32_t rank) {
  const auto [communicator, source, destination] = stream;
  const TraceOperation& operation = Operation(index);
  const auto next = static_cast<int32_t>(operations_.size());
  const auto [found, fresh] =
      numbers_.try_emplace(BlockedKey{communicator, source, destination, operation.sequence}, next);
  if (fresh) {
    operations_.push_back({.communicator = communicator,
                           .source = source,
                           .destination = destination,
                           .sequence = operation.sequence,
                           .kind = operation.kind});
  }
  BlockedOperation& blocked = operations_[static_cast<size_t>(found->second)];
  // Told as a Send where its sender stands in it, whoever was looked at first.
  if (operation.kind == OperationKind::kSend) blocked.kind = operation.kind;
  blocked.at.push_back(rank);
  blocked.operations.push_back(index);
  blocked.passing = fresh || blocked.passing;
  if (frontier_.IsStuckIn(static_cast<size_t>(rank), operation)) {
    const bool first = blocked.passing || operation.enqueue_ns < blocked.since_ns;
    if (first) blocked.since_ns = operation.enqueue_ns;
    blocked.passing = false;
  }
  return found->second;
}

bool BlockedPlaces::StandsHere(const BlockedOperation& blocked, int32_t rank) const {
  const auto here = std::lower_bound(blocked.at.begin(), blocked.at.end(), rank);
  if (here == blocked.at.end() || *here != rank) return MayStandHere(blocked, static_cast<size_t>(rank));
  if (frontier_.TellsBegun(static_cast<size_t>(rank))) return true;
  const size_t index = blocked.operations[static_cast<size_t>(here - blocked.at.begin())];
  if (frontier_.watch() != nullptr && Operation(index).started()) return true;
  return &Operation(index) == first_open_[static_cast<size_t>(rank)];
}

bool BlockedPlaces::MayStandHere(const BlockedOperation& blocked, size_t rank) const {
  const StreamKey stream{blocked.communicator, blocked.source, blocked.destination};
  const bool lost = !HoldsSequence(rank, stream, static_cast<int64_t>(blocked.sequence));
  return lost && std::binary_search(without_place_.begin(), without_place_.end(), static_cast<int32_t>(rank));
}

}  // namespace lockstep
