#include "detector/steps/awaited_recvs.h"

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "base/fnv1a.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// Recorders read the two times one after the other, as in own_time.cc: so much of the transfer, whose shorter side it
// is. A Recv that was posted ahead has waited for longer than anybody errs.
constexpr int64_t kEndTolerance = 20;
// Bound of memory: stages of one class are few. Where ranks call in ever other orders, order tells no program.
constexpr size_t kMaxPrograms = 64;
// Bound of time: the rank of a pipeline has a channel or two to each neighbour.
constexpr size_t kMaxRecvChannels = 8;
constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// The Recvs of one channel in one step, behind those of the step before, where that is known.
struct RecvQueue {
  size_t ordinal = 0;  // of its channel in the step
  int32_t channel = -1;
  size_t earlier = 0;                // of the step before
  std::vector<uint32_t> operations;  // in the order of the channel
  std::vector<int64_t> ends;         // rising: what ended is what had ended by then
  std::vector<int64_t> transfer_ns;  // the shortest time inside of either side

  // How many of the step had ended when an operation began; negative = not even all of the step before.
  int32_t EndedBy(const Trace& trace, int64_t start_ns) const {
    auto count = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), start_ns) - ends.begin());
    while (count < ends.size()) {
      const TraceOperation& next = trace.operations[operations[count]];
      if (!next.started() || !next.finished()) break;
      if (next.end_ns - start_ns > transfer_ns[count] / kEndTolerance) break;
      ++count;
    }
    return static_cast<int32_t>(count) - static_cast<int32_t>(earlier);
  }
};

// The calls of one rank in one step, by channel in the order in which the step first uses them, and place there.
class StepCalls {
 public:
  struct Call {
    uint32_t operation;
    uint32_t ordinal;
    uint32_t place;
  };

  // Of the steps of a rank in their order: what is posted before the end of a step may be for the next.
  void Read(const Trace& trace, const OperationInstances& matched, size_t rank, const StepRange& range) {
    follows_ = rank == rank_ && range.begin == end_;
    rank_ = rank;
    end_ = range.end;
    channels_.clear();
    calls_.clear();
    earlier_.swap(queues_);
    queues_.clear();
    for (uint32_t i = range.begin; i < range.end; ++i) {
      if (matched.instance_of[i] == kNoInstance) continue;
      const OperationInstance& instance = matched.instances[matched.instance_of[i]];
      const auto known = std::find_if(channels_.begin(), channels_.end(),
                                      [&](const Channel& one) { return one.number == instance.channel; });
      const auto ordinal = static_cast<uint32_t>(known - channels_.begin());
      if (known == channels_.end()) channels_.push_back({instance.channel, instance.sequence});
      Channel& channel = channels_[ordinal];
      channel.first = std::min(channel.first, instance.sequence);
      calls_.push_back({i, ordinal, 0});
    }
    // Places behind a hole in the sequence numbers are unknown, and so bounded.
    std::erase_if(calls_, [&](Call& call) {
      const OperationInstance& instance = matched.instances[matched.instance_of[call.operation]];
      const uint64_t place = instance.sequence - channels_[call.ordinal].first;
      call.place = static_cast<uint32_t>(place);
      return place >= range.end - range.begin;
    });
    program_ = kFnv1aOfNothing;
    size_t told = 0;
    for (const Call& call : calls_) {
      const TraceOperation& operation = trace.operations[call.operation];
      told += operation.enqueue_ns < operation.start_ns ? 1 : 0;
      if (!IsSendOrRecv(operation.kind)) continue;
      const bool is_recv = operation.kind == OperationKind::kRecv;
      program_ = Fnv1a(program_, 2 * uint64_t{call.ordinal} + (is_recv ? 1 : 0));
      if (is_recv) Queue(call);
    }
    // Else operations are in the order of their begins, which says how starved the rank is, not what it runs.
    if (2 * told < calls_.size()) program_ = kFnv1aOfNothing;
    for (RecvQueue& queue : queues_) {
      if (follows_) PutEarlierFirst(matched, &queue);
      CountEnds(trace, matched, &queue);
    }
  }

  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<RecvQueue>& queues() const { return queues_; }  // at most kMaxRecvChannels
  // Whether the step before is known.
  bool follows() const { return follows_; }
  // Equal for steps that call Send and Recv in the same order, and for all in which calls are not told from begins.
  uint64_t program() const { return program_; }

 private:
  struct Channel {
    int32_t number;
    uint64_t first;  // sequence number
  };

  void Queue(const Call& call) {
    auto queue =
        std::find_if(queues_.begin(), queues_.end(), [&](const RecvQueue& one) { return one.ordinal == call.ordinal; });
    if (queue == queues_.end()) {
      if (queues_.size() == kMaxRecvChannels) return;
      queue =
          queues_.insert(queues_.end(), RecvQueue{.ordinal = call.ordinal, .channel = channels_[call.ordinal].number});
    }
    queue->operations.resize(std::max<size_t>(queue->operations.size(), call.place + 1), kNoRecv);
    queue->operations[call.place] = call.operation;
  }

  void PutEarlierFirst(const OperationInstances& matched, RecvQueue* queue) const {
    const auto before = std::find_if(earlier_.begin(), earlier_.end(),
                                     [queue](const RecvQueue& one) { return one.channel == queue->channel; });
    if (before == earlier_.end() || before->operations.size() <= before->earlier) return;
    const uint64_t last = matched.instances[matched.instance_of[before->operations.back()]].sequence;
    if (last + 1 != channels_[queue->ordinal].first) return;
    queue->earlier = before->operations.size() - before->earlier;
    queue->operations.insert(queue->operations.begin(),
                             before->operations.begin() + static_cast<std::ptrdiff_t>(before->earlier),
                             before->operations.end());
  }

  static int64_t TransferNs(const Trace& trace, const OperationInstances& matched, uint32_t recv) {
    int64_t shortest_ns = trace.operations[recv].duration_ns();
    for (const uint32_t side : matched.MembersOf(matched.instances[matched.instance_of[recv]])) {
      const TraceOperation& operation = trace.operations[side];
      if (operation.started() && operation.finished()) shortest_ns = std::min(shortest_ns, operation.duration_ns());
    }
    return shortest_ns;
  }

  static void CountEnds(const Trace& trace, const OperationInstances& matched, RecvQueue* queue) {
    int64_t latest_ns = kNoTime;
    for (const uint32_t i : queue->operations) {
      const bool ended = i != kNoRecv && trace.operations[i].finished();
      if (!ended) break;
      latest_ns = std::max(latest_ns, trace.operations[i].end_ns);
      queue->ends.push_back(latest_ns);
      queue->transfer_ns.push_back(TransferNs(trace, matched, i));
    }
    queue->operations.resize(queue->ends.size());
  }

  std::vector<Channel> channels_;  // by ordinal
  std::vector<Call> calls_;
  std::vector<RecvQueue> queues_, earlier_;  // of the step, and of that before
  // Of what was read last.
  size_t rank_ = std::numeric_limits<size_t>::max();
  uint32_t end_ = 0;
  bool follows_ = false;
  uint64_t program_ = kFnv1aOfNothing;
};

// What ranks of one class and program have in common: by ordinal, then place, how many Recvs of each queue had always
// ended, counted from the first of the step.
class LeastEnded {
 public:
  void Add(const Trace& trace, const StepCalls& step) {
    for (const StepCalls::Call& call : step.calls()) {
      const TraceOperation& operation = trace.operations[call.operation];
      if (!operation.started()) continue;
      int32_t* const least = At(call);
      for (size_t q = 0; q < step.queues().size(); ++q) {
        least[q] = std::min(least[q], step.queues()[q].EndedBy(trace, operation.start_ns));
      }
    }
  }

  // The awaited Recv of this step that ended last.
  uint32_t AwaitedBy(const StepCalls::Call& call, const std::vector<RecvQueue>& queues) {
    const int32_t* const least = At(call);
    uint32_t awaited = kNoRecv;
    int64_t latest_ns = kNoTime;
    for (size_t q = 0; q < queues.size(); ++q) {
      if (least[q] == kNever) return kUntold;
      const int64_t count =
          std::min<int64_t>(least[q] + static_cast<int64_t>(queues[q].earlier), std::ssize(queues[q].ends));
      if (count <= 0) continue;
      const auto last = static_cast<size_t>(count - 1);
      if (queues[q].ends[last] < latest_ns) continue;
      latest_ns = queues[q].ends[last];
      awaited = queues[q].operations[last];
    }
    return awaited;
  }

 private:
  int32_t* At(const StepCalls::Call& call) {
    if (call.ordinal >= least_.size()) least_.resize(call.ordinal + 1);
    std::vector<int32_t>& places = least_[call.ordinal];
    const size_t at = call.place * kMaxRecvChannels;
    if (places.size() < at + kMaxRecvChannels) places.resize(at + kMaxRecvChannels, kNever);
    return &places[at];
  }

  std::vector<std::vector<int32_t>> least_;
};

bool Receives(const OperationInstances& matched) {
  return std::any_of(matched.channels.begin(), matched.channels.end(),
                     [](const OperationChannel& channel) { return !channel.collective(); });
}

}  // namespace

AwaitedRecvs FindAwaitedRecvs(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                              const StepTable& steps, const std::vector<char>& whole_steps,
                              const std::vector<char>& without_begins, Executor* executor) {
  if (!Receives(matched)) return {};
  AwaitedRecvs awaited(trace.operations.size(), kUntold);
  RunPieces(executor, roles.classes.size(), [&](size_t number) {
    StepCalls calls;
    absl::flat_hash_map<uint64_t, LeastEnded> least;  // by program: stages of one class may fill a pipeline otherwise
    const auto for_each_step = [&](auto use) {
      for (const int32_t peer : roles.classes[number]) {
        const auto rank = static_cast<size_t>(peer);
        for (int32_t step = 0; step < steps.steps; ++step) {
          const size_t at = rank * static_cast<size_t>(steps.steps) + static_cast<size_t>(step);
          if (!steps.ranges[at].complete || (!whole_steps.empty() && whole_steps[at] == 0)) continue;
          use(rank, static_cast<size_t>(step), steps.ranges[at]);
        }
      }
    };
    for_each_step([&](size_t rank, size_t step, const StepRange& range) {
      if (without_begins[rank] != 0 || steps.usual[step] == 0) return;
      calls.Read(trace, matched, rank, range);
      if (!calls.follows()) return;
      if (least.size() < kMaxPrograms || least.contains(calls.program())) least[calls.program()].Add(trace, calls);
    });
    for_each_step([&](size_t rank, size_t /*step*/, const StepRange& range) {
      calls.Read(trace, matched, rank, range);
      const auto of_program = least.find(calls.program());
      if (of_program == least.end()) return;
      for (const StepCalls::Call& call : calls.calls()) {
        awaited[call.operation] = of_program->second.AwaitedBy(call, calls.queues());
      }
    });
  });
  return awaited;
}

}  // namespace lockstep
