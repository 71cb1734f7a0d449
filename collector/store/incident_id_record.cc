#include "collector/store/incident_id_record.h"

#include <optional>
#include <string>

#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"

namespace lockstep {

void AddIncidentIds(RocksDatabase& database, uint64_t id, rocksdb::WriteBatch& batch) {
  database.Put(batch, Family::kMeta, kIncidentIdsKey, EncodeIncidentIds(id));
}

absl::StatusOr<uint64_t> ReadIncidentIds(RocksDatabase& database, CorruptRecords& corrupt) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, database.Get(Family::kMeta, kIncidentIdsKey));
  if (!bytes.has_value()) return uint64_t{0};
  const absl::StatusOr<uint64_t> id = DecodeIncidentIds(*bytes);
  if (id.ok()) return *id;
  corrupt.Count(Family::kMeta, kIncidentIdsKey, id.status());
  return uint64_t{0};
}

}  // namespace lockstep
