// Incidents as records of the history store.
//
// Errors as in history_store.h. Thread-safe, as the database is.

#ifndef LOCKSTEP_COLLECTOR_STORE_INCIDENT_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_INCIDENT_RECORDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/rocks_database.h"
#include "proto/incident.pb.h"

namespace lockstep {

// All that are on disk, by rising id, however old. What does not decode is counted and left out.
absl::StatusOr<std::vector<wire::Incident>> ReadIncidentRecords(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_INCIDENT_RECORDS_H_
