#include "detector/steps/awaited_ends.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/called_moments.h"
#include "detector/steps/kinds_of_calls.h"
#include "detector/steps/work_moment.h"

namespace lockstep {
namespace {

// As own_time.cc: accidents, a budget of time, and few samples.
constexpr double kAccidents = 0.05;
constexpr int32_t kSampledSteps = 64;
constexpr size_t kMinSamples = 4;
constexpr size_t kPartsPerLane = 4;
// Budget of time and width of a mask; jobs have some ten.
constexpr size_t kMaxKinds = 32;
using KindMask = uint32_t;

// The kinds of operations that occur, numbered from 0. Recvs have causes of their own (awaited_recvs.h), and nobody
// waits for a Send.
class Kinds {
 public:
  static constexpr uint32_t kNone = kMaxKinds;

  Kinds(const Trace& trace, const JobRoles& roles)
      : roles_(roles), number_(static_cast<size_t>(roles.families) * kOperationKinds, kNone) {
    std::vector<char> occurs(number_.size(), 0);
    for (const TraceOperation& operation : trace.operations) occurs[KindOf(roles, operation)] = 1;
    for (size_t kind = 0; kind < occurs.size() && count_ < kMaxKinds; ++kind) {
      if (occurs[kind] == 0) continue;
      const bool one_sided = IsSendOrRecv(static_cast<OperationKind>(kind % kOperationKinds));
      if (!one_sided) of_groups_ |= KindMask{1} << count_;
      number_[kind] = count_++;
    }
  }

  uint32_t count() const { return count_; }
  // kNone = of none.
  uint32_t Of(const TraceOperation& operation) const { return number_[KindOf(roles_, operation)]; }

  bool HasOneSided() const { return std::popcount(of_groups_) < static_cast<int>(count_); }
  bool IsOfGroup(uint32_t kind) const { return (of_groups_ >> kind & 1) != 0; }

  // Those of groups whose ends count for whatever comes next.
  KindMask Awaited(const WorkOrder& order) const {
    KindMask mask = 0;
    for (size_t kind = 0; kind < number_.size(); ++kind) {
      const bool counts = number_[kind] != kNone && order.awaited[kind] != 0 && order.apart[kind].empty();
      if (counts) mask |= KindMask{1} << number_[kind];
    }
    return mask & of_groups_;
  }

 private:
  const JobRoles& roles_;
  std::vector<uint32_t> number_;
  KindMask of_groups_ = 0;
  uint32_t count_ = 0;
};

// Of a call: for the latest end of which kinds it waits, and which it goes on beside. In neither: nothing tells.
struct Waits {
  KindMask for_end = 0;
  KindMask goes_on = 0;

  bool tells() const { return (for_end | goes_on) != 0; }
};

// What calls of a class have in common: by number of their kind, then which of that kind in the step.
using Calls = std::vector<std::vector<Waits>>;

double Since(const WorkMoment& moment, const TraceOperation& operation) {
  return ToSeconds(std::max<int64_t>(0, operation.start_ns - moment.at_ns));
}

// The operations of one rank in order of their starts, each with what was known when it began of others that the host
// had called before: a GPU never waits for what it is given later.
class Row {
 public:
  Row(const Trace& trace, const Kinds& kinds) : trace_(trace), kinds_(kinds) {}

  // Calls visit(operation) for each that began.
  template <typename Visit>
  void ForEach(size_t rank, const Visit& visit) {
    OrderByStart(trace_, trace_.first_operation[rank], trace_.first_operation[rank + 1], &order_);
    ends_.resize(kinds_.count());
    for (CalledMoments& ends : ends_) ends.Clear();
    starts_.Clear();
    for (const auto& [start_ns, i] : order_) {
      visit(i);
      Note(i);
    }
  }

  // Of what began before the visited operation and was called no later: the latest end, of a kind; operation
  // kNoOperation = there was none.
  WorkMoment EndOf(uint32_t kind, const TraceOperation& at) const { return ends_[kind].LatestOf(at.enqueue_ns); }
  // What ends last has not ended yet.
  bool Runs(const WorkMoment& end, const TraceOperation& at) const {
    return !HasEndedBy(trace_.operations[end.operation], at.start_ns);
  }
  bool HasEnded(const WorkMoment& end, const TraceOperation& at) const {
    return end.operation != kNoOperation && !Runs(end, at);
  }
  // The latest start, or end of one of these kinds.
  WorkMoment LatestOf(KindMask kinds, const TraceOperation& at) const {
    WorkMoment moment = starts_.LatestOf(at.enqueue_ns);
    for (uint32_t kind = 0; kind < ends_.size(); ++kind) {
      if ((kinds >> kind & 1) == 0) continue;
      const WorkMoment end = EndOf(kind, at);
      if (end.at_ns > moment.at_ns && HasEnded(end, at)) moment = end;
    }
    return moment;
  }

 private:
  void Note(uint32_t i) {
    const TraceOperation& operation = trace_.operations[i];
    const uint32_t kind = kinds_.Of(operation);
    // What began as the one before it in its communicator ended stood in line: its start is no sign of the work.
    if (kind == Kinds::kNone || !StoodInLine(EndOf(kind, operation).operation, operation)) {
      starts_.Note({operation.start_ns, i, false}, operation.enqueue_ns);
    }
    if (kind == Kinds::kNone) return;
    // What has no end runs until the next one has ended.
    ends_[kind].Note({operation.finished() ? operation.end_ns : operation.start_ns, i, true}, operation.enqueue_ns);
  }

  bool StoodInLine(uint32_t earlier, const TraceOperation& operation) const {
    if (earlier == kNoOperation || !trace_.operations[earlier].finished()) return false;
    return StoodBehind(trace_.operations[earlier], operation);
  }

  const Trace& trace_;
  const Kinds& kinds_;
  std::vector<std::pair<int64_t, uint32_t>> order_;
  std::vector<CalledMoments> ends_;  // by kind
  CalledMoments starts_;
};

class Learner {
 public:
  Learner(const Trace& trace, const JobRoles& roles, const StepTable& steps, const OwnTimes& times, const Kinds& kinds)
      : trace_(trace), roles_(roles), steps_(steps), times_(times), kinds_(kinds), row_(trace, kinds) {}

  Calls Learn(const std::vector<size_t>& peers) {
    seen_.resize(kinds_.count());
    for (const size_t rank : peers) Collect(rank);
    Calls calls(kinds_.count());
    for (uint32_t kind = 0; kind < kinds_.count(); ++kind) {
      const size_t places = seen_[kind].size() / kinds_.count();
      calls[kind].resize(places);
      for (size_t at = 0; at < seen_[kind].size(); ++at) {
        const Seen& seen = seen_[kind][at];
        Waits& waits = calls[kind][at / kinds_.count()];
        const KindMask other = KindMask{1} << at % kinds_.count();
        if (seen.samples < kMinSamples) continue;
        if (static_cast<double>(seen.ran) > kAccidents * static_cast<double>(seen.samples)) {
          waits.goes_on |= other;
        } else if (IsWait(seen)) {
          waits.for_end |= other;
        }
      }
    }
    return calls;
  }

 private:
  // Of a call and a kind.
  struct Seen {
    size_t samples = 0;
    size_t ran = 0;                        // times that such an operation ran when the call began
    double taken = 0;                      // seconds that are less if the call waits for the end
    std::vector<double> from_end, others;  // seconds before it: counted from an end that is later, and the rest
  };

  void Collect(size_t rank) {
    const auto tells = [&](int32_t step) {
      return step > 0 && step < kSampledSteps && steps_.usual[static_cast<size_t>(step)] != 0 &&
             steps_.Of(rank, step - 1).complete;
    };
    const std::vector<uint32_t> place_of = PlacesOfCalls(trace_, roles_, steps_, rank, tells);
    row_.ForEach(rank, [&](uint32_t i) {
      const uint32_t place = place_of[i - trace_.first_operation[rank]];
      const uint32_t kind = kinds_.Of(trace_.operations[i]);
      if (place == kNoPlace || kind == Kinds::kNone || times_.before[i].seconds < 0) return;
      std::vector<Seen>& of_kind = seen_[kind];
      const size_t first = size_t{place} * kinds_.count();
      if (of_kind.size() < first + kinds_.count()) of_kind.resize(first + kinds_.count());
      for (uint32_t other = 0; other < kinds_.count(); ++other) {
        if (other == kind || !kinds_.IsOfGroup(other)) continue;
        const WorkMoment end = row_.EndOf(other, trace_.operations[i]);
        if (end.operation != kNoOperation) See(i, end, &of_kind[first + other]);
      }
    });
  }

  void See(uint32_t i, const WorkMoment& end, Seen* seen) const {
    const TraceOperation& operation = trace_.operations[i];
    const auto measured = static_cast<double>(times_.before[i].seconds);
    ++seen->samples;
    if (row_.Runs(end, operation)) {
      ++seen->ran;
      return;
    }
    const double since_end = Since(end, operation);
    seen->taken += std::max(0.0, measured - since_end);
    if (since_end < measured) {
      seen->from_end.push_back(since_end);
    } else {
      seen->others.push_back(measured);
    }
  }

  // What is left varies by a minor part of what is taken off: the same work, behind ends that come at any time.
  static bool IsWait(const Seen& seen) {
    if (seen.from_end.empty()) return false;
    std::vector<double> all = seen.from_end;
    all.insert(all.end(), seen.others.begin(), seen.others.end());
    const double center = MedianInPlace(&all);
    double left = 0;
    for (const double seconds : seen.from_end) left += std::abs(seconds - center);
    return left < kMinorPart * seen.taken;
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  const OwnTimes& times_;
  const Kinds& kinds_;
  Row row_;
  std::vector<std::vector<Seen>> seen_;  // by kind of the call, then its place and the other kind
};

// Counts the own times of ranks again where places tell more than kinds.
class Recount {
 public:
  Recount(const Trace& trace, const JobRoles& roles, const StepTable& steps, const Kinds& kinds, OwnTimes* times)
      : trace_(trace),
        roles_(roles),
        steps_(steps),
        kinds_(kinds),
        receives_(kinds.HasOneSided()),
        awaited_(kinds.Awaited(times->order)),
        times_(*times),
        row_(trace, kinds) {}

  void Run(size_t rank, const Calls& calls) {
    const std::vector<uint32_t> place_of = PlacesOfCalls(trace_, roles_, steps_, rank, [](int32_t) { return true; });
    row_.ForEach(rank, [&](uint32_t i) {
      const uint32_t place = place_of[i - trace_.first_operation[rank]];
      const uint32_t kind = kinds_.Of(trace_.operations[i]);
      if (place == kNoPlace || kind == Kinds::kNone || place >= calls[kind].size()) return;
      if (calls[kind][place].tells() && times_.before[i].seconds >= 0) CountAgain(i, calls[kind][place]);
    });
  }

 private:
  void CountAgain(uint32_t i, const Waits& waits) {
    const TraceOperation& operation = trace_.operations[i];
    OwnInterval& own = times_.before[i];
    const uint32_t after = own.after_end ? kinds_.Of(trace_.operations[own.after]) : Kinds::kNone;
    const bool wrong_end = after != Kinds::kNone && (waits.goes_on >> after & 1) != 0;
    if (wrong_end && !receives_) {
      Take(row_.LatestOf((awaited_ & ~waits.goes_on) | waits.for_end, operation), operation, &own);
    }
    for (uint32_t kind = 0; kind < kinds_.count(); ++kind) {
      if ((waits.for_end >> kind & 1) == 0) continue;
      const WorkMoment end = row_.EndOf(kind, operation);
      if (!row_.HasEnded(end, operation)) continue;
      if (Since(end, operation) < static_cast<double>(own.seconds)) Take(end, operation, &own);
    }
  }

  void Take(const WorkMoment& moment, const TraceOperation& operation, OwnInterval* own) const {
    if (moment.operation == kNoOperation) return;
    const bool behind_exchange = moment.is_end && trace_.operations[moment.operation].kind == OperationKind::kAllToAll;
    *own = {.seconds = static_cast<float>(Since(moment, operation)),
            .after = moment.operation,
            .after_end = moment.is_end,
            .routed = own->routed && behind_exchange};
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  const Kinds& kinds_;
  // Then what else the work waited for is not known well enough to take an end away.
  const bool receives_;
  const KindMask awaited_;
  OwnTimes& times_;
  Row row_;
};

bool Tells(const Calls& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const std::vector<Waits>& places) {
    return std::any_of(places.begin(), places.end(), [](const Waits& waits) { return waits.tells(); });
  });
}

}  // namespace

void CountAwaitedEnds(const Trace& trace, const JobRoles& roles, const PeersByWaiting& peers, const StepTable& steps,
                      const std::vector<char>& without_begins, Executor* executor, OwnTimes* times) {
  const Kinds kinds(trace, roles);
  if (kinds.count() < 2 || steps.steps == 0) return;
  std::vector<Calls> calls(roles.classes.size());
  RunPieces(executor, calls.size(), [&](size_t number) {
    calls[number] = Learner(trace, roles, steps, *times, kinds).Learn(SamplePeers(peers[number], without_begins));
    if (!Tells(calls[number])) calls[number].clear();
  });
  const size_t ranks = trace.ranks.size();
  RunParts(executor, ranks, PartsOf(executor, ranks, kPartsPerLane), [&](size_t, size_t first_rank, size_t last_rank) {
    Recount recount(trace, roles, steps, kinds, times);
    for (size_t rank = first_rank; rank < last_rank; ++rank) {
      const Calls& of_class = calls[static_cast<size_t>(roles.class_of_rank[rank])];
      if (!of_class.empty()) recount.Run(rank, of_class);
    }
  });
}

}  // namespace lockstep
