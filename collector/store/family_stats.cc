#include "collector/store/family_stats.h"

#include <cstddef>

#include "collector/store/families.h"

namespace lockstep {

void AddFamilyStats(const RocksStoreOptions& options, RocksDatabase& database, RocksStoreStats& stats) {
  for (size_t i = 0; i < kFamilies; ++i) {
    const Family family = static_cast<Family>(i);
    if (MaxBytesOf(family, options) == 0) continue;
    stats.table_bytes.emplace_back(FamilyName(family), database.TableBytes(family));
    const RemovedCounts& removed = database.state().removed_of(family);
    for (size_t cause = 0; cause < kRemovalCauseNames.size(); ++cause) {
      const auto by = static_cast<RemovalCause>(cause);
      stats.removed.push_back({FamilyName(family), kRemovalCauseNames[cause], removed.records(by), removed.bytes(by)});
    }
  }
}

}  // namespace lockstep
