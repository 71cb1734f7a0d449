#include "detector/engine/look_window.h"

#include <algorithm>

#include "base/clock.h"
#include "detector/engine/investigation.h"
#include "detector/engine/search_plan.h"

namespace lockstep {
namespace {

// Reports are a tick apart: what finished since the last one comes with the next.
constexpr int64_t kReportNs = kNanosPerSecond;

}  // namespace

int64_t LookWindow::Choose(const Roster& roster, int64_t watermark_ns, int64_t moving_since_ns, double step_seconds) {
  rarest_seconds_ = rates_.RarestPeriodSeconds(roster, watermark_ns);
  const InvestigationOptions costs;
  const double bytes_per_second = std::max(OperationsPerSecond(roster, {}) * costs.operation_bytes, 1.0);
  most_seconds_ = static_cast<double>(costs.max_bytes) / bytes_per_second;
  const double cheap_seconds = kBytesPerHost * static_cast<double>(roster.hosts().size()) / bytes_per_second;
  const double moving_seconds = static_cast<double>(watermark_ns - moving_since_ns + kReportNs) / kNanosPerSecond;
  double seconds = rarest_seconds_ > 0 ? kLeastSteps * rarest_seconds_ : moving_seconds;
  if (believes_steps(step_seconds)) {
    const double step = step_seconds > 0 ? step_seconds : found_seconds_;
    seconds = std::clamp(cheap_seconds, kLeastSteps * step, kMostSteps * step);
  }
  window_seconds_ = std::min({seconds, most_seconds_, moving_seconds});
  return static_cast<int64_t>(window_seconds_ * kNanosPerSecond) + kReportNs;
}

bool LookWindow::Suffices(double step_seconds, double window_seconds) const {
  if (step_seconds <= 0) return false;
  if (rarest_seconds_ <= 0) return window_seconds >= kManyCalls * step_seconds;  // nothing but Send/Recv
  const double calls = step_seconds >= kWholeStep * rarest_seconds_ ? kLeastCalls : kManyCalls;
  return window_seconds >= std::min(calls * rarest_seconds_, kSureShare * most_seconds_);
}

bool LookWindow::believes_steps(double step_seconds) const {
  return Suffices(step_seconds > 0 ? step_seconds : found_seconds_, believed_window_seconds_);
}

bool LookWindow::Take(double found_step_seconds, double step_seconds) {
  const bool of_other_length =
      step_seconds > 0 && believes_steps(step_seconds) &&
      (found_step_seconds > kOtherStep * step_seconds || kOtherStep * found_step_seconds < step_seconds);
  if (of_other_length || !Suffices(found_step_seconds, window_seconds_)) return false;
  found_seconds_ = found_step_seconds;
  believed_window_seconds_ = std::max(believed_window_seconds_, window_seconds_);
  return true;
}

}  // namespace lockstep
