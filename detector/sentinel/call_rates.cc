#include "detector/sentinel/call_rates.h"

#include <algorithm>

#include "base/clock.h"

namespace lockstep {
namespace {

// What has not been used for so many of its own periods is over: initialisation, a phase of another kind.
constexpr double kIdlePeriods = 2;

// The member whose calls count; nullptr = none has reported.
const Member* CountedOf(const Communicator& communicator) {
  for (const Member& member : communicator.members) {
    if (member.rank_slot >= 0) return &member;
  }
  return nullptr;
}

int64_t HostNanosOf(const Roster& roster, const Member& member) {
  const std::vector<CpuSample>& reports = roster.ranks()[static_cast<size_t>(member.rank_slot)].cpu;
  return reports.empty() ? 0 : reports.back().host_ns;
}

}  // namespace

void CallRates::Observe(const Roster& roster) {
  rarest_seconds_ = 0;
  const size_t known = begin_.size();
  begin_.resize(roster.communicators().size());
  for (size_t slot = 0; slot < begin_.size(); ++slot) {
    const Member* const member = CountedOf(roster.communicators()[slot]);
    if (member == nullptr) continue;
    const int64_t host_ns = HostNanosOf(roster, *member);
    Begin& begin = begin_[slot];
    if (begin.host_ns == 0) {
      // One that appears later has been used since it was made: since about now.
      begin = {.finished = slot < known || !begun_ ? member->finished : 0, .host_ns = host_ns};
    }
    const double seconds = static_cast<double>(host_ns - begin.host_ns) / kNanosPerSecond;
    watched_seconds_ = std::max(watched_seconds_, seconds);
    const uint64_t calls = member->finished - std::min(begin.finished, member->finished);
    if (calls < kMinCalls) continue;
    const double period = seconds / static_cast<double>(calls);
    const double idle = static_cast<double>(member->idle_ns) / kNanosPerSecond;
    if (idle <= kIdlePeriods * period) rarest_seconds_ = std::max(rarest_seconds_, period);
  }
  begun_ = true;
}

}  // namespace lockstep
