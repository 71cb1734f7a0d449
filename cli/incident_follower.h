// From repeated lists of incidents to the transitions that happened in between.

#ifndef LOCKSTEP_CLI_INCIDENT_FOLLOWER_H_
#define LOCKSTEP_CLI_INCIDENT_FOLLOWER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "proto/incident.pb.h"

namespace lockstep {

// Transitions point into the list that Update was given.
struct FollowedTransition {
  const wire::Incident* incident = nullptr;
  const wire::Incident::Transition* transition = nullptr;
};

// Not thread-safe. Remembers one small record per incident that it was shown, at most kMaxIncidents (the oldest ids
// are forgotten first, which the collector's own list does as well).
class IncidentFollower {
 public:
  static constexpr size_t kMaxIncidents = 20'000;

  // The transitions that are new since the call before, oldest first. The first call gives the newest opening of every
  // open incident, so that a feed begins with what is wrong now.
  std::vector<FollowedTransition> Update(const std::vector<wire::Incident>& incidents);

 private:
  // How far an incident has been told: everything before `wall_ns`, and `told_at_wall_ns` transitions at that moment.
  struct Mark {
    int64_t wall_ns = 0;
    int told_at_wall_ns = 0;
  };

  void Advance(const wire::Incident& incident, bool tell, std::vector<FollowedTransition>& news);

  std::map<uint64_t, Mark> marks_;  // by incident id
  bool first_ = true;
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INCIDENT_FOLLOWER_H_
