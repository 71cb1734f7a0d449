#include "detector/engine/coverage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/slow/persistent_excess.h"

namespace lockstep {
namespace {

// Whether any two ranks are known to have met in an operation.
bool AnyMeeting(const OperationInstances& matched) {
  return std::any_of(matched.instances.begin(), matched.instances.end(),
                     [](const OperationInstance& instance) { return instance.member_count > 1; });
}

// Ranks that are known to exist and left no record, such as those of agents that did not answer in time.
size_t CountSilentRanks(const Trace& trace) {
  size_t silent = 0;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) silent += trace.OperationsOf(rank).empty();
  return silent;
}

// Ranks of which most operations have no time at which they began or none at which they ended.
size_t CountRanksWithoutTimes(const Trace& trace) {
  size_t without = 0;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
    const auto timed =
        static_cast<size_t>(std::count_if(operations.begin(), operations.end(), [](const TraceOperation& operation) {
          return operation.started() && operation.finished();
        }));
    without += 2 * timed < operations.size();
  }
  return without;
}

}  // namespace

std::optional<Reason> WhyNotJudged(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  if (trace.operations.empty()) return NoRecords{};
  if (analysis.steps.steps < kMinSuspectSteps) {
    return FewSteps{.steps = analysis.steps.steps, .required = kMinSuspectSteps};
  }
  const size_t missing = trace.missing_ranks.size() + CountSilentRanks(trace);
  const size_t all = trace.ranks.size() + trace.missing_ranks.size();
  if (static_cast<double>(missing) > kMaxMissingRanks * static_cast<double>(all)) {
    return MissingRanks{.missing = missing, .all = all};
  }
  if (const size_t without = CountRanksWithoutTimes(trace); without > 0) {
    return RanksWithoutTimes{.without = without, .all = trace.ranks.size()};
  }
  const uint64_t records = trace.operations.size() + trace.lost_records;
  if (static_cast<double>(trace.lost_records) > kMaxLostRecords * static_cast<double>(records)) {
    return LostRecords{.lost = trace.lost_records, .all = records};
  }
  if (trace.ranks.size() > 1 && !AnyMeeting(analysis.matched)) return NoMeeting{};
  return std::nullopt;
}

}  // namespace lockstep
