#include "detector/model/rank_channels.h"

namespace lockstep {
namespace {

// A rank has few communicators and peers: a short list beats a map.
constexpr size_t kMaxRecent = 16;
// Gaps in which a late record is looked for: a budget of time. Streams that share a communicator are few calls apart.
constexpr size_t kMaxGapsBack = 64;

}  // namespace

CommunicatorPlaces::CommunicatorPlaces(const Trace& trace) : by_rank_(trace.ranks.size()) {
  for (size_t communicator = 0; communicator < trace.communicators.size(); ++communicator) {
    const std::vector<int32_t>& members = trace.communicators[communicator].members;
    for (size_t place = 0; place < members.size(); ++place) {
      if (members[place] < 0) continue;
      by_rank_[static_cast<size_t>(members[place])].emplace_back(static_cast<int32_t>(communicator),
                                                                 static_cast<int32_t>(place));
    }
  }
}

int32_t CommunicatorPlaces::Of(size_t rank_index, int32_t communicator) const {
  for (const auto& [known, place] : by_rank_[rank_index]) {
    if (known == communicator) return place;
  }
  return -1;
}

RankChannels::RankChannels(const Trace& trace, const CommunicatorPlaces& places)
    : trace_(trace), places_(places), channel_of_collectives_(trace.communicators.size(), -1) {}

void RankChannels::Run(size_t first_rank, size_t last_rank, int32_t* channel_of, int32_t* rank_of,
                       uint32_t* sequence_low) {
  for (size_t rank = first_rank; rank < last_rank; ++rank) {
    recent_.clear();
    gaps_.clear();
    first_hole_.push_back(holes_.size());
    const size_t begin = trace_.first_operation[rank];
    for (size_t i = begin; i < trace_.first_operation[rank + 1]; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      const int32_t channel = i < kMaxMatchedOperations ? ChannelOf(rank, operation) : -1;
      channel_of[i] = channel;
      rank_of[i] = static_cast<int32_t>(rank);
      sequence_low[i] = static_cast<uint32_t>(operation.sequence);
      if (channel >= 0) Note(static_cast<uint32_t>(i), operation.sequence, begin, static_cast<size_t>(channel));
    }
    DropFilledHoles();
  }
}

void RankChannels::Note(uint32_t operation, uint64_t sequence, size_t first_of_rank, size_t channel) {
  Latest& latest = latest_[channel];
  ranges_[channel].Note(sequence);
  // Another rank's is no predecessor.
  const bool known = ranges_[channel].records > 1 && latest.operation >= first_of_rank;
  if (known && sequence < latest.sequence) return FillGap(channel, sequence);
  if (known && sequence > latest.sequence + 1) {
    holes_.push_back({latest.operation, operation});
    gaps_.push_back({channel, latest.sequence + 1, sequence - 1, sequence - latest.sequence - 1});
  }
  latest = {operation, sequence};
}

// Two streams that share a communicator may begin calls in another order than that of their numbers.
void RankChannels::FillGap(size_t channel, uint64_t sequence) {
  const size_t first = gaps_.size() - std::min(gaps_.size(), kMaxGapsBack);
  for (size_t i = gaps_.size(); i > first; --i) {
    Gap& gap = gaps_[i - 1];
    if (gap.channel != channel || sequence < gap.first || sequence > gap.last) continue;
    gap.missing -= std::min<uint64_t>(gap.missing, 1);
    return;
  }
}

// Of the rank at hand.
void RankChannels::DropFilledHoles() {
  size_t kept = first_hole_.back();
  for (size_t i = 0; i < gaps_.size(); ++i) {
    if (gaps_[i].missing > 0) holes_[kept++] = holes_[first_hole_.back() + i];
  }
  holes_.resize(kept);
}

int32_t RankChannels::ChannelOf(size_t rank, const TraceOperation& operation) {
  if (!IsSendOrRecv(operation.kind)) {
    int32_t& channel = channel_of_collectives_[static_cast<size_t>(operation.communicator)];
    if (channel < 0) channel = Add({operation.communicator, -1, -1, 0, 0});
    return channel;
  }
  // A rank talks to few peers: a short list beats a map.
  for (const Recent& known : recent_) {
    if (known.peer == operation.peer && known.kind == operation.kind && known.communicator == operation.communicator) {
      return known.channel;
    }
  }
  const int32_t channel = ChannelOfPair(rank, operation);
  if (recent_.size() < kMaxRecent) recent_.push_back({operation.communicator, operation.peer, operation.kind, channel});
  return channel;
}

int32_t RankChannels::ChannelOfPair(size_t rank, const TraceOperation& operation) {
  const int32_t own = places_.Of(rank, operation.communicator);
  if (own < 0 || operation.peer < 0) return -1;
  const bool sends = operation.kind == OperationKind::kSend;
  const int32_t source = sends ? own : operation.peer, destination = sends ? operation.peer : own;
  const auto [it, added] =
      pairs_.try_emplace({operation.communicator, source, destination}, static_cast<int32_t>(channels_.size()));
  if (added) Add({operation.communicator, source, destination, 0, 0});
  return it->second;
}

int32_t RankChannels::Add(const OperationChannel& channel) {
  channels_.push_back(channel);
  ranges_.emplace_back();
  latest_.emplace_back();
  return static_cast<int32_t>(channels_.size()) - 1;
}

}  // namespace lockstep
