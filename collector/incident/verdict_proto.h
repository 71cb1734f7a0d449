// The detector's verdict as the message that is stored and sent. Pure; never fails.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_VERDICT_PROTO_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_VERDICT_PROTO_H_

#include "detector/verdict/verdict.h"
#include "proto/incident.pb.h"

namespace lockstep {

// Field by field, in the same order of culprits and evidence. Equal verdicts give equal messages.
wire::Verdict ToProto(const Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_VERDICT_PROTO_H_
