#include "collector/hook/hook_ration.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace lockstep {
namespace {

std::set<std::string> HostsOf(const std::vector<HookRun>& runs) {
  std::set<std::string> hosts;
  for (const HookRun& run : runs) hosts.insert(run.hosts.begin(), run.hosts.end());
  return hosts;
}

}  // namespace

HookAnswer HookRation::Ask(const HookSpec& spec, const std::vector<std::string>& hosts, size_t known_hosts,
                           int64_t wall_ns) {
  Forget(wall_ns);
  const auto within_hour = std::count_if(
      runs_.begin(), runs_.end(), [wall_ns](const HookRun& run) { return wall_ns - run.wall_ns < kHookHourNanos; });
  if (within_hour >= spec.max_per_hour) return HookAnswer::kTooManyRuns;
  std::set<std::string> acted_on = HostsOf(runs_);
  acted_on.insert(hosts.begin(), hosts.end());
  const double most = std::floor(spec.max_share * static_cast<double>(known_hosts));
  return !hosts.empty() && static_cast<double>(acted_on.size()) > most ? HookAnswer::kTooManyHosts : HookAnswer::kYes;
}

size_t HookRation::HostsActedOn(int64_t wall_ns) {
  Forget(wall_ns);
  return HostsOf(runs_).size();
}

void HookRation::Forget(int64_t wall_ns) {
  std::erase_if(runs_, [wall_ns](const HookRun& run) { return wall_ns - run.wall_ns >= kHookDayNanos; });
}

}  // namespace lockstep
