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

// A kind that runs beside the work, and a call: its kind, and which of that kind in the step.
using Waiting = std::tuple<size_t, size_t, uint32_t>;

// The operations of one rank in order of their starts, each with what of the kinds beside had ended by then.
class Row {
 public:
  struct Beside {
    int64_t end_ns = kNoTime;  // the latest of those that began before; where one runs, nothing
    uint32_t operation = kNoOperation;
    bool runs = false;
  };

  Row(const Trace& trace, const JobRoles& roles, const std::vector<size_t>& beside)
      : trace_(trace), roles_(roles), beside_(beside) {}

  // Calls visit(operation, by position in `beside`) for each that began.
  template <typename Visit>
  void ForEach(size_t rank, const Visit& visit) {
    order_.clear();
    for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
      if (trace_.operations[i].started()) order_.emplace_back(trace_.operations[i].start_ns, static_cast<uint32_t>(i));
    }
    if (!std::is_sorted(order_.begin(), order_.end())) std::sort(order_.begin(), order_.end());
    latest_.assign(beside_.size(), {});
    for (const auto& [start_ns, i] : order_) {
      for (Beside& latest : latest_) latest.runs = latest.operation != kNoOperation && Runs(latest.operation, start_ns);
      visit(i, latest_);
      const size_t kind = KindOf(roles_, trace_.operations[i]);
      const auto at = std::find(beside_.begin(), beside_.end(), kind);
      if (at != beside_.end()) Note(i, &latest_[static_cast<size_t>(at - beside_.begin())]);
    }
  }

 private:
  bool Runs(uint32_t i, int64_t start_ns) const {
    const TraceOperation& operation = trace_.operations[i];
    return !operation.finished() || operation.end_ns - start_ns > operation.duration_ns() / kEndTolerance;
  }

  // Of one communicator they end in the order of their begins; of several the latest end counts.
  void Note(uint32_t i, Beside* latest) const {
    const TraceOperation& operation = trace_.operations[i];
    const bool is_latest = latest->operation == kNoOperation || !operation.finished() ||
                           operation.end_ns >= trace_.operations[latest->operation].end_ns;
    if (is_latest) *latest = {operation.end_ns, i, false};
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const std::vector<size_t>& beside_;  // kinds
  std::vector<std::pair<int64_t, uint32_t>> order_;
  std::vector<Beside> latest_;
};

class Learner {
 public:
  Learner(const Trace& trace, const JobRoles& roles, const StepTable& steps, const OwnTimes& times,
          const std::vector<size_t>& beside)
      : trace_(trace), roles_(roles), steps_(steps), times_(times), beside_(beside), row_(trace, roles, beside) {}

  std::set<Waiting> Learn(const std::vector<size_t>& peers) {
    places_.clear();
    for (const size_t rank : peers) Collect(rank);
    std::set<Waiting> waiting;
    for (const auto& [place, seen] : places_) {
      if (IsAwaited(seen)) waiting.insert(place);
    }
    return waiting;
  }

 private:
  struct Seen {
    std::vector<double> without, with;  // seconds before the call, counted from its own past and from the end
    size_t ran = 0;                     // times that such an operation ran when it began
  };

  void Collect(size_t rank) {
    const auto tells = [&](int32_t step) {
      return step > 0 && step < kSampledSteps && steps_.usual[static_cast<size_t>(step)] != 0 &&
             steps_.Of(rank, step - 1).complete;
    };
    const std::vector<uint32_t> place_of = PlacesOfCalls(trace_, roles_, steps_, rank, tells);
    row_.ForEach(rank, [&](uint32_t i, const std::vector<Row::Beside>& latest) {
      const uint32_t place = place_of[i - trace_.first_operation[rank]];
      const OwnInterval& own = times_.before[i];
      if (place == kNoPlace || own.seconds < 0) return;
      const size_t kind = KindOf(roles_, trace_.operations[i]);
      for (size_t b = 0; b < beside_.size(); ++b) {
        if (latest[b].operation == kNoOperation || kind == beside_[b]) continue;
        Seen& seen = places_[{beside_[b], kind, place}];
        seen.ran += latest[b].runs ? 1 : 0;
        seen.without.push_back(static_cast<double>(own.seconds));
        const double since_end = ToSeconds(std::max<int64_t>(0, trace_.operations[i].start_ns - latest[b].end_ns));
        seen.with.push_back(std::min(seen.without.back(), latest[b].runs ? seen.without.back() : since_end));
      }
    });
  }

  static bool IsAwaited(const Seen& seen) {
    if (seen.with.size() < kMinSamples || seen.with == seen.without) return false;
    if (static_cast<double>(seen.ran) > kAccidents * static_cast<double>(seen.with.size())) return false;
    return Deviation(seen.with) < (1 - kMinGain) * Deviation(seen.without);
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
  const std::vector<size_t>& beside_;
  Row row_;
  std::map<Waiting, Seen> places_;
};

// Kinds whose ends count for nothing, or for what stood in line only. Recvs have causes of their own
// (awaited_recvs.h).
std::vector<size_t> KindsBeside(const Trace& trace, const JobRoles& roles, const WorkOrder& order) {
  std::vector<char> occurs(order.awaited.size(), 0);
  for (const TraceOperation& operation : trace.operations) occurs[KindOf(roles, operation)] = 1;
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < occurs.size(); ++kind) {
    const bool beside = order.awaited[kind] == 0 || !order.apart[kind].empty();
    if (occurs[kind] != 0 && beside && !IsSendOrRecv(static_cast<OperationKind>(kind % kOperationKinds))) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

}  // namespace

void CountAwaitedEnds(const Trace& trace, const JobRoles& roles, const StepTable& steps,
                      const std::vector<char>& without_begins, Executor* executor, OwnTimes* times) {
  const std::vector<size_t> beside = KindsBeside(trace, roles, times->order);
  if (beside.empty() || steps.steps == 0) return;
  std::vector<std::set<Waiting>> waiting(roles.classes.size());
  RunPieces(executor, waiting.size(), [&](size_t number) {
    const std::vector<size_t> peers = SamplePeers(trace, roles.classes[number], without_begins);
    waiting[number] = Learner(trace, roles, steps, *times, beside).Learn(peers);
  });
  const size_t ranks = trace.ranks.size();
  RunParts(executor, ranks, PartsOf(executor, ranks, kPartsPerLane), [&](size_t, size_t first_rank, size_t last_rank) {
    Row row(trace, roles, beside);
    for (size_t rank = first_rank; rank < last_rank; ++rank) {
      const std::set<Waiting>& of_class = waiting[static_cast<size_t>(roles.class_of_rank[rank])];
      if (of_class.empty()) continue;
      const std::vector<uint32_t> place_of = PlacesOfCalls(trace, roles, steps, rank, [](int32_t) { return true; });
      row.ForEach(rank, [&](uint32_t i, const std::vector<Row::Beside>& latest) {
        const uint32_t place = place_of[i - trace.first_operation[rank]];
        OwnInterval& own = times->before[i];
        if (place == kNoPlace || own.seconds < 0) return;
        for (size_t b = 0; b < beside.size(); ++b) {
          const bool ended = latest[b].operation != kNoOperation && !latest[b].runs;
          if (!ended || !of_class.contains({beside[b], KindOf(roles, trace.operations[i]), place})) continue;
          const double since_end = ToSeconds(std::max<int64_t>(0, trace.operations[i].start_ns - latest[b].end_ns));
          if (since_end >= static_cast<double>(own.seconds)) continue;
          own = {.seconds = static_cast<float>(since_end), .after = latest[b].operation, .after_end = true};
        }
      });
    }
  });
}

}  // namespace lockstep
