#include "detector/engine/coverage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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

// Ranks that ought to have left records: those that are known to exist and left none, such as those of agents that did
// not answer in time, and those that nobody knows but by their number.
MissingRanks RanksWithoutRecords(const Trace& trace) {
  MissingRanks found = {.all = trace.ranks.size() + trace.missing_ranks.size(), .ranks = trace.missing_ranks};
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (trace.OperationsOf(rank).empty()) found.ranks.push_back(trace.ranks[rank].rank);
  }
  std::sort(found.ranks.begin(), found.ranks.end());
  found.missing = found.ranks.size();
  return found;
}

bool HasTimes(const TraceOperation& operation) {
  return TellsWaiting(operation.quality) && operation.started() && operation.finished();
}

RanksWithoutTimes UntimedRanks(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  RanksWithoutTimes found = {.all = trace.ranks.size()};
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
    const auto timed = static_cast<double>(std::count_if(operations.begin(), operations.end(), HasTimes));
    const bool lacks = timed < (1 - kMaxLostRecords) * static_cast<double>(operations.size());
    if (lacks || analysis.without_begins[rank] != 0) found.ranks.push_back(trace.ranks[rank].rank);
  }
  found.without = found.ranks.size();
  return found;
}

}  // namespace

Coverage CoverageOf(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  if (trace.operations.empty()) return {.why_not_judged = NoRecords{}};
  if (analysis.steps.steps < kMinSuspectSteps) {
    return {.why_not_judged = FewSteps{.steps = analysis.steps.steps, .required = kMinSuspectSteps}};
  }
  MissingRanks silent = RanksWithoutRecords(trace);
  if (static_cast<double>(silent.missing) > kMaxMissingRanks * static_cast<double>(silent.all)) {
    return {.why_not_judged = std::move(silent)};
  }
  RanksWithoutTimes untimed = UntimedRanks(analysis);
  if (2 * untimed.without > untimed.all) return {.why_not_judged = std::move(untimed)};
  const uint64_t records = trace.operations.size() + trace.lost_records;
  if (static_cast<double>(trace.lost_records) > kMaxLostRecords * static_cast<double>(records)) {
    return {.why_not_judged = LostRecords{.lost = trace.lost_records, .all = records}};
  }
  if (trace.ranks.size() > 1 && !AnyMeeting(analysis.matched)) return {.why_not_judged = NoMeeting{}};
  if (silent.missing > 0) return {.left_out = std::move(silent)};
  if (untimed.without > 0) return {.left_out = std::move(untimed)};
  return {};
}

}  // namespace lockstep
