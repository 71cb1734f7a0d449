#include "collector/store/incident_records.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {

absl::StatusOr<std::vector<wire::Incident>> ReadIncidentRecords(RocksDatabase& database, CorruptRecords& corrupt) {
  std::vector<wire::Incident> incidents;
  const auto take = [&](absl::string_view /*key*/, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(wire::Incident incident, DecodeIncident(value));
    incidents.push_back(std::move(incident));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database, Family::kIncidents, "", corrupt, take));
  return incidents;
}

}  // namespace lockstep
