// What somebody says of an incident: that he has it in hand, that nobody is to be called about it, what he knows of it.
//
// Saying the same again changes nothing, so that a call may be repeated. Pure.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_ACTION_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_ACTION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct IncidentAction {
  enum class What { kAcknowledge, kUnacknowledge, kSilence, kUnsilence, kResolve, kComment };

  What what = What::kComment;
  std::string by;             // who, as the collector knows him
  std::string text;           // the note, or the comment
  int64_t until_wall_ns = 0;  // of kSilence
};

inline constexpr int kMaxComments = 64;  // of one incident

// The words of the audit: "acknowledge", "unacknowledge", ...
const char* NameOf(IncidentAction::What what);

// Writes `action` into `incident`, with the transition that tells of it; false if that says so already. The end by
// kResolve is written by the book: only who did it is, here. FAILED_PRECONDITION for an incident that is resolved (all
// but kComment), for taking back what nobody has said, and for one comment too many.
absl::StatusOr<bool> Apply(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_ACTION_H_
