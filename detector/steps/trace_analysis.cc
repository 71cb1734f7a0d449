#include "detector/steps/trace_analysis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/median.h"
#include "detector/model/place_in_group.h"
#include "detector/steps/awaited_ends.h"
#include "detector/steps/awaited_recvs.h"
#include "detector/steps/begins_seen.h"
#include "detector/steps/routed_spread.h"
#include "detector/steps/stage_order.h"
#include "detector/steps/whole_steps.h"

namespace lockstep {
namespace {

// Forward and backward receptions per step of the rank with the most.
double MicrobatchesOf(const TraceAnalysis& analysis) {
  size_t most = 0;
  for (size_t rank = 0; rank < analysis.trace->ranks.size(); ++rank) {
    for (int32_t step = 0; step < analysis.steps.steps; ++step) {
      const StepRange& range = analysis.steps.Of(rank, step);
      if (!range.complete || analysis.steps.usual[static_cast<size_t>(step)] == 0) continue;
      size_t transfers = 0;
      for (uint32_t i = range.begin; i < range.end; ++i) transfers += IsSendOrRecv(analysis.trace->operations[i].kind);
      most = std::max(most, transfers);
      break;
    }
  }
  return most == 0 ? 1 : std::max(1.0, static_cast<double>(most) / 4);
}

// The longest stretch of a rank's step in which it is in no operation.
double LongestGapSeconds(const Trace& trace, size_t rank, const StepRange& range) {
  int64_t longest_ns = 0;
  int64_t busy_until_ns = kNoTime;
  const size_t begin = std::max<size_t>(range.begin, trace.first_operation[rank] + 1) - 1;
  for (size_t i = begin; i < range.end; ++i) {
    const TraceOperation& operation = trace.operations[i];
    if (!operation.started() || !operation.finished()) continue;
    if (busy_until_ns != kNoTime) longest_ns = std::max(longest_ns, operation.start_ns - busy_until_ns);
    busy_until_ns = std::max(busy_until_ns, operation.end_ns);
  }
  return static_cast<double>(longest_ns) * 1e-9;
}

// By step: how much longer than in a usual step the middle rank was in no operation; 0 in usual steps.
std::vector<double> PausesOf(const TraceAnalysis& analysis) {
  const size_t ranks = analysis.trace->ranks.size();
  const auto steps = static_cast<size_t>(analysis.steps.steps);
  std::vector<double> gap(steps, 0);
  std::vector<double> usual;
  for (size_t step = 0; step < steps; ++step) {
    std::vector<double> gaps;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const StepRange& range = analysis.steps.Of(rank, static_cast<int32_t>(step));
      if (!range.empty()) gaps.push_back(LongestGapSeconds(*analysis.trace, rank, range));
    }
    if (gaps.empty()) continue;
    gap[step] = UpperMedian(&gaps);
    if (analysis.steps.usual[step] != 0) usual.push_back(gap[step]);
  }
  const double typical = UpperMedian(&usual);
  for (size_t step = 0; step < steps; ++step) {
    gap[step] = analysis.steps.usual[step] != 0 ? 0 : std::max(0.0, gap[step] - typical);
  }
  return gap;
}

}  // namespace

TraceAnalysis AnalyseTrace(const Trace& trace, bool flip_lateness, Executor* executor) {
  TraceAnalysis analysis;
  analysis.trace = &trace;
  analysis.matched = MatchOperations(trace, executor);
  analysis.roles = InferRoles(trace, analysis.matched, executor);
  analysis.peers = OrderByWaiting(trace, analysis.roles, executor);
  analysis.steps = FindSteps(trace, analysis.matched, analysis.roles, executor);
  analysis.whole_steps = FindWholeSteps(analysis.matched, analysis.steps);
  analysis.without_begins = RanksWithoutBegins(trace, analysis.roles);
  const AwaitedRecvs awaited = FindAwaitedRecvs(trace, analysis.matched, analysis.roles, analysis.steps,
                                                analysis.whole_steps, analysis.without_begins, executor);
  analysis.times = MeasureOwnTimes(trace, analysis.matched, analysis.roles, analysis.peers, analysis.steps, awaited,
                                   analysis.without_begins, executor);
  CountAwaitedEnds(trace, analysis.roles, analysis.peers, analysis.steps, analysis.without_begins, executor,
                   &analysis.times);
  analysis.routing = MeasureRoutedSpread(trace, analysis.roles, analysis.steps, analysis.times);
  if (!analysis.routing.decides) {
    for (OwnInterval& interval : analysis.times.before) interval.routed = false;
  }
  analysis.profile =
      SumOwnTimes(trace, analysis.roles, analysis.steps, analysis.times, analysis.without_begins, executor);
  if (flip_lateness) {
    for (float& excess : analysis.profile.excess) excess = -excess;
  }
  return analysis;
}

StepProfile StructuralProfile(const TraceAnalysis& analysis) {
  StepProfile profile;
  profile.steps = static_cast<size_t>(analysis.steps.steps);
  profile.own_seconds = analysis.profile.own;
  profile.longest_seconds = analysis.profile.largest;
  const std::vector<int32_t>& experts = analysis.profile.expert_place;
  const bool routed = std::any_of(experts.begin(), experts.end(), [](int32_t place) { return place != 0; });
  if (routed && analysis.routing.decides) {
    profile.unrouted_seconds = analysis.profile.shared;
    profile.routing = analysis.routing;
  }
  const std::vector<int32_t> replicas = PlacesIn(*analysis.trace, analysis.roles, GroupRole::kData);
  const std::vector<int32_t> lanes = PlacesIn(*analysis.trace, analysis.roles, GroupRole::kTensor);
  const std::vector<int32_t> stages = StagesOfClasses(*analysis.trace, analysis.roles, analysis.steps);
  for (size_t rank = 0; rank < analysis.trace->ranks.size(); ++rank) {
    const int32_t number = analysis.roles.class_of_rank[rank];
    profile.places.push_back({.stage = stages[static_cast<size_t>(number)],
                              .replica = replicas[rank],
                              .lane = lanes[rank],
                              .host = analysis.trace->ranks[rank].host});
  }
  profile.step_seconds = analysis.steps.step_seconds;
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (size_t step = 0; step < profile.steps; ++step) {
    if (profile.step_seconds[step] <= 0 || analysis.steps.usual[step] == 0) profile.step_seconds[step] = unknown;
  }
  const auto lost = static_cast<double>(analysis.trace->lost_records);
  profile.lost_share = lost / std::max(1.0, lost + static_cast<double>(analysis.trace->operations.size()));
  profile.pause_seconds = PausesOf(analysis);
  profile.microbatches = MicrobatchesOf(analysis);
  return profile;
}

}  // namespace lockstep
