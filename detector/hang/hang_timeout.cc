#include "detector/hang/hang_timeout.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/clock.h"

namespace lockstep {
namespace {

// By judgement, not measured.
constexpr uint64_t kStartUpOperations = 3;

// The first may be a barrier of the launcher.
constexpr uint64_t kSecondMeeting = 2;

// A mean of so many is known to a tenth, if they scatter as much as they last.
constexpr uint64_t kManyOperations = 100;
constexpr double kColdMultiple = 20;  // a step may have several operations: more than for known steps
// By judgement, not measured.
constexpr double kColdFloors = 2.5;
// A rank that has a whole step more of work than ever, such as a first checkpoint, keeps the others waiting for that.
constexpr double kLeastSteps = 2;
constexpr int64_t kNanosPerTick = 10'000'000;  // process start times are in hundredths of a second since boot

// The largest communicator that any rank still uses; -1 = none.
int32_t Largest(const Roster& roster) {
  int32_t largest = -1;
  for (size_t slot = 0; slot < roster.communicators().size(); ++slot) {
    const Communicator& candidate = roster.communicators()[slot];
    const bool used = std::any_of(candidate.members.begin(), candidate.members.end(),
                                  [](const Member& member) { return member.rank_slot >= 0 && !member.freed; });
    if (candidate.size < 2 || !used) continue;
    if (largest < 0 || candidate.size > roster.communicators()[static_cast<size_t>(largest)].size) {
      largest = static_cast<int32_t>(slot);
    }
  }
  return largest;
}

// Mean time per operation of the communicator over the life of its processes, the longest of any member; 0 = unknown.
double LifelongIntervalNs(const Roster& roster, const Communicator& communicator) {
  double longest_ns = 0;
  for (const Member& member : communicator.members) {
    if (member.rank_slot < 0) continue;
    const RankProcess& rank = roster.ranks()[static_cast<size_t>(member.rank_slot)];
    if (rank.finalized || rank.disabled || rank.dead()) continue;
    if (member.finished < kManyOperations || rank.cpu.empty() || rank.process_start_ticks == 0) return 0;
    const auto started_ns = static_cast<double>(rank.process_start_ticks) * kNanosPerTick;
    const double busy_ns = static_cast<double>(rank.cpu.back().host_ns) - started_ns;
    if (busy_ns <= 0) return 0;
    longest_ns = std::max(longest_ns, busy_ns / static_cast<double>(member.finished));
  }
  return longest_ns;
}

// Every member whose process is known has finished so many collectives.
bool AllFinished(const Communicator& communicator, uint64_t operations) {
  return std::all_of(communicator.members.begin(), communicator.members.end(), [operations](const Member& member) {
    return member.rank_slot < 0 || member.finished >= operations;
  });
}

}  // namespace

int64_t HangTimeoutNs(const Roster& roster, double longest_usual_step_seconds, const HangTimeoutOptions& options) {
  if (longest_usual_step_seconds > 0) {
    const double multiple_ns = options.step_multiple * longest_usual_step_seconds * kNanosPerSecond;
    return std::max(options.floor_ns, static_cast<int64_t>(multiple_ns));
  }
  const int64_t unknown_ns = std::max(options.floor_ns, kUnknownHangTimeoutNs);
  const int32_t slot = Largest(roster);
  if (slot < 0) return unknown_ns;
  const double interval_ns = LifelongIntervalNs(roster, roster.communicators()[static_cast<size_t>(slot)]);
  if (interval_ns <= 0) return unknown_ns;
  const double cold_ns = std::max(kColdFloors * static_cast<double>(options.floor_ns), kColdMultiple * interval_ns);
  return cold_ns < static_cast<double>(unknown_ns) ? static_cast<int64_t>(cold_ns) : unknown_ns;
}

int64_t HangTimeoutIn(const Communicator& communicator, int64_t timeout_ns, double longest_usual_step_seconds,
                      const HangTimeoutOptions& options) {
  if (longest_usual_step_seconds <= 0) return timeout_ns;
  int64_t longest_ns = 0;
  for (const Member& member : communicator.members) {
    if (!member.in_flight.has_value()) continue;
    const Stays& stays = communicator.StaysOf(member.in_flight->kind);
    if (stays.known < kManyOperations || stays.longest_ns <= 0) return timeout_ns;
    longest_ns = std::max(longest_ns, stays.longest_ns);
  }
  if (longest_ns == 0) return timeout_ns;
  const double steps_ns = kLeastSteps * longest_usual_step_seconds * kNanosPerSecond;
  const double stays_ns = options.step_multiple * static_cast<double>(longest_ns);
  const double own_ns = std::max({static_cast<double>(options.floor_ns), steps_ns, stays_ns});
  return own_ns < static_cast<double>(timeout_ns) ? static_cast<int64_t>(own_ns) : timeout_ns;
}

bool StartedUp(const Roster& roster) {
  const int32_t slot = Largest(roster);
  return slot >= 0 && AllFinished(roster.communicators()[static_cast<size_t>(slot)], kStartUpOperations);
}

int64_t StartUpTimeoutNs(const Roster& roster) {
  const int32_t slot = Largest(roster);
  if (slot < 0) return std::numeric_limits<int64_t>::max();
  const std::vector<Communicator>& communicators = roster.communicators();
  const bool trains = AllFinished(communicators[static_cast<size_t>(slot)], kSecondMeeting) ||
                      std::any_of(communicators.begin(), communicators.end(), [](const Communicator& communicator) {
                        const bool known = communicator.size >= 2 && !communicator.members.empty();
                        return known && AllFinished(communicator, kManyOperations);
                      });
  return trains ? kStartUpTimeoutNs : std::numeric_limits<int64_t>::max();
}

}  // namespace lockstep
