#include "collector/demands/suspect_ranks.h"

#include <set>
#include <string>

namespace lockstep {

// Named ranks come before those of hosts: of a large host there may be more than there is room for.
std::vector<int32_t> SuspectRanks(absl::Span<const wire::Incident> incidents, absl::Span<const wire::Rank> ranks) {
  std::set<int32_t> named;
  std::set<std::string> hosts;
  for (const wire::Incident& incident : incidents) {
    for (const wire::Culprit& culprit : incident.verdict().culprits()) {
      if (culprit.rank() >= 0) named.insert(culprit.rank());
      if (culprit.rank() < 0) hosts.insert(culprit.host());
    }
  }
  std::set<int32_t> suspects;
  for (const bool by_name : {true, false}) {
    for (const wire::Rank& rank : ranks) {
      const bool meant = by_name ? named.count(rank.rank()) > 0 : hosts.count(rank.host()) > 0;
      if (meant && rank.process_state() != "gone" && suspects.size() < kMaxSuspectRanks) suspects.insert(rank.rank());
    }
  }
  return {suspects.begin(), suspects.end()};
}

}  // namespace lockstep
