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

int64_t LookWindow::Choose(const Roster& roster, double step_seconds, int64_t steps_to_see) {
  rarest_ = gaps_.Rarest();
  const InvestigationOptions costs;
  const double bytes_per_second = std::max(OperationsPerSecond(roster, {}) * costs.operation_bytes, 1.0);
  most_seconds_ = static_cast<double>(costs.max_bytes) / bytes_per_second;
  const double cheap_seconds = kBytesPerHost * static_cast<double>(roster.hosts().size()) / bytes_per_second;
  const double moving_seconds = gaps_.watched_seconds() + static_cast<double>(kReportNs) / kNanosPerSecond;
  const double period = std::max(rarest_.period_seconds, contradicted_seconds_);
  double seconds = period > 0 ? kLeastSteps * period : moving_seconds;
  if (rarest_.seen_seconds >= kLeastCalls * period) seconds = std::min(seconds, rarest_.seen_seconds);
  if (believes_steps(step_seconds)) {
    const double step = step_seconds > 0 ? step_seconds : found_seconds_;
    const double steps = static_cast<double>(steps_to_see) <= kMostSteps ? static_cast<double>(steps_to_see) : 0;
    const double least = std::max(kLeastSteps, steps) * step;
    const double revealing = gaps_.watched_seconds() < 2 * kRevealingSeconds ? kRevealingSeconds : 0;
    seconds = std::clamp(cheap_seconds, least, std::max({least, kMostSteps * step, revealing}));
  }
  window_seconds_ = std::min({seconds, most_seconds_, moving_seconds});
  return static_cast<int64_t>(window_seconds_ * kNanosPerSecond) + kReportNs;
}

bool LookWindow::Suffices(double step_seconds, double window_seconds) const {
  if (step_seconds <= 0) return false;
  if (rarest_seconds() <= 0) return window_seconds >= kManyCalls * step_seconds;  // nothing but Send/Recv
  const double calls = step_seconds >= kWholeStep * rarest_seconds() ? kLeastCalls : kManyCalls;
  return window_seconds >= std::min(calls * rarest_seconds(), kSureShare * most_seconds_);
}

bool LookWindow::believes_steps(double step_seconds) const {
  const double step = step_seconds > 0 ? step_seconds : found_seconds_;
  return Suffices(step, believed_window_seconds_) || Alike(step, sure_seconds_);
}

bool LookWindow::Alike(double step_seconds, double other_seconds) {
  return step_seconds < kOtherStep * other_seconds && other_seconds < kOtherStep * step_seconds;
}

void LookWindow::NoteFound(double found_step_seconds) {
  if (!Alike(found_step_seconds, alike_seconds_) || rarest_seconds() > kOtherStep * alike_rarest_seconds_) {
    alike_seconds_ = found_step_seconds;
    alike_from_seconds_ = gaps_.watched_seconds();
    alike_rarest_seconds_ = rarest_seconds();
    if (sure_seconds_ < kWholeStep * rarest_seconds()) sure_seconds_ = 0;
  }
  const double enough = std::min(alike_from_seconds_, std::max(kRevealingSeconds, kLeastSteps * alike_seconds_));
  const bool later = gaps_.watched_seconds() - alike_from_seconds_ >= enough;
  const bool shows_many = window_seconds_ >= std::min(kManySteps * alike_seconds_, kSureShare * most_seconds_);
  if (later && shows_many) sure_seconds_ = least_step_seconds_ = alike_seconds_;
}

void LookWindow::Doubt(double longer_step_seconds) {
  contradicted_seconds_ = longer_step_seconds;
  sure_seconds_ = 0;
  found_seconds_ = 0;
  believed_window_seconds_ = 0;
}

bool LookWindow::Take(double found_step_seconds, double step_seconds) {
  if (found_step_seconds > 0) NoteFound(found_step_seconds);
  if (step_seconds > 0 && believes_steps(step_seconds)) {
    if (found_step_seconds > kOtherStep * step_seconds) Doubt(found_step_seconds);
    if (found_step_seconds > kOtherStep * step_seconds || kOtherStep * found_step_seconds < step_seconds) return false;
  }
  const double seen_seconds =
      rarest_.period_seconds > 0 ? std::min(window_seconds_, rarest_.seen_seconds) : window_seconds_;
  if (!Suffices(found_step_seconds, seen_seconds) && !Alike(found_step_seconds, sure_seconds_)) return false;
  contradicted_seconds_ = 0;
  found_seconds_ = found_step_seconds;
  believed_window_seconds_ = std::max(believed_window_seconds_, seen_seconds);
  return true;
}

}  // namespace lockstep
