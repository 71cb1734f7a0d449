#include "detector/steps/pacemaker.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/median.h"
#include "base/shares.h"
#include "detector/model/operation_instances.h"

namespace lockstep {
namespace {

// A step in ten may hold an evaluation or a checkpoint; a communicator that counts otherwise more often counts no
// steps.
constexpr double kMostSteps = kAllButFew;
// Budget of time; spread over the job, so that the hosts differ.
constexpr size_t kRanksTried = 16;

struct CallsOfSteps {
  std::vector<uint64_t> counts;  // by complete step
  uint64_t newest_sequence = 0;
};

// Operations of each communicator of the rank.
std::map<int32_t, CallsOfSteps> CallsByCommunicator(const Trace& trace, const StepTable& steps, size_t rank) {
  std::map<int32_t, CallsOfSteps> calls;
  size_t seen = 0;
  for (int32_t step = 0; step < steps.steps; ++step) {
    const StepRange& range = steps.Of(rank, step);
    if (range.empty() || !range.complete) continue;
    ++seen;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const TraceOperation& operation = trace.operations[i];
      if (IsSendOrRecv(operation.kind)) continue;
      CallsOfSteps& of = calls[operation.communicator];
      of.counts.resize(seen, 0);
      ++of.counts.back();
      of.newest_sequence = std::max(of.newest_sequence, operation.sequence);
    }
  }
  for (auto& [communicator, of] : calls) of.counts.resize(seen, 0);
  return calls;
}

// The median of the counts if nearly all equal it; 0 = none.
uint64_t EvenCount(std::vector<uint64_t> counts) {
  if (counts.size() < 2) return 0;
  const uint64_t middle = UpperMedian(&counts);
  const auto equal = static_cast<double>(std::count(counts.begin(), counts.end(), middle));
  return equal >= kMostSteps * static_cast<double>(counts.size()) ? middle : 0;
}

Pacemaker BestOf(const Trace& trace, const StepTable& steps, size_t rank) {
  Pacemaker best;
  for (auto& [communicator, calls] : CallsByCommunicator(trace, steps, rank)) {
    const uint64_t even = EvenCount(std::move(calls.counts));
    if (even == 0 || (best.communicator >= 0 && even >= best.operations_per_step)) continue;
    best = {.rank_index = rank,
            .communicator = communicator,
            .operations_per_step = even,
            .newest_sequence = calls.newest_sequence};
  }
  return best;
}

}  // namespace

std::vector<Pacemaker> FindPacemakers(const Trace& trace, const StepTable& steps) {
  std::vector<Pacemaker> pacemakers;
  std::set<int32_t> hosts;
  const size_t stride = std::max<size_t>(1, trace.ranks.size() / kRanksTried);
  for (size_t rank = 0; rank < trace.ranks.size() && pacemakers.size() < kMaxPacemakers; rank += stride) {
    if (hosts.contains(trace.ranks[rank].host)) continue;
    const Pacemaker best = BestOf(trace, steps, rank);
    if (best.communicator < 0) continue;
    pacemakers.push_back(best);
    hosts.insert(trace.ranks[rank].host);
  }
  return pacemakers;
}

}  // namespace lockstep
