// How often the operator's program may be run, and on how much of the fleet.
//
// A wrong verdict, or a storm, must not take a fleet apart: runs within an hour are capped, and so are the hosts that
// runs within a day have acted on, as a share of those that are known. What is acted on again counts once. Nothing
// tells when a host is back, so that a day has to pass. Times are of the system's clock; a run that lies in the future,
// since the clock was put back, counts. Pure; not thread-safe. Runs of more than a day ago are forgotten.

#ifndef LOCKSTEP_COLLECTOR_HOOK_HOOK_RATION_H_
#define LOCKSTEP_COLLECTOR_HOOK_HOOK_RATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/alert/alert_routes.h"

namespace lockstep {

inline constexpr int64_t kHookHourNanos = int64_t{3'600} * 1'000'000'000;
inline constexpr int64_t kHookDayNanos = 24 * kHookHourNanos;

struct HookRun {
  int64_t wall_ns = 0;
  std::vector<std::string> hosts;
};

enum class HookAnswer { kYes, kTooManyRuns, kTooManyHosts };

class HookRation {
 public:
  // Whether one more run, on `hosts`, keeps within the limits. `known_hosts`: of the whole fleet.
  HookAnswer Ask(const HookSpec& spec, const std::vector<std::string>& hosts, size_t known_hosts, int64_t wall_ns);

  void Note(HookRun run) { runs_.push_back(std::move(run)); }

  // Hosts that were acted on within a day.
  size_t HostsActedOn(int64_t wall_ns);

 private:
  void Forget(int64_t wall_ns);

  std::vector<HookRun> runs_;  // of a day, at most 24 x the runs of an hour
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HOOK_HOOK_RATION_H_
