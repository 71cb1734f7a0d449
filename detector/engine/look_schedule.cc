#include "detector/engine/look_schedule.h"

#include <algorithm>

#include "base/clock.h"

namespace lockstep {
namespace {

// A second look is worth its bytes once it has seen another step.
int64_t SoonNs(double step_seconds) {
  return std::max(LookSchedule::kSoonNs, static_cast<int64_t>(step_seconds * kNanosPerSecond));
}

}  // namespace

void LookSchedule::Begin(int64_t now_ns) {
  if (begun()) return;
  begun_ns_ = next_ns_ = event_ns_ = now_ns;
}

void LookSchedule::NoteEvent(int64_t now_ns, double step_seconds) {
  if (!begun()) return;
  event_ns_ = now_ns;
  next_ns_ = std::min(next_ns_, std::max(now_ns, look_ns_ + SoonNs(step_seconds)));
}

void LookSchedule::NoteLook(int64_t now_ns, bool guarded, double step_seconds, double bytes, size_t hosts) {
  const double affordable_seconds = bytes / (kCalmBytesPerSecond * static_cast<double>(std::max<size_t>(hosts, 1)));
  const auto calm_ns = static_cast<int64_t>(std::clamp(
      affordable_seconds * kNanosPerSecond, static_cast<double>(kLeastCalmNs), static_cast<double>(kMostCalmNs)));
  const double share = guarded ? 1 : kUnguardedShare;
  const auto distance_ns = static_cast<int64_t>(share * static_cast<double>(now_ns - event_ns_));
  next_ns_ = look_ns_ + std::max(std::min(distance_ns, calm_ns), SoonNs(step_seconds));
}

}  // namespace lockstep
