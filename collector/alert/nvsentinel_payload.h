// An incident in the words of NVSentinel: a HealthEvent per machine that is accused, or per part of it. Pure.
//
// Each is to be stored only, not fatal, and recommends nothing: whatever NVSentinel makes of it, no node is cordoned or
// drained because of us. One is healthy when the cause was looked for and not found any more, when somebody said so, or
// when the incident accuses something else by now; an end of the job says nothing of its machines.

#ifndef LOCKSTEP_COLLECTOR_ALERT_NVSENTINEL_PAYLOAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_NVSENTINEL_PAYLOAD_H_

#include "collector/alert/alert_message.h"
#include "collector/incident/incident_book.h"
#include "proto/health_event.pb.h"

namespace lockstep {

// Empty where no machine is accused: verdicts about a program, or about the shape of a job, are no node's business.
datamodels::HealthEvents HealthEventsFor(const IncidentEvent& event, const DeliveryContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_NVSENTINEL_PAYLOAD_H_
