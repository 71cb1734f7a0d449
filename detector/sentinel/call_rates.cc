#include "detector/sentinel/call_rates.h"

#include <algorithm>

#include "base/clock.h"

namespace lockstep {
namespace {

// The member whose calls count; nullptr = none has reported.
const Member* CountedOf(const Communicator& communicator) {
  for (const Member& member : communicator.members) {
    if (member.rank_slot >= 0) return &member;
  }
  return nullptr;
}

uint64_t FinishedIn(const Communicator& communicator) {
  const Member* const counted = CountedOf(communicator);
  return counted == nullptr ? 0 : counted->finished;
}

// What has not been used for so many of its own periods is over: initialisation, a phase of another kind.
constexpr double kIdlePeriods = 2;

}  // namespace

double CallRates::RarestPeriodSeconds(const Roster& roster, int64_t watermark_ns) {
  if (since_ns_ == 0) {
    since_ns_ = watermark_ns;
    for (const Communicator& communicator : roster.communicators()) finished_then_.push_back(FinishedIn(communicator));
  }
  const double seconds = static_cast<double>(watermark_ns - since_ns_) / kNanosPerSecond;
  double rarest = 0;
  for (size_t slot = 0; slot < roster.communicators().size(); ++slot) {
    const uint64_t before = slot < finished_then_.size() ? finished_then_[slot] : 0;
    const uint64_t now = FinishedIn(roster.communicators()[slot]);
    const uint64_t calls = now - std::min(before, now);
    if (calls < kMinCalls) continue;
    const double period = seconds / static_cast<double>(calls);
    const double idle = static_cast<double>(CountedOf(roster.communicators()[slot])->idle_ns) / kNanosPerSecond;
    if (idle <= kIdlePeriods * period) rarest = std::max(rarest, period);
  }
  return rarest;
}

}  // namespace lockstep
