// What an incident is in, and what it says of its past. Pure.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_STATE_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_STATE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/incident.pb.h"

namespace lockstep {

// Transitions that an incident remembers, the newest.
inline constexpr int kMaxTransitions = 64;

bool IsOpen(const wire::Incident& incident);

// Whether nobody is called about it while it is open: it is suspected, silenced, in maintenance, or another one of its
// storm stands for it.
bool IsQuiet(const wire::Incident& incident);

// "suspected", "silenced", "maintenance", "folded", "open" or "resolved": one of each incident, for the metrics.
// Whoever has it in hand, it is open.
absl::string_view StateWord(const wire::Incident& incident);

// Adds to what it remembers; the oldest leaves when it is full.
void AddTransition(wire::Incident& incident, const char* what, int64_t wall_ns, const std::string& why);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_STATE_H_
