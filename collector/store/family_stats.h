// What the column families hold, and what has gone from them before its age said so.

#ifndef LOCKSTEP_COLLECTOR_STORE_FAMILY_STATS_H_
#define LOCKSTEP_COLLECTOR_STORE_FAMILY_STATS_H_

#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"

namespace lockstep {

// Adds to `stats` those of each family that is bounded in bytes. Thread-safe.
void AddFamilyStats(const RocksStoreOptions& options, RocksDatabase& database, RocksStoreStats& stats);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_FAMILY_STATS_H_
