#include "sim/testing/reference_replay.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>

#include "base/check.h"
#include "sim/network_cost.h"

namespace lockstep {
namespace {

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// Where ranks meet: a collective by (kind, group, index), a transfer by (-1, its number, pipeline group).
using MeetingKey = std::tuple<int32_t, int32_t, int32_t>;

struct Meeting {
  size_t expected = 0;
  int64_t latest_ns = 0;
  size_t entered = 0;
  int64_t length_ns = 0;

  bool complete() const { return entered == expected; }
  int64_t end_ns() const { return latest_ns + length_ns; }
};

struct Pending {
  std::vector<MeetingKey> meetings;
  int64_t begin_ns = 0;
  std::vector<size_t> records;
};

struct RankState {
  int64_t host_ns = 0;
  int64_t gpu_ns = 0;
  size_t next = 0;
  bool entered = false;                // the next instruction has been entered and is waited for
  std::map<int32_t, Pending> pending;  // by handle
  std::map<int32_t, int32_t> waiting;  // transfer groups not entered yet: handle -> handle that has to end first
  std::optional<int32_t> last_bucket;  // handle of the last operation on the data stream
  std::vector<TraceOperation> records;
};

class Reference {
 public:
  Reference(const JobSpec& job, const Layout& layout, const Plan& plan, const StepConditions& conditions)
      : job_(job), layout_(layout), plan_(plan), c_(conditions), cost_(job, layout), ranks_(layout.ranks()) {
    cost_.Use(conditions, 0, 0);
  }

  std::vector<std::vector<TraceOperation>> Run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (int32_t r = 0; r < layout_.ranks(); ++r) progress |= Advance(r);
    }
    std::vector<std::vector<TraceOperation>> records;
    for (int32_t r = 0; r < layout_.ranks(); ++r) {
      CHECK(ranks_[r].next == ProgramOf(r).instructions.size());
      FillEnds(ranks_[r]);
      records.push_back(ranks_[r].records);
    }
    return records;
  }

 private:
  const StageProgram& ProgramOf(int32_t rank) const { return plan_.stages[layout_.StageOf(rank)]; }

  bool Advance(int32_t rank) {
    RankState& state = ranks_[rank];
    bool moved = false;
    for (auto place = state.waiting.begin(); place != state.waiting.end();) {
      const int32_t handle = (place++)->first;  // EnterWaiting may erase it
      moved |= EnterWaiting(rank, handle);
    }
    while (state.next < ProgramOf(rank).instructions.size() && Step(rank, state)) {
      ++state.next;
      state.entered = false;
      moved = true;
    }
    return moved;
  }

  // False: the instruction waits for somebody.
  bool Step(int32_t rank, RankState& state) {
    const Instruction& instruction = ProgramOf(rank).instructions[state.next];
    switch (instruction.kind) {
      case InstructionKind::kInput:
        state.host_ns += c_.input_ns[rank];
        return true;
      case InstructionKind::kCompute:
        Compute(rank, state, instruction);
        return true;
      case InstructionKind::kSync:
        state.host_ns = std::max(state.host_ns, state.gpu_ns);
        return true;
      case InstructionKind::kTransfers:
        return IssueTransfers(rank, state, instruction);
      case InstructionKind::kAwait: {
        const std::optional<int64_t> end_ns = EndOf(state.pending[instruction.handle]);
        if (end_ns) state.gpu_ns = std::max(state.gpu_ns, *end_ns);
        return end_ns.has_value();
      }
      default:
        return Collective(rank, state, instruction);
    }
  }

  int64_t Issue(int32_t rank, RankState& state, int64_t cost_ns) {
    if (!c_.stalls.empty() && c_.stalls[rank].instruction == static_cast<int32_t>(state.next)) {
      state.host_ns += c_.stalls[rank].length_ns;
    }
    state.host_ns = std::max(state.host_ns, state.gpu_ns - Nanos(job_.workload.host_lead_seconds));
    const int64_t at_ns = state.host_ns;
    state.host_ns += static_cast<int64_t>(static_cast<double>(cost_ns) * c_.issue[rank]);
    return at_ns;
  }

  void Compute(int32_t rank, RankState& state, const Instruction& block) {
    const auto base = static_cast<double>(block.base_ns);
    const int64_t issued_ns = Issue(rank, state, static_cast<int64_t>(base * job_.workload.launch_share));
    double ns = base * c_.common * c_.stage[layout_.StageOf(rank)] * c_.compute[rank];
    if (block.microbatch >= 0 && !c_.sequence.empty()) {
      ns *= c_.sequence[layout_.DataIndexOf(rank) * (c_.sequence.size() / job_.parallelism.data) + block.microbatch];
    }
    if (block.of_experts && !c_.expert.empty()) ns *= c_.expert[layout_.ExpertIndexOf(rank)];
    state.gpu_ns = std::max(std::max(state.gpu_ns, issued_ns) + static_cast<int64_t>(ns), state.host_ns);
  }

  bool Collective(int32_t rank, RankState& state, const Instruction& operation) {
    // On the data stream, the operation before has to end first.
    const bool queued = operation.overlapped && state.last_bucket.has_value();
    if (!state.entered && queued && !EndOf(state.pending[*state.last_bucket])) return false;
    if (!state.entered) Enter(rank, state, operation, queued ? *EndOf(state.pending[*state.last_bucket]) : 0);
    if (operation.handle >= 0) return true;
    const std::optional<int64_t> end_ns = EndOf(state.pending[-1]);
    if (end_ns) {
      FillRecords(state, state.pending[-1]);
      state.gpu_ns = *end_ns;
      state.pending.erase(-1);
    }
    return end_ns.has_value();
  }

  void Enter(int32_t rank, RankState& state, const Instruction& operation, int64_t stream_free_ns) {
    const int32_t group = layout_.GroupOf(operation.group, rank);
    const int64_t enqueue_ns = Issue(rank, state, Nanos(job_.workload.launch_seconds));
    const int64_t begin_ns = std::max({enqueue_ns, state.gpu_ns, stream_free_ns});
    const MeetingKey key{static_cast<int32_t>(operation.group), group, operation.index_in_kind};
    Meeting& meeting = meetings_[key];
    meeting.expected = layout_.GroupSize(operation.group);
    meeting.latest_ns = std::max(meeting.latest_ns, begin_ns);
    meeting.length_ns = cost_.CollectiveNanos(operation, group);
    ++meeting.entered;
    Pending pending{.meetings = {key}, .begin_ns = begin_ns};
    if (operation.record >= 0) {
      pending.records.push_back(state.records.size());
      state.records.push_back({.enqueue_ns = enqueue_ns, .start_ns = begin_ns, .kind = operation.operation});
    }
    state.pending[operation.handle] = pending;
    if (operation.overlapped) state.last_bucket = operation.handle;
    state.entered = true;
  }

  bool IssueTransfers(int32_t rank, RankState& state, const Instruction& issue) {
    const TransferGroup& group = ProgramOf(rank).transfer_groups[issue.handle];
    Pending pending;
    // What is still in the way of this group may depend on what this rank does next: looked at again in each round.
    if (group.previous_on_stream >= 0) state.waiting[issue.handle] = group.previous_on_stream;
    const int64_t enqueue_ns = Issue(rank, state, Nanos(job_.workload.launch_seconds));
    pending.begin_ns = std::max(enqueue_ns, state.gpu_ns);
    for (const int32_t t : group.transfers) {
      const Transfer& transfer = plan_.transfers[t];
      const bool sends = transfer.source_stage == layout_.StageOf(rank) && transfer.source_handle == issue.handle;
      pending.meetings.push_back({-1, t, layout_.GroupOf(GroupKind::kPipeline, rank)});
      pending.records.push_back(state.records.size());
      state.records.push_back({.enqueue_ns = enqueue_ns, .kind = sends ? OperationKind::kSend : OperationKind::kRecv});
    }
    state.pending[issue.handle] = pending;
    EnterWaiting(rank, issue.handle);
    return true;
  }

  // Enters a transfer group if the one before it on its stream has ended.
  bool EnterWaiting(int32_t rank, int32_t handle) {
    RankState& state = ranks_[rank];
    Pending& pending = state.pending[handle];
    const auto before = state.waiting.find(handle);
    if (before != state.waiting.end()) {
      const std::optional<int64_t> end_ns = EndOf(state.pending[before->second]);
      if (!end_ns) return false;
      pending.begin_ns = std::max(pending.begin_ns, *end_ns);
      state.waiting.erase(before);
    }
    for (const MeetingKey& key : pending.meetings) {
      const Transfer& transfer = plan_.transfers[std::get<1>(key)];
      Meeting& meeting = meetings_[key];
      meeting.expected = 2;
      meeting.latest_ns = std::max(meeting.latest_ns, pending.begin_ns);
      meeting.length_ns =
          cost_.TransferNanos(job_.workload.activation_bytes, layout_.InStage(rank, transfer.source_stage),
                              layout_.InStage(rank, transfer.target_stage));
      ++meeting.entered;
    }
    return true;
  }

  // When all that a rank waits for under one handle is over; nothing = not known yet.
  std::optional<int64_t> EndOf(const Pending& pending) {
    int64_t end_ns = 0;
    for (const MeetingKey& key : pending.meetings) {
      const Meeting& meeting = meetings_[key];
      if (meeting.expected == 0 || !meeting.complete()) return std::nullopt;
      end_ns = std::max(end_ns, meeting.end_ns());
    }
    return std::max(end_ns, pending.begin_ns);
  }

  void FillRecords(RankState& state, const Pending& pending) {
    for (const size_t record : pending.records) {
      state.records[record].start_ns = pending.begin_ns;
      state.records[record].end_ns = *EndOf(pending);
    }
  }

  void FillEnds(RankState& state) {
    for (const auto& [handle, pending] : state.pending) FillRecords(state, pending);
  }

  const JobSpec& job_;
  const Layout& layout_;
  const Plan& plan_;
  const StepConditions& c_;
  NetworkCost cost_;
  std::vector<RankState> ranks_;
  std::map<MeetingKey, Meeting> meetings_;
};

}  // namespace

std::vector<std::vector<TraceOperation>> ReferencePhase(const JobSpec& job, const Layout& layout, const Plan& plan,
                                                        const StepConditions& conditions) {
  return Reference(job, layout, plan, conditions).Run();
}

}  // namespace lockstep
