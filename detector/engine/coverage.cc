#include "detector/engine/coverage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/input.h"
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

// Ranks that ought to have left records, by number: those that are known to exist and left none, such as those of
// agents that did not answer in time, and those that nobody knows but by their number.
std::vector<int32_t> RanksWithoutRecords(const Trace& trace) {
  std::vector<int32_t> without = trace.missing_ranks;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (trace.OperationsOf(rank).empty()) without.push_back(trace.ranks[rank].rank);
  }
  std::sort(without.begin(), without.end());
  return without;
}

// Neither the moment of being handed over by the host nor the envelope of a network proxy, which begins before the GPU
// does (NCCL before 2.26), tells waiting from working.
bool HasTimes(const TraceOperation& operation) {
  const bool is_of_gpu =
      operation.quality != TimingQuality::kHostEnqueue && operation.quality != TimingQuality::kProxyEnvelope;
  return is_of_gpu && operation.started() && operation.finished();
}

std::vector<int32_t> UntimedRanks(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  std::vector<int32_t> ranks;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
    const auto timed = static_cast<double>(std::count_if(operations.begin(), operations.end(), HasTimes));
    const bool lacks = timed < (1 - kMaxLostRecords) * static_cast<double>(operations.size());
    if (lacks || analysis.without_begins[rank] != 0) ranks.push_back(trace.ranks[rank].rank);
  }
  return ranks;
}

MissingRanks Missing(std::vector<int32_t> ranks, size_t all) {
  return {.missing = ranks.size(), .all = all, .ranks = std::move(ranks)};
}

RanksWithoutTimes Untimed(std::vector<int32_t> ranks, size_t all) {
  return {.without = ranks.size(), .all = all, .ranks = std::move(ranks)};
}

}  // namespace

std::optional<Reason> WhyNotJudged(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  if (trace.operations.empty()) return NoRecords{};
  if (analysis.steps.steps < kMinSuspectSteps) {
    return FewSteps{.steps = analysis.steps.steps, .required = kMinSuspectSteps};
  }
  const size_t all = trace.ranks.size() + trace.missing_ranks.size();
  std::vector<int32_t> missing = RanksWithoutRecords(trace);
  if (static_cast<double>(missing.size()) > kMaxMissingRanks * static_cast<double>(all)) {
    return Missing(std::move(missing), all);
  }
  std::vector<int32_t> untimed = UntimedRanks(analysis);
  if (2 * untimed.size() > trace.ranks.size()) return Untimed(std::move(untimed), trace.ranks.size());
  const uint64_t records = trace.operations.size() + trace.lost_records;
  if (static_cast<double>(trace.lost_records) > kMaxLostRecords * static_cast<double>(records)) {
    return LostRecords{.lost = trace.lost_records, .all = records};
  }
  if (trace.ranks.size() > 1 && !AnyMeeting(analysis.matched)) return NoMeeting{};
  return std::nullopt;
}

std::optional<Reason> WhatWasNotJudged(const TraceAnalysis& analysis) {
  const Trace& trace = *analysis.trace;
  std::vector<int32_t> missing = RanksWithoutRecords(trace);
  if (!missing.empty()) return Missing(std::move(missing), trace.ranks.size() + trace.missing_ranks.size());
  std::vector<int32_t> untimed = UntimedRanks(analysis);
  if (!untimed.empty()) return Untimed(std::move(untimed), trace.ranks.size());
  return std::nullopt;
}

}  // namespace lockstep
