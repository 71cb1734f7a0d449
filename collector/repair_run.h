// lockstep-collector --repair: salvages a damaged history, says in the log what became of it, and ends.
//
// The repaired history keeps in its audit that this was done. Pure but for the disk and the log. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_REPAIR_RUN_H_
#define LOCKSTEP_COLLECTOR_REPAIR_RUN_H_

#include <cstdint>
#include <string>

#include "collector/store/rocks_store.h"

namespace lockstep {

// The exit status, as of a start that is refused: 0 if the history can be opened now. `audit_file` and
// `audit_file_max_bytes` as of AuditLog.
int RunRepair(const RocksStoreOptions& options, const std::string& audit_file, int64_t audit_file_max_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_REPAIR_RUN_H_
