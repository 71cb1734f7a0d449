#include "detector/patterns/profile_diagnosis.h"

#include <algorithm>

#include "detector/model/trace.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"
#include "detector/patterns/pattern_verdict.h"

namespace lockstep {
namespace {

int32_t HostIndex(const std::string& host, Trace& trace) {
  const auto found = std::find(trace.hosts.begin(), trace.hosts.end(), host);
  const auto index = static_cast<int32_t>(found - trace.hosts.begin());
  if (found == trace.hosts.end()) trace.hosts.push_back(host);
  return index;
}

}  // namespace

JobReport DiagnoseProfiles(const std::string& job, absl::Span<const ProfiledRank> ranks) {
  PatternFleet fleet;
  Trace places;  // whose operations nobody looks at
  for (const ProfiledRank& rank : ranks) {
    if (!fleet.Add(rank.patterns)) continue;
    TraceRank& place = places.ranks.emplace_back();
    place.rank = rank.patterns.rank;
    place.pid = rank.pid;
    place.host = HostIndex(rank.patterns.host, places);
    fleet.mutable_workers().back().duty = rank.duty;
  }
  JobReport report;
  report.job = job;
  report.ranks = static_cast<int32_t>(places.ranks.size());
  report.hosts = static_cast<int32_t>(places.hosts.size());
  AddPatternFindings(fleet, ComparePatterns(fleet), places, report);
  return report;
}

}  // namespace lockstep
