#include "detector/model/operation_instances.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "detector/model/rank_channels.h"

namespace lockstep {
namespace {

// Budget: a table of at most four slots per record, else a sort.
constexpr uint64_t kWildness = 4;  // sequence range over records, beyond which a channel is sorted
// Always small enough for a table.
constexpr uint64_t kSmallRange = 64;
constexpr size_t kMostParts = 4;  // of the ranks: each counts the records of every slot

// The slots of a channel: one for every sequence number between its first and last, or, where these are wild, for every
// number that occurs.
struct ChannelSlots {
  SequenceRange range;
  size_t first_slot = 0;
  bool wild = false;
  std::vector<uint64_t> sequences;  // wild only: those that occur, rising

  size_t slots() const { return wild ? sequences.size() : range.last - range.first + 1; }
  uint64_t SequenceOf(size_t place) const { return wild ? sequences[place] : range.first + place; }
};

class Matching {
 public:
  Matching(const Trace& trace, Executor* executor)
      : trace_(trace),
        executor_(executor),
        parts_(std::min(PartsOf(executor, trace.ranks.size()), kMostParts)),
        channel_of_(trace.operations.size()),
        number_of_channel_(parts_),
        next_member_(parts_) {}

  OperationInstances Run() {
    matched_.instance_of.resize(trace_.operations.size());
    matched_.rank_of.resize(trace_.operations.size());
    FindChannels();
    PlaceSlots();
    ForOperations([this](size_t part, size_t begin, size_t end) { FindSlots(part, begin, end); });
    NumberInstances();
    ForOperations([this](size_t part, size_t begin, size_t end) { FillMembers(part, begin, end); });
    return std::move(matched_);
  }

 private:
  // Those of each part of the ranks.
  void ForOperations(absl::FunctionRef<void(size_t part, size_t begin, size_t end)> body) {
    RunParts(executor_, trace_.ranks.size(), parts_, [&](size_t part, size_t first_rank, size_t last_rank) {
      body(part, trace_.first_operation[first_rank], trace_.first_operation[last_rank]);
    });
  }

  void FindChannels() {
    const CommunicatorPlaces places(trace_);
    std::vector<RankChannels> found;
    for (size_t part = 0; part < parts_; ++part) found.emplace_back(trace_, places);
    RunParts(executor_, trace_.ranks.size(), parts_, [&](size_t part, size_t first_rank, size_t last_rank) {
      // The halves of the sequence numbers stay there until they become slots.
      found[part].Run(first_rank, last_rank, channel_of_.data(), matched_.rank_of.data(), matched_.instance_of.data());
    });
    JoinChannels(found);
    for (const RankChannels& part : found) {
      for (const size_t first : part.first_hole()) matched_.first_hole.push_back(matched_.holes.size() + first);
      matched_.holes.insert(matched_.holes.end(), part.holes().begin(), part.holes().end());
    }
    matched_.first_hole.push_back(matched_.holes.size());
  }

  // The channels of all parts in their order.
  void JoinChannels(const std::vector<RankChannels>& found) {
    struct Entry {
      std::tuple<int32_t, int32_t, int32_t> key;
      size_t part;
      size_t number;
    };
    std::vector<Entry> entries;
    for (size_t part = 0; part < parts_; ++part) {
      const std::vector<OperationChannel>& channels = found[part].channels();
      number_of_channel_[part].resize(channels.size());
      for (size_t i = 0; i < channels.size(); ++i) {
        entries.push_back({{channels[i].communicator, channels[i].source, channels[i].destination}, part, i});
      }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    for (size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      if (i == 0 || entries[i - 1].key != entry.key) {
        matched_.channels.push_back(found[entry.part].channels()[entry.number]);
        slots_.emplace_back();
      }
      number_of_channel_[entry.part][entry.number] = static_cast<uint32_t>(slots_.size() - 1);
      slots_.back().range.Add(found[entry.part].ranges()[entry.number]);
    }
  }

  // Slots of a channel follow one another by rising sequence number, and channels by their number.
  void PlaceSlots() {
    for (ChannelSlots& channel : slots_) {
      const uint64_t width = channel.range.last - channel.range.first;
      channel.wild =
          width > kWildness * channel.range.records + kSmallRange || width >= std::numeric_limits<uint32_t>::max();
    }
    if (std::any_of(slots_.begin(), slots_.end(), [](const ChannelSlots& channel) { return channel.wild; })) {
      CollectWild();
    }
    for (ChannelSlots& channel : slots_) {
      channel.first_slot = slot_count_;
      slot_count_ += channel.slots();
    }
  }

  void CollectWild() {
    RunParts(nullptr, trace_.ranks.size(), parts_, [this](size_t part, size_t first_rank, size_t last_rank) {
      for (size_t i = trace_.first_operation[first_rank]; i < trace_.first_operation[last_rank]; ++i) {
        if (channel_of_[i] < 0) continue;
        ChannelSlots& channel = SlotsOf(part, i);
        if (channel.wild) channel.sequences.push_back(trace_.operations[i].sequence);
      }
    });
    for (ChannelSlots& channel : slots_) {
      std::sort(channel.sequences.begin(), channel.sequences.end());
      channel.sequences.erase(std::unique(channel.sequences.begin(), channel.sequences.end()), channel.sequences.end());
    }
  }

  ChannelSlots& SlotsOf(size_t part, size_t operation) {
    return slots_[number_of_channel_[part][static_cast<size_t>(channel_of_[operation])]];
  }

  // Turns the halves of sequence numbers into slots and counts the records of each.
  void FindSlots(size_t part, size_t begin, size_t end) {
    std::vector<uint32_t>& count = next_member_[part];
    count.assign(slot_count_, 0);
    for (size_t i = begin; i < end; ++i) {
      uint32_t& slot = matched_.instance_of[i];
      if (channel_of_[i] < 0) {
        slot = kNoInstance;
        continue;
      }
      const ChannelSlots& channel = SlotsOf(part, i);
      // The difference of two numbers that are no further apart than 32 bits is that of their lower halves.
      const size_t place = channel.wild ? PlaceAmong(channel.sequences, trace_.operations[i].sequence)
                                        : slot - static_cast<uint32_t>(channel.range.first);
      slot = static_cast<uint32_t>(channel.first_slot + place);
      ++count[slot];
    }
  }

  static size_t PlaceAmong(const std::vector<uint64_t>& sequences, uint64_t sequence) {
    return static_cast<size_t>(std::lower_bound(sequences.begin(), sequences.end(), sequence) - sequences.begin());
  }

  // Slots without a record leave no instance. The counts become the places of each part's members.
  void NumberInstances() {
    number_of_slot_.resize(slot_count_);
    matched_.instances.reserve(slot_count_);
    uint32_t members = 0;
    size_t slot = 0;
    for (size_t number = 0; number < slots_.size(); ++number) {
      OperationChannel& channel = matched_.channels[number];
      channel.first_instance = static_cast<uint32_t>(matched_.instances.size());
      for (size_t place = 0; place < slots_[number].slots(); ++place, ++slot) {
        const uint32_t first = members;
        for (std::vector<uint32_t>& next : next_member_) members += std::exchange(next[slot], members);
        number_of_slot_[slot] = static_cast<uint32_t>(matched_.instances.size());
        if (members == first) continue;
        ++channel.instances;
        matched_.instances.push_back(
            {slots_[number].SequenceOf(place), static_cast<int32_t>(number), first, members - first});
      }
    }
    matched_.members.resize(members);
  }

  void FillMembers(size_t part, size_t begin, size_t end) {
    std::vector<uint32_t>& next = next_member_[part];
    for (size_t i = begin; i < end; ++i) {
      uint32_t& instance = matched_.instance_of[i];
      if (instance == kNoInstance) continue;
      matched_.members[next[instance]++] = static_cast<uint32_t>(i);
      instance = number_of_slot_[instance];
    }
  }

  const Trace& trace_;
  Executor* const executor_;
  const size_t parts_;
  std::vector<int32_t> channel_of_;                       // by operation, as its part numbers them; -1 = none
  std::vector<std::vector<uint32_t>> number_of_channel_;  // by part, then channel: among all
  std::vector<ChannelSlots> slots_;                       // by channel
  size_t slot_count_ = 0;
  std::vector<std::vector<uint32_t>> next_member_;  // by part, then slot: how many records, then where the next goes
  std::vector<uint32_t> number_of_slot_;            // of the instance
  OperationInstances matched_;
};

}  // namespace

OperationInstances MatchOperations(const Trace& trace, Executor* executor) { return Matching(trace, executor).Run(); }

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
