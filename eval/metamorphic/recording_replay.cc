#include "eval/metamorphic/recording_replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/types/span.h"
#include "base/clock.h"
#include "detector/model/operation_instances.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"
#include "eval/scoring/confidence_interval.h"

namespace lockstep {

namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();
constexpr double kWaited = 1.5;  // a Send this much longer than its Recv waited for the receiver

}  // namespace

// How much later everything is, in nanoseconds, found from the first operations on.
class Lateness {
 public:
  Lateness(const RecordingReplay& replay, RecordingReplay::OwnFactor factor)
      : replay_(replay),
        analysis_(replay.analysis_),
        operations_(analysis_.trace->operations),
        factor_(factor),
        start_(operations_.size(), kUnknown),
        end_(operations_.size(), kUnknown),
        ready_(operations_.size(), kUnknown),
        missing_(analysis_.matched.instances.size()),
        latest_end_(replay.by_end_.size()),
        next_(replay.by_start_.size(), 0) {
    for (size_t i = 0; i < missing_.size(); ++i) missing_[i] = analysis_.matched.instances[i].member_count;
  }

  // False when some operations wait for one another in a circle.
  bool Find() {
    for (size_t rank = 0; rank < next_.size(); ++rank) open_.push_back(rank);
    size_t reached = 0;
    while (!open_.empty()) {
      const size_t rank = open_.back();
      open_.pop_back();
      reached += Advance(rank);
    }
    return reached == operations_.size();
  }

  // 0 where nothing is known.
  int64_t StartOf(uint32_t i) const { return start_[i] == kUnknown ? 0 : start_[i]; }
  int64_t EndOf(uint32_t i) const { return end_[i] == kUnknown ? StartOf(i) : end_[i]; }

 private:
  // The rank goes on until it depends on an end that is not known. How many operations it has come further.
  size_t Advance(size_t rank) {
    size_t reached = 0;
    for (size_t& next = next_[rank]; next < replay_.by_start_[rank].size(); ++next) {
      const uint32_t i = replay_.by_start_[rank][next];
      if (!Start(rank, i)) break;
      ++reached;
      Arrive(i);
    }
    return reached;
  }

  bool Start(size_t rank, uint32_t i) {
    const OwnInterval& interval = analysis_.times.before[i];
    int64_t late = 0;
    if (interval.after != kNoOperation) {
      late = interval.after_end ? end_[interval.after] : ready_[interval.after];
      if (late == kUnknown) return WaitFor(interval.after, rank);
      if (!WaitForEndsBefore(interval, rank, &late)) return false;
    }
    if (interval.seconds > 0) {
      const double own_ns = static_cast<double>(interval.seconds) * kNanosPerSecond;
      late += static_cast<int64_t>((factor_(rank, replay_.step_of_[i]) - 1) * own_ns);
    }
    ready_[i] = late;
    const uint32_t queued = replay_.queued_behind_[i];
    if (queued != kNoOperation && operations_[queued].finished()) {
      const int64_t free_ns = operations_[i].start_ns - operations_[queued].end_ns;
      // What began before the other had ended was issued together with it.
      if (free_ns >= 0 && end_[queued] == kUnknown) return WaitFor(queued, rank);
      if (free_ns >= 0) late = std::max(late, end_[queued] - free_ns);
    }
    start_[i] = late;
    return true;
  }

  // The work of `interval` began at one end, and needs what all ends before it gave.
  bool WaitForEndsBefore(const OwnInterval& interval, size_t rank, int64_t* late) {
    const TraceOperation& after = operations_[interval.after];
    const int64_t begin_ns = interval.after_end ? after.end_ns : after.start_ns;
    const std::vector<uint32_t>& by_end = replay_.by_end_[rank];
    std::vector<int64_t>& latest = latest_end_[rank];
    size_t ended = latest.size();
    for (; ended < by_end.size() && operations_[by_end[ended]].end_ns <= begin_ns; ++ended) {
      const uint32_t i = by_end[ended];
      if (end_[i] == kUnknown) return WaitFor(i, rank);
      const int64_t end_ns = operations_[i].end_ns + end_[i];
      latest.push_back(latest.empty() ? end_ns : std::max(latest.back(), end_ns));
    }
    while (ended > 0 && operations_[by_end[ended - 1]].end_ns > begin_ns) --ended;
    if (ended > 0) *late = std::max(*late, latest[ended - 1] - begin_ns);
    return true;
  }

  bool WaitFor(uint32_t operation, size_t rank) {
    waiting_[operation].push_back(rank);
    return false;
  }

  void Arrive(uint32_t i) {
    const uint32_t instance = analysis_.matched.instance_of[i];
    if (instance == kNoInstance || !operations_[i].finished()) {
      End(i, start_[i]);
      if (instance == kNoInstance) return;
    }
    if (--missing_[instance] > 0) return;
    const absl::Span<const uint32_t> members = analysis_.matched.MembersOf(analysis_.matched.instances[instance]);
    const int64_t late = LatenessOf(members);
    for (const uint32_t member : members) {
      if (!operations_[member].finished()) continue;
      End(member, IsEager(member, members) ? start_[member] : late);
    }
  }

  // Of the end that all members share: the last one to arrive decides. Who waited longest came first.
  int64_t LatenessOf(absl::Span<const uint32_t> members) const {
    int64_t shortest_ns = std::numeric_limits<int64_t>::max();
    for (const uint32_t member : members) {
      if (operations_[member].finished()) shortest_ns = std::min(shortest_ns, operations_[member].duration_ns());
    }
    int64_t late = kUnknown;
    for (const uint32_t member : members) {
      const TraceOperation& operation = operations_[member];
      if (!operation.finished()) continue;
      const int64_t waited_ns = IsEager(member, members) ? 0 : operation.duration_ns() - shortest_ns;
      late = std::max(late, start_[member] - waited_ns);
    }
    return late == kUnknown ? 0 : late;
  }

  bool IsEager(uint32_t member, absl::Span<const uint32_t> members) const {
    if (operations_[member].kind != OperationKind::kSend || members.size() != 2) return false;
    const uint32_t other = members[0] == member ? members[1] : members[0];
    if (!operations_[other].finished()) return true;
    const auto own = static_cast<double>(operations_[member].duration_ns());
    return own <= kWaited * static_cast<double>(operations_[other].duration_ns());
  }

  void End(uint32_t i, int64_t late) {
    end_[i] = late;
    const auto waiting = waiting_.find(i);
    if (waiting == waiting_.end()) return;
    open_.insert(open_.end(), waiting->second.begin(), waiting->second.end());
    waiting_.erase(waiting);
  }

  const RecordingReplay& replay_;
  const TraceAnalysis& analysis_;
  const std::vector<TraceOperation>& operations_;
  RecordingReplay::OwnFactor factor_;
  std::vector<int64_t> start_;                    // by operation
  std::vector<int64_t> end_;                      // the same
  std::vector<int64_t> ready_;                    // the same: when it would have begun with nothing before it in line
  std::vector<uint32_t> missing_;                 // by instance: members that have not arrived
  std::vector<std::vector<int64_t>> latest_end_;  // by rank: now, of by_end so far
  std::vector<size_t> next_;                      // by rank: position in by_start
  std::vector<size_t> open_;                      // ranks that may go on
  std::map<uint32_t, std::vector<size_t>> waiting_;  // ranks, by the operation whose end they wait for
};

namespace {

void Move(int64_t late, int64_t* time_ns) {
  if (*time_ns != kNoTime) *time_ns += late;
}

// A host issues its calls one after the other: each before those that it issued later.
void KeepOrderOfCalls(absl::Span<const TraceOperation> recorded, TraceOperation* moved) {
  for (size_t i = recorded.size(); i > 1; --i) {
    const bool at_once = recorded[i - 2].enqueue_ns == recorded[i - 1].enqueue_ns;
    moved[i - 2].enqueue_ns = std::min(moved[i - 2].enqueue_ns, moved[i - 1].enqueue_ns - (at_once ? 0 : 1));
  }
}

Trace Moved(const Trace& trace, const Lateness& lateness) {
  Trace moved = trace;
  std::vector<int64_t> latest(trace.hosts.size(), 0);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      const auto number = static_cast<uint32_t>(i);
      TraceOperation& operation = moved.operations[i];
      Move(lateness.StartOf(number), &operation.enqueue_ns);
      Move(lateness.StartOf(number), &operation.start_ns);
      Move(lateness.EndOf(number), &operation.end_ns);
      if (trace.ranks[rank].host < 0) continue;
      int64_t& of_host = latest[static_cast<size_t>(trace.ranks[rank].host)];
      of_host = std::max(of_host, lateness.EndOf(number));
    }
    KeepOrderOfCalls(trace.OperationsOf(rank), moved.operations.data() + trace.first_operation[rank]);
  }
  for (TraceRank& rank : moved.ranks) {
    if (rank.host >= 0) Move(latest[static_cast<size_t>(rank.host)], &rank.last_seen_ns);
  }
  return moved;
}

// How much later each step ends than it did, less what the one before does: of the middle rank.
std::vector<double> LongerSeconds(const StepTable& steps, const Lateness& lateness) {
  std::vector<double> longer(static_cast<size_t>(steps.steps), 0);
  double before = 0;
  for (int32_t step = 0; step < steps.steps; ++step) {
    std::vector<double> late;
    for (size_t rank = 0; rank < steps.ranks; ++rank) {
      const StepRange& range = steps.Of(rank, step);
      if (range.complete && !range.empty()) late.push_back(static_cast<double>(lateness.EndOf(range.end - 1)));
    }
    if (late.empty()) continue;
    const double now = Percentile(std::move(late), 0.5) / kNanosPerSecond;
    longer[static_cast<size_t>(step)] = now - before;
    before = now;
  }
  return longer;
}

}  // namespace

RecordingReplay::RecordingReplay(const Trace& trace) : analysis_(AnalyseTrace(trace, /*flip_lateness=*/false)) {
  step_of_.assign(trace.operations.size(), -1);
  queued_behind_.assign(trace.operations.size(), kNoOperation);
  by_start_.resize(trace.ranks.size());
  by_end_.resize(trace.ranks.size());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    NumberSteps(rank);
    OrderOperations(rank);
    FindAwaitedEnds(rank);
  }
}

void RecordingReplay::NumberSteps(size_t rank) {
  const Trace& trace = *analysis_.trace;
  size_t behind = trace.first_operation[rank + 1];
  for (int32_t step = 0; step < analysis_.steps.steps; ++step) {
    const StepRange& range = analysis_.steps.Of(rank, step);
    for (uint32_t i = range.begin; i < range.end; ++i) step_of_[i] = step;
    if (!range.empty()) behind = range.end;
  }
  for (size_t i = behind; i < trace.first_operation[rank + 1]; ++i) step_of_[i] = analysis_.steps.steps;
}

void RecordingReplay::OrderOperations(size_t rank) {
  const Trace& trace = *analysis_.trace;
  std::vector<uint32_t>& order = by_start_[rank];
  for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
    order.push_back(static_cast<uint32_t>(i));
  }
  const auto begin_of = [&trace](uint32_t i) {
    const TraceOperation& operation = trace.operations[i];
    return operation.started() ? operation.start_ns : std::numeric_limits<int64_t>::max();
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return begin_of(a) < begin_of(b); });
  std::map<int32_t, uint32_t> latest;  // by communicator
  for (const uint32_t i : order) {
    const auto [before, first] = latest.try_emplace(trace.operations[i].communicator, i);
    if (first) continue;
    queued_behind_[i] = before->second;
    before->second = i;
  }
}

// Those that other work went on from. What stood in line behind it tells nothing about the work.
void RecordingReplay::FindAwaitedEnds(size_t rank) {
  const Trace& trace = *analysis_.trace;
  std::vector<uint32_t>& ends = by_end_[rank];
  for (const uint32_t i : by_start_[rank]) {
    const OwnInterval& interval = analysis_.times.before[i];
    if (interval.after == kNoOperation || !interval.after_end) continue;
    const bool in_line = trace.operations[interval.after].communicator == trace.operations[i].communicator;
    if (!in_line || interval.seconds > 0) ends.push_back(interval.after);
  }
  std::sort(ends.begin(), ends.end(), [&trace](uint32_t a, uint32_t b) {
    return std::make_pair(trace.operations[a].end_ns, a) < std::make_pair(trace.operations[b].end_ns, b);
  });
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

PlayedRecording RecordingReplay::Play(OwnFactor factor) const {
  PlayedRecording played;
  Lateness lateness(*this, factor);
  played.complete = lateness.Find();
  played.trace = Moved(*analysis_.trace, lateness);
  played.longer_seconds = LongerSeconds(analysis_.steps, lateness);
  return played;
}

}  // namespace lockstep
