#include "detector/collectives/collective_analysis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"

namespace lockstep {
namespace {

constexpr double kBlockSeconds = 0.45;  // steps are folded until they last about this long
constexpr int kMaxBlockSteps = 256;
constexpr int64_t kAnchorIdleNs = 30 * kNanosPerSecond;  // a communicator unused for this long is no anchor
constexpr int64_t kLookAgainNs = kNanosPerSecond;
constexpr uint64_t kMinAnchorOperations = 3;

uint64_t Signature(const Roster::Place& place, const Operation& operation) {
  uint64_t hash = static_cast<uint64_t>(place.communicator_slot) * 0x9e3779b97f4a7c15;
  hash = (hash ^ static_cast<uint64_t>(operation.kind)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 29) ^ operation.bytes) * 0x94d049bb133111eb;
  return hash ^ (hash >> 32);
}

bool InUse(const Communicator& communicator, const Roster& roster, int64_t received_ns) {
  for (const Member& member : communicator.members) {
    if (member.rank_slot < 0) continue;
    const RankProcess& rank = roster.ranks()[static_cast<size_t>(member.rank_slot)];
    // One member speaks for all: they work in lockstep.
    return member.finished >= kMinAnchorOperations && !member.freed &&
           received_ns - rank.received_ns + member.idle_ns < kAnchorIdleNs;
  }
  return false;
}

}  // namespace

CollectiveAnalysis::CollectiveAnalysis(const CollectiveAnalysisOptions& options)
    : options_(options), history_(options.max_instances, options.max_participations), slow_ranks_(options.slow) {}

void CollectiveAnalysis::Collect(const Roster::Place& place, const CommunicatorView& view) {
  for (const Operation& operation : view.operations) {
    collected_.push_back(
        {operation.start_ns != 0 ? operation.start_ns : operation.enqueue_ns, &operation, place, view.stride > 1});
  }
}

void CollectiveAnalysis::Finish(Roster* roster, int32_t rank_slot, bool incomplete) {
  if (static_cast<size_t>(rank_slot) >= timelines_.size()) timelines_.resize(static_cast<size_t>(rank_slot) + 1);
  if (incomplete) timelines_[static_cast<size_t>(rank_slot)].Break();
  const auto by_start = [](const PlacedOperation& a, const PlacedOperation& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(collected_.begin(), collected_.end(), by_start)) {
    std::stable_sort(collected_.begin(), collected_.end(), by_start);
  }
  for (PlacedOperation& placed : collected_) {
    if (incomplete) placed.hole_before = true;
    Feed(roster, rank_slot, placed);
  }
  records_ += collected_.size();
  collected_.clear();
}

void CollectiveAnalysis::Feed(Roster* roster, int32_t rank_slot, const PlacedOperation& placed) {
  const Operation& operation = *placed.operation;
  const auto [slot, index] = placed.place;
  RankTimeline& timeline = timelines_[static_cast<size_t>(rank_slot)];
  Communicator& communicator = roster->communicator(slot);
  const bool point_to_point = operation.kind == OperationKind::kSend || operation.kind == OperationKind::kRecv;
  Member& member = communicator.members[static_cast<size_t>(index)];
  if (!point_to_point && operation.sequence <= member.last_record) {
    ++discarded_;  // seen before, or too late: what lies around it has been measured without it
    return;
  }
  if (placed.hole_before) timeline.Break();
  if (!point_to_point) {
    if (operation.sequence != member.last_record + 1) timeline.Break();
    if (slot == anchor_slot_ && block_.anchor_slot >= 0 && member.last_record < block_end_sequence_ &&
        operation.sequence >= block_end_sequence_) {
      ++members_beyond_;
    }
    member.last_record = std::max(member.last_record, operation.sequence);
  }
  Participation participation;
  if (!timeline.Append(operation, slot, index, &participation)) {
    ++discarded_;
    return;
  }
  if (rank_slot == clock_rank_slot_) {
    const bool at_anchor = slot == anchor_slot_ && !point_to_point;
    clock_.Append(Signature(placed.place, operation), at_anchor ? operation.sequence : 0, operation.end_ns);
  }
  if (point_to_point) return;
  history_.Add(slot, communicator.size, index, operation.sequence, operation.kind, operation.bytes, participation);
}

void CollectiveAnalysis::ChooseAnchor(const Roster& roster, int64_t received_ns) {
  const std::vector<Communicator>& communicators = roster.communicators();
  const auto used = [&](int32_t slot) {
    return slot >= 0 && InUse(communicators[static_cast<size_t>(slot)], roster, received_ns);
  };
  int32_t best = used(anchor_slot_) ? anchor_slot_ : -1;
  // All communicators are looked at when there are new ones, and now and then because the use of old ones changes.
  const bool look = communicators.size() != communicators_at_look_ || received_ns >= look_again_ns_;
  if (look) {
    communicators_at_look_ = communicators.size();
    look_again_ns_ = received_ns + kLookAgainNs;
  }
  for (size_t i = look ? 0 : communicators.size(); i < communicators.size(); ++i) {
    const Communicator& candidate = communicators[i];
    if (candidate.size < 2) continue;
    if (best >= 0) {
      const Communicator& known = communicators[static_cast<size_t>(best)];
      const bool larger = candidate.size > known.size;
      const bool smaller_id = candidate.size == known.size && best != anchor_slot_ && candidate.id < known.id;
      if (!larger && !smaller_id) continue;
    }
    if (used(static_cast<int32_t>(i))) best = static_cast<int32_t>(i);
  }
  if (best >= 0 && best != anchor_slot_) {
    anchor_slot_ = best;
    clock_rank_slot_ = -1;
  }
  if (anchor_slot_ < 0) return;
  if (!look) return;
  const Communicator& anchor = communicators[static_cast<size_t>(anchor_slot_)];
  const auto speaks = [&](const Member& member) {
    return member.rank_slot >= 0 && !roster.ranks()[static_cast<size_t>(member.rank_slot)].disabled;
  };
  // The lowest member keeps the clock, so that it does not matter who reported first.
  const auto keeper = std::find_if(anchor.members.begin(), anchor.members.end(), speaks);
  if (keeper == anchor.members.end() || keeper->rank_slot == clock_rank_slot_) return;
  clock_rank_slot_ = keeper->rank_slot;
  clock_ = StepClock();
  block_ = {};
  slow_ranks_.Clear();
}

void CollectiveAnalysis::StartBlock(const Roster& roster, int64_t first_step) {
  block_.anchor_slot = anchor_slot_;
  block_.anchors_per_step = clock_.anchors_per_step();
  block_.first_step = first_step;
  const double step_seconds = clock_.RecentMedianStepSeconds();
  const int most = std::min<int>(
      kMaxBlockSteps, std::max<int>(1, options_.max_instances / 2 / static_cast<int>(block_.anchors_per_step)));
  block_.steps = step_seconds <= 0 ? 1 : std::clamp(static_cast<int>(std::ceil(kBlockSeconds / step_seconds)), 1, most);
  block_end_sequence_ = static_cast<uint64_t>(block_.first_step + block_.steps) * block_.anchors_per_step;
  history_.Want(std::min(options_.max_instances, 2 * block_.steps * static_cast<int>(block_.anchors_per_step)));
  members_beyond_ = 0;
  for (const Member& member : roster.communicators()[static_cast<size_t>(anchor_slot_)].members) {
    members_beyond_ += member.last_record >= block_end_sequence_ ? 1 : 0;
  }
}

void CollectiveAnalysis::FoldReadyBlocks(const Roster& roster) {
  const Communicator& anchor = roster.communicators()[static_cast<size_t>(anchor_slot_)];
  if (block_.anchor_slot != anchor_slot_) {
    if (anchor.reported < anchor.size) return;
    uint64_t newest = 0;
    for (const Member& member : anchor.members) newest = std::max(newest, member.last_record);
    if (newest == 0) return;
    StartBlock(roster, clock_.StepOf(newest) + 1);
  }
  while (members_beyond_ >= anchor.size) {
    const auto typical = FoldSteps(history_, roster.communicators(), block_);
    newest_step_ = block_.first_step + block_.steps - 1;
    if (typical.has_value()) {
      const StepSearch search = SearchStep(*typical, options_.search);
      slow_ranks_.Add(SummarizeBlock(*typical, search, history_, roster.communicators(), block_));
      unusable_blocks_ = 0;
    } else {
      ++unusable_blocks_;
    }
    StartBlock(roster, newest_step_ + 1);
  }
}

void CollectiveAnalysis::Advance(const Roster& roster, int64_t received_ns) {
  ChooseAnchor(roster, received_ns);
  if (anchor_slot_ < 0) return;
  if (clock_.Refresh()) {
    block_ = {};
    slow_ranks_.Clear();
  }
  FoldReadyBlocks(roster);
}

}  // namespace lockstep
