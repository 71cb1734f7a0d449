#include "detector/verdict/many_named.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/shares.h"

namespace lockstep {
namespace {

constexpr size_t kMostOfOneFault = 2;  // the ends of a link
// Of a job's hosts, or ranks.
constexpr double kMostNamed = kMinorPart;
// That one of the hosts is at fault.
constexpr double kLeastLikely = kMinorPart;

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

// No host is likely to be at fault, though one of them is. Confidence 0 = not told.
bool TellsNobodyApart(const std::vector<Culprit>& culprits) {
  std::map<std::string, double> likely;  // by host
  for (const Culprit& culprit : culprits) likely[culprit.host] += culprit.confidence;
  return std::all_of(likely.begin(), likely.end(),
                     [](const auto& host) { return host.second > 0 && host.second < kLeastLikely; }) &&
         static_cast<double>(likely.size()) * kLeastLikely > 1;
}

}  // namespace

bool IsFewOf(size_t count, size_t all) {
  return count <= kMostOfOneFault || static_cast<double>(count) <= kMostNamed * static_cast<double>(all);
}

void NameNobodyOfMany(const JobSize& job, std::vector<Verdict>* verdicts) {
  for (Verdict& verdict : *verdicts) {
    if (!AccusesNode(verdict) || IsHang(verdict.verdict_class)) continue;
    if (NamesFew(verdict.culprits, job) && !TellsNobodyApart(verdict.culprits)) continue;
    verdict.culprits.clear();
    if (verdict.scope == VerdictScope::kMachine) verdict.BecomeObservation();
  }
}

}  // namespace lockstep
