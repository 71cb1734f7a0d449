#include "detector/slow/lengthened_steps.h"

#include <algorithm>
#include <cmath>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/slow/persistent_excess.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

constexpr double kMaxUnknownRanks = kFew;  // as many as may be missing of a job that is judged (coverage.h)

double SquareOf(double value) { return value * value; }

}  // namespace

std::optional<double> LengthenedBy(const StepTable& steps, const std::vector<Ailment>& ailments, size_t number,
                                   double min_cost) {
  const Ailment& ailment = ailments[number];
  int32_t begin = 0, end = ailment.last_step + 1;
  for (const Ailment& other : ailments) {
    // What is below half of what counts moves no step by enough to matter.
    if (other.excess_seconds < min_cost / 2 * steps.usual_seconds) continue;
    for (const int32_t change : {other.earliest_step, other.last_step + 1}) {
      if (change < ailment.earliest_step - kSameOnsetSteps) begin = std::max(begin, change);
      if (change > ailment.first_step + kSameOnsetSteps) end = std::min(end, change);
    }
  }
  std::vector<double> before, after;
  for (int32_t step = begin; step < end; ++step) {
    const auto at = static_cast<size_t>(step);
    if (steps.usual[at] == 0 || steps.step_seconds[at] <= 0) continue;
    if (step < ailment.earliest_step) before.push_back(steps.step_seconds[at]);
    if (step >= ailment.first_step && ailment.IsIn(step)) after.push_back(steps.step_seconds[at]);
  }
  if (before.size() < kMinPastSteps || after.size() < kMinPastSteps) return std::nullopt;
  const double usual = MedianInPlace(&before), affected = MedianInPlace(&after);
  const double variance = SquareOf(SigmaInPlace(&before, usual)) / static_cast<double>(before.size()) +
                          SquareOf(SigmaInPlace(&after, affected)) / static_cast<double>(after.size());
  return std::max(0.0, affected - usual + kSureErrors * kErrorOfMedian * std::sqrt(variance));
}

double UsualSecondsOf(const StepTable& steps, const Ailment& ailment) {
  std::vector<double> lengths;
  for (int32_t step = ailment.first_step; step <= ailment.last_step; ++step) {
    const auto at = static_cast<size_t>(step);
    if (steps.usual[at] != 0 && ailment.IsIn(step)) lengths.push_back(steps.step_seconds[at]);
  }
  return MedianInPlace(&lengths);
}

bool IsReplayable(const Trace& trace) {
  size_t unknown = 0;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
    const auto timed =
        static_cast<size_t>(std::count_if(operations.begin(), operations.end(), [](const TraceOperation& operation) {
          return operation.started() && operation.finished();
        }));
    unknown += 2 * timed < operations.size();
  }
  return static_cast<double>(unknown) <= kMaxUnknownRanks * static_cast<double>(trace.ranks.size());
}

}  // namespace lockstep
