#include "detector/steps/awaited_ends.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "detector/model/input.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/kinds_of_calls.h"
#include "detector/steps/peer_sample.h"

namespace lockstep {
namespace {

// As own_time.cc: what recorders err by, accidents, a budget of time, what is more regular, and few samples.
constexpr int64_t kEndTolerance = 20;
constexpr double kAccidents = 0.05;
constexpr int32_t kSampledSteps = 64;
constexpr double kMinGain = 0.05;
constexpr size_t kMinSamples = 4;
constexpr size_t kPartsPerLane = 4;

// A kind of operations, and a call: its kind, and which of that kind in the step it is.
using Waiting = std::tuple<size_t, size_t, uint32_t>;
// Whether the call waits for the latest end of that kind; what is not there nothing tells.
using Waits = std::map<Waiting, bool>;

// When the work of a rank may have gone on.
struct Moment {
  int64_t at_ns = kNoTime;
  uint32_t operation = kNoOperation;
  bool is_end = false;
};

// The operations of one rank in order of their starts, each with what was known of others when it began.
class Row {
 public:
  struct Latest {
    Moment end;         // of those of this kind that began before
    bool runs = false;  // the one that ends last has not ended yet
  };

  Row(const Trace& trace, const JobRoles& roles, const std::vector<size_t>& kinds)
      : trace_(trace), roles_(roles), kinds_(kinds), latest_(kinds.size()) {}

  // Calls visit(operation) for each that began.
  template <typename Visit>
  void ForEach(size_t rank, const Visit& visit) {
    order_.clear();
    for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
      if (trace_.operations[i].started()) order_.emplace_back(trace_.operations[i].start_ns, static_cast<uint32_t>(i));
    }
    if (!std::is_sorted(order_.begin(), order_.end())) std::sort(order_.begin(), order_.end());
    latest_.assign(kinds_.size(), {});
    start_ = {};
    for (const auto& [start_ns, i] : order_) {
      for (Latest& latest : latest_) {
        latest.runs = latest.end.operation != kNoOperation && Runs(latest.end.operation, start_ns);
      }
      visit(i);
      Note(i);
    }
  }

  // Of the visited operation.
  const std::vector<Latest>& latest() const { return latest_; }

  // The latest start, or end of a kind that `counts`, by position in the kinds.
  template <typename Counts>
  Moment LatestOf(const Counts& counts) const {
    Moment moment = start_;
    for (size_t k = 0; k < latest_.size(); ++k) {
      const Latest& latest = latest_[k];
      const bool ended = latest.end.operation != kNoOperation && !latest.runs;
      if (ended && latest.end.at_ns > moment.at_ns && counts(k)) moment = latest.end;
    }
    return moment;
  }

 private:
  bool Runs(uint32_t i, int64_t start_ns) const {
    const TraceOperation& operation = trace_.operations[i];
    return !operation.finished() || operation.end_ns - start_ns > operation.duration_ns() / kEndTolerance;
  }

  void Note(uint32_t i) {
    const TraceOperation& operation = trace_.operations[i];
    const auto at = std::find(kinds_.begin(), kinds_.end(), KindOf(roles_, operation));
    const bool is_told = at != kinds_.end();
    // What began as the one before it in its communicator ended stood in line: its start is no sign of the work.
    if (!is_told || !StoodBehind(latest_[static_cast<size_t>(at - kinds_.begin())].end.operation, operation)) {
      start_ = {operation.start_ns, i, false};
    }
    if (!is_told) return;
    Moment& end = latest_[static_cast<size_t>(at - kinds_.begin())].end;
    const bool is_latest = end.operation == kNoOperation || !operation.finished() || operation.end_ns >= end.at_ns;
    if (is_latest) end = {operation.end_ns, i, true};
  }

  bool StoodBehind(uint32_t earlier, const TraceOperation& operation) const {
    if (earlier == kNoOperation || !trace_.operations[earlier].finished()) return false;
    const TraceOperation& ended = trace_.operations[earlier];
    return ended.communicator == operation.communicator &&
           operation.start_ns - ended.end_ns <= ended.duration_ns() / kEndTolerance;
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const std::vector<size_t>& kinds_;
  std::vector<std::pair<int64_t, uint32_t>> order_;
  std::vector<Latest> latest_;  // by position in `kinds_`
  Moment start_;
};

double Since(const Moment& moment, const TraceOperation& operation) {
  return ToSeconds(std::max<int64_t>(0, operation.start_ns - moment.at_ns));
}

class Learner {
 public:
  Learner(const Trace& trace, const JobRoles& roles, const StepTable& steps, const OwnTimes& times,
          const std::vector<size_t>& kinds)
      : trace_(trace), roles_(roles), steps_(steps), times_(times), kinds_(kinds), row_(trace, roles, kinds) {}

  Waits Learn(const std::vector<size_t>& peers) {
    for (const size_t rank : peers) Collect(rank);
    Waits waits;
    for (const auto& [place, seen] : places_) {
      if (seen.with.size() < kMinSamples) continue;
      const bool runs_on = static_cast<double>(seen.ran) > kAccidents * static_cast<double>(seen.with.size());
      if (runs_on || IsMoreRegular(seen)) waits.emplace(place, !runs_on);
    }
    return waits;
  }

 private:
  struct Seen {
    std::vector<double> without, with;  // seconds before the call, as measured, and counted from the end
    size_t ran = 0;                     // times that such an operation ran when it began
  };

  void Collect(size_t rank) {
    const auto tells = [&](int32_t step) {
      return step > 0 && step < kSampledSteps && steps_.usual[static_cast<size_t>(step)] != 0 &&
             steps_.Of(rank, step - 1).complete;
    };
    const std::vector<uint32_t> place_of = PlacesOfCalls(trace_, roles_, steps_, rank, tells);
    row_.ForEach(rank, [&](uint32_t i) {
      const uint32_t place = place_of[i - trace_.first_operation[rank]];
      const OwnInterval& own = times_.before[i];
      if (place == kNoPlace || own.seconds < 0) return;
      const size_t kind = KindOf(roles_, trace_.operations[i]);
      for (size_t k = 0; k < kinds_.size(); ++k) {
        const Row::Latest& latest = row_.latest()[k];
        if (latest.end.operation == kNoOperation || kind == kinds_[k]) continue;
        Seen& seen = places_[{kinds_[k], kind, place}];
        const auto measured = static_cast<double>(own.seconds);
        seen.ran += latest.runs ? 1 : 0;
        seen.without.push_back(measured);
        seen.with.push_back(latest.runs ? measured : std::min(measured, Since(latest.end, trace_.operations[i])));
      }
    });
  }

  static bool IsMoreRegular(const Seen& seen) {
    return seen.with != seen.without && Deviation(seen.with) < (1 - kMinGain) * Deviation(seen.without);
  }

  static double Deviation(std::vector<double> values) {
    const double center = MedianInPlace(&values);
    double deviation = 0;
    for (const double value : values) deviation += std::abs(value - center);
    return deviation;
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  const OwnTimes& times_;
  const std::vector<size_t>& kinds_;
  Row row_;
  std::map<Waiting, Seen> places_;
};

// Those of groups that occur. Recvs have causes of their own (awaited_recvs.h).
std::vector<size_t> KindsOfGroups(const Trace& trace, const JobRoles& roles) {
  std::vector<char> occurs(static_cast<size_t>(roles.families) * kOperationKinds, 0);
  for (const TraceOperation& operation : trace.operations) occurs[KindOf(roles, operation)] = 1;
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < occurs.size(); ++kind) {
    if (occurs[kind] != 0 && !IsSendOrRecv(static_cast<OperationKind>(kind % kOperationKinds))) kinds.push_back(kind);
  }
  return kinds;
}

// Counts the own times of ranks again where places tell more than kinds.
class Recount {
 public:
  Recount(const Trace& trace, const JobRoles& roles, const StepTable& steps, const std::vector<size_t>& kinds,
          OwnTimes* times)
      : trace_(trace), roles_(roles), steps_(steps), kinds_(kinds), times_(*times), row_(trace, roles, kinds) {}

  void Run(size_t rank, const Waits& waits) {
    const std::vector<uint32_t> place_of = PlacesOfCalls(trace_, roles_, steps_, rank, [](int32_t) { return true; });
    row_.ForEach(rank, [&](uint32_t i) {
      const uint32_t place = place_of[i - trace_.first_operation[rank]];
      if (place != kNoPlace && times_.before[i].seconds >= 0) CountAgain(i, place, waits);
    });
  }

 private:
  void CountAgain(uint32_t i, uint32_t place, const Waits& waits) {
    const TraceOperation& operation = trace_.operations[i];
    const size_t kind = KindOf(roles_, operation);
    OwnInterval& own = times_.before[i];
    const auto told = [&](size_t k) { return waits.find({kinds_[k], kind, place}); };
    for (size_t k = 0; k < kinds_.size(); ++k) {
      const auto found = told(k);
      const bool counted = own.after_end && KindOf(roles_, trace_.operations[own.after]) == kinds_[k];
      if (found == waits.end() || found->second || kind == kinds_[k] || !counted) continue;
      Take(row_.LatestOf([&](size_t other) {
        const auto of_other = told(other);
        const bool by_kind = times_.order.awaited[kinds_[other]] != 0 && times_.order.apart[kinds_[other]].empty();
        return of_other == waits.end() ? by_kind : of_other->second;
      }),
           operation, &own);
    }
    for (size_t k = 0; k < kinds_.size(); ++k) {
      const auto found = told(k);
      const Row::Latest& latest = row_.latest()[k];
      if (found == waits.end() || !found->second || latest.runs || latest.end.operation == kNoOperation) continue;
      if (Since(latest.end, operation) < static_cast<double>(own.seconds)) Take(latest.end, operation, &own);
    }
  }

  void Take(const Moment& moment, const TraceOperation& operation, OwnInterval* own) const {
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
  const std::vector<size_t>& kinds_;
  OwnTimes& times_;
  Row row_;
};

}  // namespace

void CountAwaitedEnds(const Trace& trace, const JobRoles& roles, const StepTable& steps,
                      const std::vector<char>& without_begins, Executor* executor, OwnTimes* times) {
  const std::vector<size_t> kinds = KindsOfGroups(trace, roles);
  if (kinds.size() < 2 || steps.steps == 0) return;
  std::vector<Waits> waits(roles.classes.size());
  RunPieces(executor, waits.size(), [&](size_t number) {
    const std::vector<size_t> peers = SamplePeers(trace, roles.classes[number], without_begins);
    waits[number] = Learner(trace, roles, steps, *times, kinds).Learn(peers);
  });
  const size_t ranks = trace.ranks.size();
  RunParts(executor, ranks, PartsOf(executor, ranks, kPartsPerLane), [&](size_t, size_t first_rank, size_t last_rank) {
    Recount recount(trace, roles, steps, kinds, times);
    for (size_t rank = first_rank; rank < last_rank; ++rank) {
      const Waits& of_class = waits[static_cast<size_t>(roles.class_of_rank[rank])];
      if (!of_class.empty()) recount.Run(rank, of_class);
    }
  });
}

}  // namespace lockstep
