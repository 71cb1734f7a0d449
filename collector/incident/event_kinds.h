// The kinds of changes of an incident: one row each. What has no form on the wire is kept in history and told to
// nobody.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_EVENT_KINDS_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_EVENT_KINDS_H_

#include "absl/types/span.h"
#include "collector/incident/incident_book.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct EventKind {
  IncidentEvent::Kind kind;
  wire::IncidentEvent::Kind written;
  // Whether receivers of alerts are told: never, unless the incident is quiet (IsQuiet), or if they know that it is
  // open.
  enum class Told { kNever, kUnlessQuiet, kIfTheyKnow } told;
};

// By IncidentEvent::Kind.
absl::Span<const EventKind> EventKinds();

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_EVENT_KINDS_H_
