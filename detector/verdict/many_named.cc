#include "detector/verdict/many_named.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/shares.h"

namespace lockstep {
namespace {

constexpr size_t kMostOfOneFault = 2;  // the ends of a link
// Of a job's hosts, or ranks.
constexpr double kMostNamed = kMinorPart;

bool NamesFew(const std::vector<Culprit>& culprits, const JobSize& job) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : culprits) {
    hosts.insert(culprit.host);
    if (!culprit.peer_host.empty()) hosts.insert(culprit.peer_host);
  }
  if (IsFewOf(hosts.size(), job.hosts)) return true;
  const bool are_ranks = std::all_of(culprits.begin(), culprits.end(), [](const Culprit& c) { return c.rank >= 0; });
  return are_ranks && IsFewOf(culprits.size(), job.ranks);
}

}  // namespace

bool IsFewOf(size_t count, size_t all) {
  return count <= kMostOfOneFault || static_cast<double>(count) <= kMostNamed * static_cast<double>(all);
}

void NameNobodyOfMany(const JobSize& job, std::vector<Verdict>* verdicts) {
  for (Verdict& verdict : *verdicts) {
    if (!AccusesNode(verdict) || IsHang(verdict.verdict_class) || NamesFew(verdict.culprits, job)) continue;
    verdict.culprits.clear();
    if (verdict.scope == VerdictScope::kMachine) verdict.BecomeObservation();
  }
}

}  // namespace lockstep
