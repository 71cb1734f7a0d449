#include "detector/steps/own_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/called_moments.h"

namespace lockstep {
namespace {

// Of the operations of a kind: fewer that others begin during are accidents, since recorders err by microseconds and a
// short operation that begins late is soon over. Chosen on tuning seeds: 11 of 48,384 once passed for overlap, the end
// of tensor operations counted for nothing, and who waited there seemed to work.
constexpr double kMinBeside = 0.05;
// A budget of time: 64 steps tell a regularity to an eighth.
constexpr size_t kMaxSampledClasses = 32;
constexpr int32_t kSampledSteps = 64;
constexpr double kMinGain = 0.05;  // of regularity, that makes a dependency
// Gaps in the sequence numbers over records: as coverage.h, beyond which no job is judged.
constexpr double kMaxLost = 0.2;
// Steps: of fewer a deviation is no measure.
constexpr size_t kMinSamples = 4;
// Of the ranks: some take longer than others, by less than a quarter of a lane's.
constexpr size_t kPartsPerLane = 4;
// Calls behind one whose own time changes, that may gain what it loses. By judgement, not measured.
constexpr size_t kFollowers = 2;

using KindPairs = std::set<std::pair<size_t, size_t>>;
// By kind, ends of its operations. In no order; a rank has some ten kinds.
using EndsByKind = std::vector<std::pair<size_t, CalledMoments>>;

// The operations of one rank in order of their starts, swept once.
class Sweep {
 public:
  struct Counts {
    uint64_t ended = 0;
    uint64_t beside = 0;
  };

  // With `began_during`, kinds of operations that ran and kinds that began meanwhile are added to it.
  Sweep(const Trace& trace, const JobRoles& roles, const WorkOrder& order, const AwaitedRecvs& awaited,
        KindPairs* began_during = nullptr)
      : trace_(trace),
        roles_(roles),
        work_order_(order),
        awaited_(awaited),
        began_during_(began_during),
        counts_(order.awaited.size()) {}

  // By KindOf: how many operations ended, and how many of them ran beside the work.
  const std::vector<Counts>& counts() const { return counts_; }

  // Fills before[0 ...] for operations [begin, end).
  void Run(size_t begin, size_t end, OwnInterval* before) {
    begin_ = begin;
    before_ = before;
    for_all_.Clear();
    ends_apart_.clear();
    ends_beside_.clear();
    in_flight_.clear();
    OrderByStart(trace_, begin, end, &order_);
    for (const auto& [start_ns, i] : order_) Start(i);
  }

 private:
  struct InFlight {
    uint32_t operation;
    uint32_t kind;
    bool beside;  // others began while it ran
  };

  void Start(uint32_t i) {
    const TraceOperation& operation = trace_.operations[i];
    EndUntil(operation);
    const size_t kind = KindOf(roles_, operation);
    const WorkMoment from = WentOnBefore(i, kind);
    OwnInterval& interval = before_[i - begin_];
    if (from.operation != kNoOperation) {
      interval.after = from.operation;
      interval.after_end = from.is_end;
      interval.seconds = static_cast<float>(ToSeconds(std::max<int64_t>(0, operation.start_ns - from.at_ns)));
      if (operation.kind == OperationKind::kAllToAll) NoteRouted(i);
    }
    for (InFlight& other : in_flight_) {
      const TraceOperation& running = trace_.operations[other.operation];
      if (StartedTogether(running, operation)) continue;
      other.beside = true;
      if (began_during_ != nullptr) began_during_->emplace(other.kind, kind);
    }
    if (!StoodInLine(operation)) Note({operation.start_ns, i, false}, &for_all_);
    in_flight_.push_back({i, static_cast<uint32_t>(kind), false});
  }

  void Note(const WorkMoment& moment, CalledMoments* moments) const {
    moments->Note(moment, trace_.operations[moment.operation].enqueue_ns);
  }

  // Before AllToAll `i`, in its own interval or in that of what began together with it.
  void NoteRouted(uint32_t i) {
    uint32_t holder = i;
    const auto interval_of = [this](uint32_t operation) -> OwnInterval& { return before_[operation - begin_]; };
    while (!interval_of(holder).after_end) {
      const uint32_t earlier = interval_of(holder).after;
      if (earlier < begin_ || earlier == kNoOperation || IsAllToAll(earlier)) return;
      if (!StartedTogether(trace_.operations[earlier], trace_.operations[i])) return;
      holder = earlier;
    }
    if (IsAllToAll(interval_of(holder).after)) interval_of(holder).routed = true;
  }

  bool IsAllToAll(uint32_t i) const { return trace_.operations[i].kind == OperationKind::kAllToAll; }

  WorkMoment WentOnBefore(uint32_t i, size_t kind) const {
    const TraceOperation& operation = trace_.operations[i];
    const uint32_t recv = awaited_.empty() ? kUntold : awaited_[i];
    WorkMoment from = for_all_.LatestOf(operation.enqueue_ns);
    for (const auto& [earlier, ends] : ends_apart_) {
      const bool is_told = recv != kUntold && IsRecv(earlier);
      if (is_told && !IsRecv(kind)) continue;
      const WorkMoment end = ends.LatestOf(operation.enqueue_ns);
      if (StoodBehindEnd(end, operation)) {
        GoOn(EndBefore(end.operation, operation), &from);
      } else if (end.operation != kNoOperation && !is_told && !work_order_.Apart(earlier, kind)) {
        GoOn(end, &from);
      }
    }
    for (const auto& [earlier, ends] : ends_beside_) {
      const bool is_told = recv != kUntold && IsRecv(earlier) && !IsRecv(kind);
      const WorkMoment end = ends.LatestOf(operation.enqueue_ns);
      if (!is_told && StoodBehindEnd(end, operation)) GoOn(EndBefore(end.operation, operation), &from);
    }
    if (recv < kUntold) GoOn(EndBefore(recv, operation), &from);
    return from;
  }

  // By its record: what counted as ended by an earlier start may have gone on for a while.
  WorkMoment EndBefore(uint32_t ended, const TraceOperation& operation) const {
    return {std::min(trace_.operations[ended].end_ns, operation.start_ns), ended, true};
  }

  static CalledMoments* OfKind(size_t kind, EndsByKind* ends) {
    const auto known =
        std::find_if(ends->begin(), ends->end(), [kind](const auto& entry) { return entry.first == kind; });
    return known != ends->end() ? &known->second : &ends->emplace_back(kind, CalledMoments()).second;
  }

  static bool IsRecv(size_t kind) { return kind % kOperationKinds == static_cast<size_t>(OperationKind::kRecv); }

  bool StoodBehindEnd(const WorkMoment& end, const TraceOperation& operation) const {
    return end.operation != kNoOperation && StoodBehind(trace_.operations[end.operation], operation);
  }

  bool StoodInLine(const TraceOperation& operation) const {
    const auto stood_behind = [&](const EndsByKind::value_type& entry) {
      return StoodBehindEnd(entry.second.LatestOf(operation.enqueue_ns), operation);
    };
    return std::any_of(ends_apart_.begin(), ends_apart_.end(), stood_behind) ||
           std::any_of(ends_beside_.begin(), ends_beside_.end(), stood_behind);
  }

  // Send/Recv that are issued as one group, and what two streams begin when one piece of work is done: nothing was done
  // between the two starts.
  static bool StartedTogether(const TraceOperation& a, const TraceOperation& b) {
    return a.finished() && b.start_ns - a.start_ns <= a.duration_ns() / kEndTolerance;
  }

  void EndUntil(const TraceOperation& next) {
    for (size_t k = 0; k < in_flight_.size();) {
      const TraceOperation& operation = trace_.operations[in_flight_[k].operation];
      if (!HasEndedBy(operation, next.start_ns)) {
        ++k;
        continue;
      }
      End(in_flight_[k], std::min(operation.end_ns, next.start_ns));
      in_flight_[k] = in_flight_.back();
      in_flight_.pop_back();
    }
  }

  void End(const InFlight& ended, int64_t at_ns) {
    const size_t kind = ended.kind;
    ++counts_[kind].ended;
    counts_[kind].beside += ended.beside;
    const WorkMoment end{at_ns, ended.operation, true};
    if (ended.beside && work_order_.awaited[kind] == 0) return Note(end, OfKind(kind, &ends_beside_));
    const bool is_told = !awaited_.empty() && IsRecv(kind);
    if (work_order_.apart[kind].empty() && !is_told) return Note(end, &for_all_);
    Note(end, OfKind(kind, &ends_apart_));
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const WorkOrder& work_order_;
  const AwaitedRecvs& awaited_;
  KindPairs* const began_during_;
  size_t begin_ = 0;
  OwnInterval* before_ = nullptr;
  CalledMoments for_all_;  // whatever comes next and was called no earlier
  // Of kinds whose ends count for some only, and of Recvs where these are told.
  EndsByKind ends_apart_;
  EndsByKind ends_beside_;  // of what counts for nothing else than what stood in line behind it
  std::vector<InFlight> in_flight_;
  std::vector<std::pair<int64_t, uint32_t>> order_;  // start, operation
  std::vector<Counts> counts_;
};

// Decides which kinds of operations that run beside the work are awaited by it, and by which kinds they are not.
class DependencyLearner {
 public:
  DependencyLearner(const Trace& trace, const JobRoles& roles, const PeersByWaiting& peers, const StepTable& steps,
                    const AwaitedRecvs& awaited, const std::vector<char>& without_begins)
      : trace_(trace), roles_(roles), peers_(peers), steps_(steps), awaited_(awaited), without_begins_(without_begins) {
    const size_t kinds = static_cast<size_t>(roles.families) * kOperationKinds;
    order_.awaited.assign(kinds, 0);
    order_.apart.resize(kinds);
  }

  WorkOrder Run() {
    ChooseSamples();
    KindPairs began_during;
    Measure(&began_during);
    const std::vector<Sweep::Counts> counts = counts_;
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      order_.awaited[kind] = counts[kind].beside * 2 < counts[kind].ended;
    }
    best_ = Measure();
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      if (counts[kind].beside == 0) continue;
      order_.awaited[kind] ^= 1;
      if (!Adopt()) order_.awaited[kind] ^= 1;
    }
    for (auto pair = began_during.begin(); pair != began_during.end();) {
      const size_t kind = pair->first;
      if (static_cast<double>(counts[kind].beside) < kMinBeside * static_cast<double>(counts[kind].ended)) {
        pair = began_during.upper_bound({kind, order_.apart.size()});
        continue;
      }
      std::vector<char>& apart = order_.apart[kind];
      apart.assign(order_.apart.size(), 0);
      // Those that usually run alone, on whatever rank, are awaited by the next of their kind.
      apart[kind] = mostly_beside_[kind];
      for (; pair != began_during.end() && pair->first == kind; ++pair) apart[pair->second] = 1;
      // Whatever else comes after it, and what stood in line, may well have waited.
      const char awaited = std::exchange(order_.awaited[kind], 1);
      // That they began during it says that they do not wait for it. Where it makes no difference to the sampled ranks
      // nothing speaks against that, and it may for those that come late.
      if (Adopt(/*without_difference=*/true)) continue;
      apart.clear();
      order_.awaited[kind] = awaited;
    }
    return std::move(order_);
  }

 private:
  // Steps with equal numbers of calls, of ranks of one class.
  struct Sample {
    size_t calls = 0;
    size_t overfull = 0;     // steps with more own time than there is between their calls
    std::vector<float> own;  // by step, then call; 0 = unknown

    size_t steps() const { return own.size() / calls; }
  };

  void ChooseSamples() {
    const size_t stride = std::max<size_t>(1, peers_.size() / kMaxSampledClasses);
    for (size_t number = 0; number < peers_.size(); number += stride) {
      sampled_.push_back(SamplePeers(peers_[number], without_begins_));
    }
  }

  // Whether own times are more regular with the order as it is now than with the best so far.
  bool Adopt(bool without_difference = false) {
    std::vector<Sample> changed = Measure();
    double with = 0, without = 0;
    bool differs = false;
    for (size_t i = 0; i < best_.size(); ++i) {
      const std::vector<size_t> places = ChangedPlaces(best_[i], changed[i]);
      if (places.empty()) continue;
      if (IsOverfull(changed[i], best_[i])) return false;
      differs = true;
      with += Deviation(changed[i], places);
      without += Deviation(best_[i], places);
    }
    if (!differs) return without_difference;
    if (with >= (1 - kMinGain) * without) return false;
    best_ = std::move(changed);
    return true;
  }

  // And those right behind them, which the time may go to.
  static std::vector<size_t> ChangedPlaces(const Sample& a, const Sample& b) {
    std::vector<char> changed(a.calls + kFollowers, 0);
    for (size_t at = 0; at < a.own.size(); ++at) {
      if (a.own[at] != b.own[at]) std::fill_n(changed.begin() + static_cast<int64_t>(at % a.calls), kFollowers + 1, 1);
    }
    std::vector<size_t> places;
    for (size_t call = 0; call < a.calls; ++call) {
      if (changed[call] != 0) places.push_back(call);
    }
    return places;
  }

  // Mean deviation from the median, over steps and peers, of the own times at these places together: what one place
  // gains because another loses it changes nothing. The mean, so that the few steps in which something is late count.
  static double Deviation(const Sample& sample, const std::vector<size_t>& places) {
    if (sample.steps() < kMinSamples) return 0;
    std::vector<double> sums;
    for (size_t step = 0; step < sample.steps(); ++step) {
      double& sum = sums.emplace_back(0);
      for (const size_t place : places) sum += static_cast<double>(sample.own[step * sample.calls + place]);
    }
    const double center = MedianInPlace(&sums);
    double deviation = 0;
    for (const double sum : sums) deviation += std::abs(sum - center);
    return deviation / static_cast<double>(sums.size());
  }

  // A rank cannot work for longer than the step lasts: such an order counts something twice, however regular it is.
  static bool IsOverfull(const Sample& changed, const Sample& before) {
    return changed.overfull > before.overfull &&
           static_cast<double>(changed.overfull) > kMainPart * static_cast<double>(changed.steps());
  }

  std::vector<Sample> Measure(KindPairs* began_during = nullptr) {
    std::vector<Sample> samples;
    Sweep sweep(trace_, roles_, order_, awaited_, began_during);
    for (const std::vector<size_t>& peers : sampled_) {
      std::map<size_t, Sample> by_calls;
      for (const size_t rank : peers) {
        const std::vector<Sweep::Counts> before = sweep.counts();
        Collect(rank, &sweep, &by_calls);
        NoteMostlyBeside(before, sweep.counts());
      }
      for (auto& [calls, sample] : by_calls) samples.push_back(std::move(sample));
    }
    counts_ = sweep.counts();
    return samples;
  }

  // By kind, of one rank: a rank that comes late has all of them run alone.
  void NoteMostlyBeside(const std::vector<Sweep::Counts>& before, const std::vector<Sweep::Counts>& after) {
    mostly_beside_.resize(after.size(), 0);
    for (size_t kind = 0; kind < after.size(); ++kind) {
      const uint64_t ended = after[kind].ended - before[kind].ended;
      if (ended > 0 && 2 * (after[kind].beside - before[kind].beside) >= ended) mostly_beside_[kind] = 1;
    }
  }

  // From the first begin to the last.
  double SpanSeconds(const StepRange& range) const {
    int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = std::numeric_limits<int64_t>::min();
    for (uint32_t i = range.begin; i < range.end; ++i) {
      if (!trace_.operations[i].started()) continue;
      first_ns = std::min(first_ns, trace_.operations[i].start_ns);
      last_ns = std::max(last_ns, trace_.operations[i].start_ns);
    }
    return last_ns < first_ns ? 0 : ToSeconds(last_ns - first_ns);
  }

  void Collect(size_t rank, Sweep* sweep, std::map<size_t, Sample>* by_calls) {
    const int32_t last = std::min(steps_.steps, kSampledSteps);
    for (int32_t step = 0; step < last; ++step) {
      const StepRange& range = steps_.Of(rank, step);
      if (!range.complete || range.empty() || steps_.usual[static_cast<size_t>(step)] == 0) continue;
      before_.assign(range.end - range.begin, {});
      sweep->Run(range.begin, range.end, before_.data());
      Sample& sample = (*by_calls)[before_.size()];
      sample.calls = before_.size();
      double sum = 0;
      for (const OwnInterval& interval : before_) {
        sample.own.push_back(std::max(0.0F, interval.seconds));
        sum += static_cast<double>(sample.own.back());
      }
      sample.overfull += sum > SpanSeconds(range) ? 1 : 0;
    }
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const PeersByWaiting& peers_;
  const StepTable& steps_;
  const AwaitedRecvs& awaited_;
  const std::vector<char>& without_begins_;
  WorkOrder order_;
  std::vector<std::vector<size_t>> sampled_;  // ranks, by class
  std::vector<Sample> best_;
  std::vector<OwnInterval> before_;
  std::vector<Sweep::Counts> counts_;  // of the latest sweep
  std::vector<char> mostly_beside_;    // by kind: on some rank, others began during half of them
};

// Where a record is missing, the time inside the lost operation looks like own time. It lies between two neighbours in
// its channel; the longest interval in between is the one that most likely holds it, and becomes unknown.
void ForgetLongest(const SequenceHole& hole, std::vector<OwnInterval>* before) {
  uint32_t longest = hole.after;
  for (uint32_t i = hole.before + 1; i <= hole.after; ++i) {
    if ((*before)[i].seconds > (*before)[longest].seconds) longest = i;
  }
  (*before)[longest].seconds = -1;
}

void ForgetLost(absl::Span<const SequenceHole> holes, size_t operations, std::vector<OwnInterval>* before) {
  // A recorder that keeps every n-th operation loses nothing by accident.
  if (static_cast<double>(holes.size()) > kMaxLost * static_cast<double>(operations)) return;
  for (const SequenceHole& hole : holes) ForgetLongest(hole, before);
}

}  // namespace

OwnTimes MeasureOwnTimes(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                         const PeersByWaiting& peers, const StepTable& steps, const AwaitedRecvs& awaited,
                         const std::vector<char>& without_begins, Executor* executor) {
  OwnTimes times;
  times.order = DependencyLearner(trace, roles, peers, steps, awaited, without_begins).Run();
  times.before.assign(trace.operations.size(), {});
  const size_t ranks = trace.ranks.size();
  RunParts(executor, ranks, PartsOf(executor, ranks, kPartsPerLane), [&](size_t, size_t first_rank, size_t last_rank) {
    Sweep sweep(trace, roles, times.order, awaited);
    for (size_t rank = first_rank; rank < last_rank; ++rank) {
      const size_t begin = trace.first_operation[rank], end = trace.first_operation[rank + 1];
      sweep.Run(begin, end, times.before.data() + begin);
      ForgetLost(matched.HolesOf(rank), end - begin, &times.before);
    }
  });
  return times;
}

}  // namespace lockstep
