#include "collector/store/maintenance_records.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {
namespace {

// As the keys of incidents, so that the order of bytes is that of ids.
std::string KeyOf(uint64_t id) { return absl::StrCat(kMaintenanceKeyPrefix, EncodeIncidentKey(id)); }

}  // namespace

void AddMaintenance(RocksDatabase& database, const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone,
                    rocksdb::WriteBatch& batch) {
  for (const uint64_t id : gone) database.Delete(batch, Family::kMeta, KeyOf(id));
  database.Put(batch, Family::kMeta, KeyOf(window.id()), EncodeMaintenanceWindow(window));
}

absl::StatusOr<std::vector<wire::MaintenanceWindow>> ReadMaintenanceRecords(RocksDatabase& database,
                                                                            CorruptRecords& corrupt) {
  std::vector<wire::MaintenanceWindow> windows;
  const auto take = [&](absl::string_view /*key*/, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(wire::MaintenanceWindow window, DecodeMaintenanceWindow(value));
    windows.push_back(std::move(window));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database, Family::kMeta, kMaintenanceKeyPrefix, corrupt, take));
  return windows;
}

}  // namespace lockstep
