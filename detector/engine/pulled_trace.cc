#include "detector/engine/pulled_trace.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "detector/model/trace_builder.h"

namespace lockstep {
namespace {

TraceOperation ToTrace(const Operation& from, int32_t communicator) {
  TraceOperation to;
  to.enqueue_ns = from.enqueue_ns;
  to.start_ns = from.start_ns;
  to.end_ns = from.end_ns;
  to.sequence = from.sequence;
  to.bytes = from.bytes;
  to.communicator = communicator;
  to.peer = from.peer;
  to.kind = from.kind;
  to.quality = from.quality;
  to.tuning = from.tuning;
  return to;
}

// The ranks `chosen` (all when empty) as a job: communicators have the members that are chosen, numbered anew.
class TraceOfRanks {
 public:
  TraceOfRanks(const Roster& roster, const std::vector<int32_t>& chosen)
      : roster_(roster), handles_(roster.ranks().size(), chosen.empty() ? 0 : -1) {
    for (const int32_t slot : chosen) handles_[static_cast<size_t>(slot)] = 0;
  }

  Trace Build(const std::vector<PulledOperations>& pulled, uint64_t missing) {
    builder_.AddLost(missing);
    for (size_t slot = 0; slot < handles_.size(); ++slot) {
      if (handles_[slot] >= 0) handles_[slot] = AddRank(slot);
    }
    for (const Communicator& communicator : roster_.communicators()) AddCommunicator(communicator);
    for (const PulledOperations& batch : pulled) AddBatch(batch);
    return builder_.Build();
  }

 private:
  struct Numbers {
    int32_t handle = -1;
    bool is_cut = false;             // members are left out
    std::vector<int32_t> of_member;  // -1 = not chosen
  };

  int32_t AddRank(size_t slot) {
    const RankProcess& process = roster_.ranks()[slot];
    TraceRank rank;
    rank.rank = process.rank;
    rank.host = builder_.AddHost(roster_.HostName(static_cast<int32_t>(slot)));
    rank.gpu = process.gpu;
    rank.pid = process.pid;
    rank.process_state = process.state;
    return builder_.AddRank(rank);
  }

  // Members that have not reported may be chosen or not: they stay missing.
  void AddCommunicator(const Communicator& communicator) {
    Numbers numbers;
    int32_t count = 0;
    bool any = false;
    for (const Member& member : communicator.members) {
      const bool left_out = member.rank_slot >= 0 && handles_[static_cast<size_t>(member.rank_slot)] < 0;
      numbers.of_member.push_back(left_out ? -1 : count++);
      numbers.is_cut = numbers.is_cut || left_out;
      any = any || (member.rank_slot >= 0 && !left_out);
    }
    if (!any) return;
    numbers.handle = builder_.AddCommunicator(absl::StrCat(communicator.id), communicator.name, count);
    for (size_t member = 0; member < communicator.members.size(); ++member) {
      const int32_t slot = communicator.members[member].rank_slot;
      if (slot < 0 || numbers.of_member[member] < 0) continue;
      builder_.AddMember(numbers.handle, numbers.of_member[member], handles_[static_cast<size_t>(slot)]);
    }
    numbers_.emplace(communicator.id, std::move(numbers));
  }

  void AddBatch(const PulledOperations& batch) {
    const int32_t slot = roster_.SlotOfRank(batch.rank);
    const bool same_process =
        slot >= 0 && roster_.ranks()[static_cast<size_t>(slot)].process_start_ticks == batch.process_start_ticks;
    const auto known = numbers_.find(batch.communicator);
    // Where it waits in communicators of unknown size, its time would look like work.
    if (same_process && roster_.ranks()[static_cast<size_t>(slot)].unsized) return;
    if (!same_process || handles_[static_cast<size_t>(slot)] < 0 || known == numbers_.end()) return;
    const Numbers& numbers = known->second;
    for (const Operation& operation : batch.operations) {
      TraceOperation to = ToTrace(operation, numbers.handle);
      // All that were chosen may wait for one that was not: this is no time of a transfer.
      if (numbers.is_cut && to.peer < 0) to.quality = TimingQuality::kHostCall;
      if (to.peer >= 0 && static_cast<size_t>(to.peer) < numbers.of_member.size()) {
        to.peer = numbers.of_member[static_cast<size_t>(to.peer)];
        if (to.peer < 0) continue;
      }
      builder_.Add(handles_[static_cast<size_t>(slot)], to);
    }
  }

  const Roster& roster_;
  TraceBuilder builder_{""};
  std::vector<int32_t> handles_;  // by rank slot; -1 = not chosen
  absl::flat_hash_map<CommunicatorId, Numbers> numbers_;
};

}  // namespace

Trace TraceOfPulled(const Roster& roster, const std::vector<int32_t>& chosen,
                    const std::vector<PulledOperations>& pulled, uint64_t missing) {
  return TraceOfRanks(roster, chosen).Build(pulled, missing);
}

}  // namespace lockstep
