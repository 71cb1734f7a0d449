#include "detector/trace/operation_instances.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lockstep {
namespace {

constexpr uint64_t kWildness = 4;  // sequence range over records, beyond which a channel is sorted
constexpr uint64_t kSmallRange = 64;

// Communicator rank of every membership of a rank.
class Places {
 public:
  explicit Places(const Trace& trace) : by_rank_(trace.ranks.size()) {
    for (size_t communicator = 0; communicator < trace.communicators.size(); ++communicator) {
      const std::vector<int32_t>& members = trace.communicators[communicator].members;
      for (size_t place = 0; place < members.size(); ++place) {
        if (members[place] < 0) continue;
        by_rank_[static_cast<size_t>(members[place])].emplace_back(static_cast<int32_t>(communicator),
                                                                   static_cast<int32_t>(place));
      }
    }
  }

  int32_t Of(size_t rank, int32_t communicator) const {
    for (const auto& [known, place] : by_rank_[rank]) {
      if (known == communicator) return place;
    }
    return -1;
  }

 private:
  std::vector<std::vector<std::pair<int32_t, int32_t>>> by_rank_;
};

// Gives every operation its channel. Channels are numbered as they turn up; Sort puts them into order.
class ChannelFinder {
 public:
  explicit ChannelFinder(const Trace& trace)
      : trace_(trace), places_(trace), channel_of_collectives_(trace.communicators.size(), -1) {}

  void Run(std::vector<int32_t>* channel_of, std::vector<OperationChannel>* channels) {
    channel_of->assign(trace_.operations.size(), -1);
    for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      recent_.clear();
      for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
        (*channel_of)[i] = Of(rank, trace_.operations[i]);
      }
    }
    Sort(channel_of);
    *channels = std::move(channels_);
  }

 private:
  struct Recent {
    int32_t communicator;
    int32_t peer;
    OperationKind kind;
    int32_t channel;
  };

  int32_t Of(size_t rank, const TraceOperation& operation) {
    if (!IsSendOrRecv(operation.kind)) {
      int32_t& channel = channel_of_collectives_[static_cast<size_t>(operation.communicator)];
      if (channel < 0) {
        channel = static_cast<int32_t>(channels_.size());
        channels_.push_back({operation.communicator, -1, -1, 0, 0});
      }
      return channel;
    }
    // A rank talks to few peers: a short list beats a map.
    for (const Recent& known : recent_) {
      if (known.peer == operation.peer && known.kind == operation.kind &&
          known.communicator == operation.communicator) {
        return known.channel;
      }
    }
    const int32_t channel = OfPair(rank, operation);
    if (recent_.size() < kMaxRecent) {
      recent_.push_back({operation.communicator, operation.peer, operation.kind, channel});
    }
    return channel;
  }

  int32_t OfPair(size_t rank, const TraceOperation& operation) {
    const int32_t own = places_.Of(rank, operation.communicator);
    if (own < 0 || operation.peer < 0) return -1;
    const bool sends = operation.kind == OperationKind::kSend;
    const auto key =
        std::make_tuple(operation.communicator, sends ? own : operation.peer, sends ? operation.peer : own);
    const auto [it, added] = pairs_.try_emplace(key, static_cast<int32_t>(channels_.size()));
    if (added) channels_.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), 0, 0});
    return it->second;
  }

  void Sort(std::vector<int32_t>* channel_of) {
    std::vector<size_t> order(channels_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      const OperationChannel& left = channels_[a];
      const OperationChannel& right = channels_[b];
      return std::tie(left.communicator, left.source, left.destination) <
             std::tie(right.communicator, right.source, right.destination);
    });
    std::vector<int32_t> new_number(order.size());
    std::vector<OperationChannel> sorted;
    sorted.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      new_number[order[i]] = static_cast<int32_t>(i);
      sorted.push_back(channels_[order[i]]);
    }
    channels_ = std::move(sorted);
    for (int32_t& channel : *channel_of) {
      if (channel >= 0) channel = new_number[static_cast<size_t>(channel)];
    }
  }

  static constexpr size_t kMaxRecent = 16;

  const Trace& trace_;
  Places places_;
  std::vector<int32_t> channel_of_collectives_;
  absl::flat_hash_map<std::tuple<int32_t, int32_t, int32_t>, int32_t> pairs_;
  std::vector<Recent> recent_;  // of the rank at hand
  std::vector<OperationChannel> channels_;
};

// Maps the sequence numbers of each channel to consecutive slots.
class SequenceSlots {
 public:
  SequenceSlots(const Trace& trace, const std::vector<int32_t>& channel_of, size_t channels) : ranges_(channels) {
    for (size_t i = 0; i < channel_of.size(); ++i) {
      if (channel_of[i] >= 0) ranges_[static_cast<size_t>(channel_of[i])].Note(trace.operations[i].sequence);
    }
    bool any_wild = false;
    for (Range& range : ranges_) {
      range.wild = range.records > 0 && range.last - range.first > kWildness * range.records + kSmallRange;
      any_wild |= range.wild;
    }
    if (any_wild) CollectWild(trace, channel_of);
    for (size_t channel = 0; channel < ranges_.size(); ++channel) {
      ranges_[channel].first_slot = slots_;
      slots_ += SlotsOf(channel);
    }
  }

  size_t slots() const { return slots_; }

  // Slots of a channel follow one another by rising sequence number, and channels by their number.
  size_t SlotsOf(size_t channel) const {
    const Range& range = ranges_[channel];
    return range.wild ? range.sequences.size() : range.records == 0 ? 0 : range.last - range.first + 1;
  }
  uint64_t SequenceOf(size_t channel, size_t place) const {
    const Range& range = ranges_[channel];
    return range.wild ? range.sequences[place] : range.first + place;
  }

  size_t Of(int32_t channel, uint64_t sequence) const {
    const Range& range = ranges_[static_cast<size_t>(channel)];
    if (!range.wild) return range.first_slot + (sequence - range.first);
    const auto place = std::lower_bound(range.sequences.begin(), range.sequences.end(), sequence);
    return range.first_slot + static_cast<size_t>(place - range.sequences.begin());
  }

 private:
  struct Range {
    uint64_t first = std::numeric_limits<uint64_t>::max();
    uint64_t last = 0;
    uint64_t records = 0;
    size_t first_slot = 0;
    bool wild = false;
    std::vector<uint64_t> sequences;  // wild only: those that occur, rising

    void Note(uint64_t sequence) {
      first = std::min(first, sequence);
      last = std::max(last, sequence);
      ++records;
    }
  };

  void CollectWild(const Trace& trace, const std::vector<int32_t>& channel_of) {
    for (size_t i = 0; i < channel_of.size(); ++i) {
      if (channel_of[i] < 0) continue;
      Range& range = ranges_[static_cast<size_t>(channel_of[i])];
      if (range.wild) range.sequences.push_back(trace.operations[i].sequence);
    }
    for (Range& range : ranges_) {
      std::sort(range.sequences.begin(), range.sequences.end());
      range.sequences.erase(std::unique(range.sequences.begin(), range.sequences.end()), range.sequences.end());
    }
  }

  std::vector<Range> ranges_;
  size_t slots_ = 0;
};

void FillInstances(const Trace& trace, const std::vector<int32_t>& channel_of, OperationInstances* matched) {
  const SequenceSlots slots(trace, channel_of, matched->channels.size());
  std::vector<uint32_t> first(slots.slots() + 1, 0);
  for (size_t i = 0; i < channel_of.size(); ++i) {
    if (channel_of[i] < 0) continue;
    const size_t slot = slots.Of(channel_of[i], trace.operations[i].sequence);
    matched->instance_of[i] = static_cast<uint32_t>(slot);
    ++first[slot + 1];
  }
  matched->instances.reserve(
      static_cast<size_t>(std::count_if(first.begin(), first.end(), [](uint32_t records) { return records > 0; })));
  for (size_t slot = 0; slot < slots.slots(); ++slot) first[slot + 1] += first[slot];
  matched->members.resize(first.back());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (size_t i = 0; i < channel_of.size(); ++i) {
    if (channel_of[i] >= 0) matched->members[next[matched->instance_of[i]]++] = static_cast<uint32_t>(i);
  }
  // `next` becomes the number of the slot's instance: slots without a record leave none.
  size_t slot = 0;
  for (size_t channel = 0; channel < matched->channels.size(); ++channel) {
    OperationChannel& owner = matched->channels[channel];
    for (size_t place = 0; place < slots.SlotsOf(channel); ++place, ++slot) {
      const uint32_t count = first[slot + 1] - first[slot];
      next[slot] = static_cast<uint32_t>(matched->instances.size());
      if (count == 0) continue;
      if (owner.instances++ == 0) owner.first_instance = next[slot];
      matched->instances.push_back(
          {slots.SequenceOf(channel, place), static_cast<int32_t>(channel), first[slot], count});
    }
  }
  for (uint32_t& instance : matched->instance_of) {
    if (instance != kNoInstance) instance = next[instance];
  }
}

}  // namespace

OperationInstances MatchOperations(const Trace& trace) {
  OperationInstances matched;
  matched.instance_of.assign(trace.operations.size(), kNoInstance);
  matched.rank_of.assign(trace.operations.size(), -1);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    std::fill(matched.rank_of.begin() + static_cast<int64_t>(trace.first_operation[rank]),
              matched.rank_of.begin() + static_cast<int64_t>(trace.first_operation[rank + 1]),
              static_cast<int32_t>(rank));
  }
  std::vector<int32_t> channel_of;
  ChannelFinder(trace).Run(&channel_of, &matched.channels);
  if (channel_of.size() > kMaxMatchedOperations) {
    std::fill(channel_of.begin() + static_cast<int64_t>(kMaxMatchedOperations), channel_of.end(), -1);
  }
  FillInstances(trace, channel_of, &matched);
  return matched;
}

std::vector<int32_t> MissingMembers(const Trace& trace, const OperationInstances& matched,
                                    const OperationInstance& instance) {
  const OperationChannel& channel = matched.channels[static_cast<size_t>(instance.channel)];
  const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(channel.communicator)].members;
  std::vector<int32_t> places;
  if (channel.collective()) {
    for (size_t place = 0; place < members.size(); ++place) places.push_back(static_cast<int32_t>(place));
  } else {
    places = {std::min(channel.source, channel.destination), std::max(channel.source, channel.destination)};
  }
  std::vector<int32_t> present;
  for (const uint32_t member : matched.MembersOf(instance)) present.push_back(matched.rank_of[member]);
  std::sort(present.begin(), present.end());
  std::vector<int32_t> missing;
  for (const int32_t place : places) {
    const int32_t rank = static_cast<size_t>(place) < members.size() ? members[static_cast<size_t>(place)] : -1;
    if (rank < 0 || !std::binary_search(present.begin(), present.end(), rank)) missing.push_back(place);
  }
  return missing;
}

}  // namespace lockstep
