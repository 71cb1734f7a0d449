// Reads a capture (`lockstep capture`) as evidence: operations, those in flight at its end, states of processes,
// counters and kernel events.
//
// Times become those of the collector's clock by one offset per host, taken from its first report: comparable within a
// host as exactly as before, and over hosts to about the delay of a report. Memory: what is in flight, and what the
// builder keeps.

#ifndef LOCKSTEP_CLI_INPUTS_CAPTURE_EVIDENCE_H_
#define LOCKSTEP_CLI_INPUTS_CAPTURE_EVIDENCE_H_

#include <istream>
#include <string>

#include "formats/evidence_builder.h"
#include "formats/read_result.h"

namespace lockstep {

// Every entry names its job. A capture that is cut short gives what precedes the cut.
ReadResult ReadCaptureEvidence(const std::string& path, std::istream& bytes, EvidenceBuilder& builder);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INPUTS_CAPTURE_EVIDENCE_H_
