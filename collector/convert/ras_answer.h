// What NCCL's RAS service said, from the wire to the detector's claims. Untrusted input.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_RAS_ANSWER_H_
#define LOCKSTEP_COLLECTOR_CONVERT_RAS_ANSWER_H_

#include "absl/status/status.h"
#include "collector/convert/convert_losses.h"
#include "detector/model/ras_answer.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// INVALID_ARGUMENT, naming the field, when there are too many findings, or texts that cannot be. Pure.
absl::Status CheckRas(const wire::NcclRasReport& from);

// One claim for each rank that a finding names, but for ranks that cannot be members, which are counted. REQUIRES:
// CheckRas is OK. Pure.
RasStatement ToRasStatement(const wire::NcclRasReport& from, ConvertLosses& losses);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_RAS_ANSWER_H_
