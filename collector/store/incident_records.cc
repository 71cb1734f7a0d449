#include "collector/store/incident_records.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/values.h"

namespace lockstep {

absl::StatusOr<std::vector<wire::Incident>> ReadIncidentRecords(RocksDatabase& database, CorruptRecords& corrupt) {
  std::vector<wire::Incident> incidents;
  RETURN_IF_ERROR(
      database.Scan(Family::kIncidents, "", "", nullptr, [&](absl::string_view key, absl::string_view value) {
        absl::StatusOr<wire::Incident> incident = DecodeIncident(value);
        if (incident.ok()) {
          incidents.push_back(*std::move(incident));
        } else {
          corrupt.Count(Family::kIncidents, key, incident.status());
        }
        return true;
      }));
  return incidents;
}

}  // namespace lockstep
