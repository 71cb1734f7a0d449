// How often each host was blamed, over all jobs and time: it is the same host in all of them.
//
// Counted are incidents that accuse a machine or a link (scopes machine and network) and name the host first, each
// once, however often it came back. Suspicions do not count, nor what was in maintenance. Nothing is kept for it but
// the incidents themselves, so that it survives restarts, and forgets what the index forgets. No host is accused for
// it: no detector sees this. It decides whether what is not proven is told (IsLemon), which counts for nobody's
// history: a history does not feed on itself.

#ifndef LOCKSTEP_COLLECTOR_HOST_HISTORIES_H_
#define LOCKSTEP_COLLECTOR_HOST_HISTORIES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/incident_index.h"
#include "proto/incident.pb.h"

namespace lockstep {

inline constexpr uint32_t kHostHistoryDays = 14;  // also the time in which an incident counts for half as much

// By falling score, then by name. Of incidents whose job `sees` accepts. O(incidents).
std::vector<wire::HostHistory> HostHistories(const IncidentIndex& incidents, int64_t now_wall_ns,
                                             const std::function<bool(const std::string& job)>& sees);

// Of so many other jobs that blamed a host within kHostHistoryDays; with the one that asks it is in three.
inline constexpr uint32_t kLemonJobs = 2;

// Whether the host that `incident` names first was blamed in kLemonJobs jobs besides its own. O(incidents).
bool IsLemon(const IncidentIndex& incidents, const wire::Incident& incident, int64_t now_wall_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HOST_HISTORIES_H_
