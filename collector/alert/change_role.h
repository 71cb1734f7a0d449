// What each kind of change of an incident means to those who are told: a row each, so that a new kind needs one more.
//
// Pure.

#ifndef LOCKSTEP_COLLECTOR_ALERT_CHANGE_ROLE_H_
#define LOCKSTEP_COLLECTOR_ALERT_CHANGE_ROLE_H_

#include "collector/incident/incident_book.h"

namespace lockstep {

enum class ChangeRole {
  kBegins,  // something is wrong (again): told at once, and never folded into anything
  kNews,    // more is known of what is wrong: told at most once per minute, the newest
  kTaken,   // somebody has it in hand, or nobody any more: told at once to those who want to hear of it
  kEnds,    // it is over: told at once, in place of news that wait
  kUntold,  // nobody is told
};

struct ChangeRow {
  IncidentEvent::Kind kind;
  ChangeRole role;
  const char* word;  // as receivers read it
};

// Of a kind without a row nobody is told.
const ChangeRow& RowOf(IncidentEvent::Kind kind);

inline ChangeRole ChangeRoleOf(IncidentEvent::Kind kind) { return RowOf(kind).role; }

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_CHANGE_ROLE_H_
