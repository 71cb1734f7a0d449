#include "detector/engine/coverage.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
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

// Ranks of which most operations have no time at which they began or none at which they ended.
size_t RanksWithoutTimes(const Trace& trace) {
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

std::string WhyNotJudged(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  if (trace.operations.empty()) return "There are no operation records to judge.";
  if (analysis.steps.steps < kMinSuspectSteps) {
    return absl::StrFormat("The records hold %d whole steps; no judgement is made on fewer than %d.",
                           analysis.steps.steps, kMinSuspectSteps);
  }
  const size_t missing = trace.missing_ranks.size(), all = trace.ranks.size() + missing;
  if (static_cast<double>(missing) > kMaxMissingRanks * static_cast<double>(all)) {
    return absl::StrFormat("%d of %d ranks left no records: any of them may be the one that the others wait for.",
                           missing, all);
  }
  if (const size_t without = RanksWithoutTimes(trace); without > 0) {
    return absl::StrFormat(
        "%d of %d ranks left operations without times: their own work was not judged, the others' was.", without,
        trace.ranks.size());
  }
  const double records = static_cast<double>(trace.operations.size() + trace.lost_records);
  if (static_cast<double>(trace.lost_records) > kMaxLostRecords * records) {
    return absl::StrFormat("%d of %.0f records are lost: too many to tell that nothing is wrong.", trace.lost_records,
                           records);
  }
  if (trace.ranks.size() > 1 && !AnyMeeting(analysis.matched)) {
    return "No two ranks are known to take part in the same operation: who waits for whom cannot be told.";
  }
  return "";
}

}  // namespace lockstep
