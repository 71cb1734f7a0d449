// Events of incidents as the store keeps them until every receiver was told. Pure.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_EVENT_PROTO_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_EVENT_PROTO_H_

#include <optional>

#include "collector/incident/incident_book.h"
#include "proto/incident.pb.h"

namespace lockstep {

wire::IncidentEvent ToProto(const IncidentEvent& event);

// Empty for a kind that this version does not know.
std::optional<IncidentEvent> FromProto(const wire::IncidentEvent& message);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_EVENT_PROTO_H_
