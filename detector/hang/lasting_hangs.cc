#include "detector/hang/lasting_hangs.h"

#include <utility>

namespace lockstep {

std::vector<Verdict> LastingHangs::Of(std::vector<Verdict> found, int64_t now_ns) {
  std::map<std::string, int64_t> since_ns;
  std::vector<Verdict> lasting;
  for (Verdict& verdict : found) {
    const std::string key = CauseKey(verdict);
    const auto known = since_ns_.find(key);
    const int64_t since = known == since_ns_.end() ? now_ns : known->second;
    since_ns.emplace(key, since);
    const bool certain = verdict.verdict_class == VerdictClass::kProcessDead;
    if (certain || now_ns - since >= kLastingNs) lasting.push_back(std::move(verdict));
  }
  since_ns_ = std::move(since_ns);
  return lasting;
}

}  // namespace lockstep
