#include "eval/live/parity.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

// Class and culprits.
std::string IdentityOf(const Verdict& verdict) {
  std::vector<std::string> culprits;
  for (const Culprit& culprit : verdict.culprits) {
    std::string text = culprit.host;
    if (culprit.rank >= 0) absl::StrAppend(&text, "/rank", culprit.rank);
    if (!culprit.peer_host.empty()) absl::StrAppend(&text, "->", culprit.peer_host);
    culprits.push_back(std::move(text));
  }
  std::sort(culprits.begin(), culprits.end());
  std::string identity = Name(verdict.verdict_class);
  for (const std::string& culprit : culprits) absl::StrAppend(&identity, " ", culprit);
  return identity;
}

std::map<std::string, double> CostByIdentity(const JobReport& report) {
  std::map<std::string, double> costs;
  for (const Verdict& verdict : report.verdicts) {
    if (verdict.type() == FindingType::kAccusation) costs.emplace(IdentityOf(verdict), verdict.cost.slowdown_fraction);
  }
  return costs;
}

bool AreClose(double a, double b) {
  return std::abs(a - b) <= std::max(kCostFloor, kCostTolerance * std::max(std::abs(a), std::abs(b)));
}

}  // namespace

Parity CompareReports(const JobReport& live, const JobReport& file) {
  const std::map<std::string, double> live_costs = CostByIdentity(live);
  const std::map<std::string, double> file_costs = CostByIdentity(file);
  for (const auto& [identity, cost] : file_costs) {
    const auto same = live_costs.find(identity);
    if (same == live_costs.end()) return {false, absl::StrCat("only as a file: ", identity)};
    if (!AreClose(same->second, cost)) {
      return {false,
              absl::StrFormat("%s costs %.1f %% live and %.1f %% as a file", identity, 100 * same->second, 100 * cost)};
    }
  }
  for (const auto& [identity, cost] : live_costs) {
    if (file_costs.count(identity) == 0) return {false, absl::StrCat("only live: ", identity)};
  }
  return {};
}

}  // namespace lockstep
