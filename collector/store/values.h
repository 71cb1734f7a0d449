// The small values of the history store. All begin with a format byte; formats on disk: see docs/storage-format.md.
//
// Pure. Bytes that do not decode are DATA_LOSS.

#ifndef LOCKSTEP_COLLECTOR_STORE_VALUES_H_
#define LOCKSTEP_COLLECTOR_STORE_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/store/history_age.h"
#include "proto/admin.pb.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"
#include "proto/stacks.pb.h"

namespace lockstep {

// How far an agent's reports are stored: format (1) = 1 · sequence (8) · when it was written (8).
struct MarkValue {
  uint64_t sequence = 0;
  int64_t written_wall_ns = 0;

  bool operator==(const MarkValue&) const = default;
};
std::string EncodeMark(const MarkValue& mark);
absl::StatusOr<MarkValue> DecodeMark(absl::string_view bytes);

// The id of a job or a series, and until when it counts as in use: format (1) = 1 · id (8) · time (8). The time lies
// ahead when it is written, so that it need not be written with every record.
struct IndexValue {
  uint64_t id = 0;
  int64_t used_until_wall_ns = 0;

  bool operator==(const IndexValue&) const = default;
};
std::string EncodeIndex(const IndexValue& index);
absl::StatusOr<IndexValue> DecodeIndex(absl::string_view bytes);

// When a host reported last: format (1) = 1 · time (8).
std::string EncodeSeen(int64_t last_report_wall_ns);
absl::StatusOr<int64_t> DecodeSeen(absl::string_view bytes);

// format (1) = 1 · resolved at (8), 0 = open · Incident.
std::string EncodeIncident(const wire::Incident& incident);
absl::StatusOr<wire::Incident> DecodeIncident(absl::string_view bytes);

// format (1) = 1 · IncidentEvent.
std::string EncodeIncidentEvent(const wire::IncidentEvent& event);
absl::StatusOr<wire::IncidentEvent> DecodeIncidentEvent(absl::string_view bytes);

// What a receiver of alerts was told last: format (1) = 1 · channel length (2) · channel · thread length (2) · thread ·
// wall time (8).
struct ToldValue {
  std::string channel;
  std::string thread;
  int64_t wall_ns = 0;

  bool operator==(const ToldValue&) const = default;
};
std::string EncodeTold(const ToldValue& value);
absl::StatusOr<ToldValue> DecodeTold(absl::string_view bytes);

// format (1) = 1 · HostGpus.
std::string EncodeHostGpus(const wire::HostGpus& gpus);
absl::StatusOr<wire::HostGpus> DecodeHostGpus(absl::string_view bytes);

// format (1) = 1 · StackDump.
std::string EncodeStackDump(const wire::StackDump& dump);
absl::StatusOr<wire::StackDump> DecodeStackDump(absl::string_view bytes);

// format (1) = 1 · AuditRecord.
std::string EncodeAuditRecord(const wire::AuditRecord& record);
absl::StatusOr<wire::AuditRecord> DecodeAuditRecord(absl::string_view bytes);

// format (1) = 1 · MaintenanceWindow.
std::string EncodeMaintenanceWindow(const wire::MaintenanceWindow& window);
absl::StatusOr<wire::MaintenanceWindow> DecodeMaintenanceWindow(absl::string_view bytes);

// When the incident was resolved, without parsing it; 0 = open.
absl::StatusOr<int64_t> IncidentResolvedWallNanos(absl::string_view bytes);

// What is added to RocksDB's sequence number: format (1) = 1 · offset (8).
std::string EncodeNumberOffset(uint64_t offset);
absl::StatusOr<uint64_t> DecodeNumberOffset(absl::string_view bytes);

// Up to where ids of incidents may be given out: format (1) = 1 · id (8).
std::string EncodeIncidentIds(uint64_t id);
absl::StatusOr<uint64_t> DecodeIncidentIds(absl::string_view bytes);

// Pauses that age nothing (history_age.h), by time: format (1) = 1 · count (4) · from (8) and until (8) of each.
std::string EncodePauses(const std::vector<Pause>& pauses);
absl::StatusOr<std::vector<Pause>> DecodePauses(absl::string_view bytes);

// format (1) = 1 · version (4). This one layout never changes, so that every version can tell which one it meets.
std::string EncodeSchemaVersion(uint32_t version);
absl::StatusOr<uint32_t> DecodeSchemaVersion(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_VALUES_H_
