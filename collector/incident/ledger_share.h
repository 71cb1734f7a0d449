// What the finding of an incident explains of the time of its job's steps. Pure.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_LEDGER_SHARE_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_LEDGER_SHARE_H_

#include <string>

#include "detector/verdict/job_report.h"
#include "proto/incident.pb.h"

namespace lockstep {

// What the ledger of a job calls the finding of `verdict`.
std::string FindingOf(const wire::Verdict& verdict);

// Gives `incident` what its finding has in `ledger`: the lines that name the same, and are of its class or of one that
// may be seen of the same cause, since counters may have told more exactly what operations have priced. Where there is
// no such line, the incident keeps what an earlier look said of it. True: it had nothing before. O(lines).
bool TakeLedgerShare(const SeenLedger& ledger, wire::Incident& incident);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_LEDGER_SHARE_H_
