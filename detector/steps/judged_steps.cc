#include "detector/steps/judged_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/median.h"
#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/usual_steps.h"

namespace lockstep {
namespace {

uint32_t CallsIn(const StepRange& range) { return range.end - range.begin; }

// Of the middle rank of those whose step is whole; 0 = of none.
double MiddleCalls(const StepTable& table, int32_t step) {
  std::vector<double> calls;
  for (size_t rank = 0; rank < table.ranks; ++rank) {
    const StepRange& range = table.Of(rank, step);
    if (range.complete) calls.push_back(static_cast<double>(CallsIn(range)));
  }
  return MedianInPlace(&calls);
}

// An evaluation that makes the anchor's call is shorter than a step, and makes far fewer calls.
void LeaveOutEvaluations(StepTable* table) {
  std::vector<double> calls, seconds;
  for (int32_t step = 0; step < table->steps; ++step) calls.push_back(MiddleCalls(*table, step));
  for (size_t step = 0; step < calls.size(); ++step) {
    if (calls[step] > 0 && table->step_seconds[step] > 0) seconds.push_back(table->step_seconds[step]);
  }
  std::vector<double> known = calls;
  std::erase(known, 0);
  const double usual_calls = MedianInPlace(&known), usual_seconds = MedianInPlace(&seconds);
  for (size_t step = 0; step < calls.size(); ++step) {
    const bool fewer = calls[step] > 0 && calls[step] < kMajorPart * usual_calls;
    if (fewer && table->step_seconds[step] < usual_seconds) table->usual[step] = 0;
  }
}

// Time that a rank is inside of one operation or another.
double InsideOf(const Trace& trace, const StepRange& range) {
  std::vector<std::pair<int64_t, int64_t>> inside;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const TraceOperation& operation = trace.operations[i];
    if (operation.started() && operation.finished()) inside.emplace_back(operation.start_ns, operation.end_ns);
  }
  std::sort(inside.begin(), inside.end());
  int64_t total_ns = 0, until_ns = std::numeric_limits<int64_t>::min();
  for (const auto& [start_ns, end_ns] : inside) {
    total_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, until_ns));
    until_ns = std::max(until_ns, end_ns);
  }
  return ToSeconds(total_ns);
}

// By step: of the middle rank, among those that make as many calls as they usually do, but for what losses explain; 0
// where most do not.
std::vector<double> InsideSeconds(const Trace& trace, const StepTable& table) {
  std::vector<std::vector<double>> inside(static_cast<size_t>(table.steps));
  for (size_t rank = 0; rank < table.ranks; ++rank) {
    std::vector<double> calls;
    for (int32_t step = 0; step < table.steps; ++step) {
      const StepRange& range = table.Of(rank, step);
      if (range.complete) calls.push_back(static_cast<double>(CallsIn(range)));
    }
    const double usual = calls.empty() ? 0 : UpperMedian(&calls);
    const double lost = kSureErrors * SigmaInPlace(&calls, usual);
    for (int32_t step = 0; step < table.steps; ++step) {
      const StepRange& range = table.Of(rank, step);
      if (range.complete && std::abs(static_cast<double>(CallsIn(range)) - usual) <= lost) {
        inside[static_cast<size_t>(step)].push_back(InsideOf(trace, range));
      }
    }
  }
  std::vector<double> middle;
  for (std::vector<double>& of_ranks : inside) {
    middle.push_back(2 * of_ranks.size() < table.ranks ? 0 : MedianInPlace(&of_ranks));
  }
  return middle;
}

// Many steps that are longer because ranks wait are usual, few are not.
void TellWaited(const Trace& trace, StepTable* table) {
  std::vector<char> waited = FindWaitedSteps(table->step_seconds, InsideSeconds(trace, *table), table->usual);
  const bool many = std::count(waited.begin(), waited.end(), 1) >= static_cast<std::ptrdiff_t>(kLevelSteps);
  if (!many) {
    waited[0] = 0;
    table->waited = std::move(waited);
    return;
  }
  for (size_t step = 0; step < waited.size(); ++step) table->usual[step] |= waited[step];
}

}  // namespace

void JudgeSteps(const Trace& trace, StepTable* table) {
  table->usual = FindUsualSteps(table->step_seconds);
  LeaveOutEvaluations(table);
  table->waited.assign(table->usual.size(), 0);
  // In the first step a job connects and compiles.
  if (table->steps > 0 && std::count(table->usual.begin() + 1, table->usual.end(), 0) > 0) TellWaited(trace, table);
  std::vector<double> usual;
  for (size_t step = 0; step < table->step_seconds.size(); ++step) {
    if (table->usual[step] != 0) usual.push_back(table->step_seconds[step]);
  }
  table->usual_seconds = MedianInPlace(&usual);
  table->usual_spread_seconds = SigmaInPlace(&usual, table->usual_seconds);
}

}  // namespace lockstep
