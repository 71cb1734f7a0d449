#include "collector/awaited_agents.h"

#include <algorithm>

namespace lockstep {

bool IsSilence(const Verdict& verdict) { return verdict.verdict_class == VerdictClass::kMachineUnreachable; }

std::vector<Verdict> WithoutAwaited(std::vector<Verdict> verdicts, const std::map<std::string, SeenSpan>& hosts,
                                    int64_t resumed_ns, int64_t now_ns) {
  if (resumed_ns == 0 || now_ns - resumed_ns > kComeBackNanos) return verdicts;
  const auto is_awaited = [&](const Culprit& culprit) {
    const auto host = hosts.find(culprit.host);
    return host == hosts.end() || host->second.last_wall_ns < resumed_ns;
  };
  std::erase_if(verdicts, [&](const Verdict& verdict) {
    return IsSilence(verdict) && std::all_of(verdict.culprits.begin(), verdict.culprits.end(), is_awaited);
  });
  return verdicts;
}

}  // namespace lockstep
