#include "collector/store/values.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "collector/store/byte_codec.h"

namespace lockstep {
namespace {

constexpr uint8_t kFormat = 1;  // DO NOT CHANGE: written to disk

absl::Status ReadFormat(ByteReader& reader, absl::string_view what) {
  uint8_t format = 0;
  if (!reader.ReadU8(format)) return absl::DataLossError(absl::StrCat("empty ", what));
  if (format != kFormat) return absl::DataLossError(absl::StrCat(what, " of unknown format ", format));
  return absl::OkStatus();
}

absl::Status Malformed(absl::string_view what) { return absl::DataLossError(absl::StrCat("malformed ", what)); }

// Values that are one number.
template <typename Number>
std::string EncodeOne(Number number, void (*append)(std::string&, Number)) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  append(bytes, number);
  return bytes;
}

template <typename Number>
absl::StatusOr<Number> DecodeOne(absl::string_view bytes, absl::string_view what, bool (ByteReader::*read)(Number&)) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, what));
  Number number = 0;
  if (!(reader.*read)(number) || !reader.empty()) return Malformed(what);
  return number;
}

// Values that are one message.
template <typename Message>
std::string EncodeMessage(const Message& message) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  CHECK(message.AppendToString(&bytes));
  return bytes;
}

template <typename Message>
absl::StatusOr<Message> DecodeMessage(absl::string_view bytes, absl::string_view what) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, what));
  bytes.remove_prefix(sizeof(kFormat));
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Malformed(what);
  return message;
}

}  // namespace

std::string EncodeMark(const MarkValue& mark) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  AppendU64(bytes, mark.sequence);
  AppendOrderedI64(bytes, mark.written_wall_ns);
  return bytes;
}

absl::StatusOr<MarkValue> DecodeMark(absl::string_view bytes) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, "mark"));
  MarkValue mark;
  const bool whole = reader.ReadU64(mark.sequence) && reader.ReadOrderedI64(mark.written_wall_ns);
  if (!whole || !reader.empty()) return Malformed("mark");
  return mark;
}

std::string EncodeIndex(const IndexValue& index) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  AppendU64(bytes, index.id);
  AppendOrderedI64(bytes, index.used_until_wall_ns);
  return bytes;
}

absl::StatusOr<IndexValue> DecodeIndex(absl::string_view bytes) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, "index entry"));
  IndexValue index;
  const bool whole = reader.ReadU64(index.id) && reader.ReadOrderedI64(index.used_until_wall_ns);
  if (!whole || !reader.empty()) return Malformed("index entry");
  return index;
}

std::string EncodeSeen(int64_t last_report_wall_ns) { return EncodeOne(last_report_wall_ns, AppendOrderedI64); }

absl::StatusOr<int64_t> DecodeSeen(absl::string_view bytes) {
  return DecodeOne(bytes, "host", &ByteReader::ReadOrderedI64);
}

std::string EncodeIncident(const wire::Incident& incident) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  AppendOrderedI64(bytes, incident.resolved_wall_ns());
  CHECK(incident.AppendToString(&bytes));
  return bytes;
}

absl::StatusOr<int64_t> IncidentResolvedWallNanos(absl::string_view bytes) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, "incident"));
  int64_t resolved_wall_ns = 0;
  if (!reader.ReadOrderedI64(resolved_wall_ns)) return Malformed("incident");
  return resolved_wall_ns;
}

absl::StatusOr<wire::Incident> DecodeIncident(absl::string_view bytes) {
  RETURN_IF_ERROR(IncidentResolvedWallNanos(bytes).status());
  bytes.remove_prefix(sizeof(kFormat) + sizeof(int64_t));
  wire::Incident incident;
  if (!incident.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Malformed("incident");
  return incident;
}

std::string EncodeIncidentEvent(const wire::IncidentEvent& event) { return EncodeMessage(event); }

absl::StatusOr<wire::IncidentEvent> DecodeIncidentEvent(absl::string_view bytes) {
  return DecodeMessage<wire::IncidentEvent>(bytes, "event of an incident");
}

std::string EncodeTold(const ToldValue& value) {
  std::string bytes;
  AppendU8(bytes, kFormat);
  AppendShortText(bytes, value.channel);
  AppendShortText(bytes, value.thread);
  AppendU64(bytes, static_cast<uint64_t>(value.wall_ns));
  return bytes;
}

absl::StatusOr<ToldValue> DecodeTold(absl::string_view bytes) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, "told alert"));
  ToldValue value;
  uint64_t wall_ns = 0;
  const bool whole =
      reader.ReadShortText(value.channel) && reader.ReadShortText(value.thread) && reader.ReadU64(wall_ns);
  if (!whole || !reader.empty()) return Malformed("told alert");
  value.wall_ns = static_cast<int64_t>(wall_ns);
  return value;
}

std::string EncodeHostGpus(const wire::HostGpus& gpus) { return EncodeMessage(gpus); }

absl::StatusOr<wire::HostGpus> DecodeHostGpus(absl::string_view bytes) {
  return DecodeMessage<wire::HostGpus>(bytes, "GPUs of a host");
}

std::string EncodeStackDump(const wire::StackDump& dump) { return EncodeMessage(dump); }

absl::StatusOr<wire::StackDump> DecodeStackDump(absl::string_view bytes) {
  return DecodeMessage<wire::StackDump>(bytes, "stacks");
}

std::string EncodeAuditRecord(const wire::AuditRecord& record) { return EncodeMessage(record); }

absl::StatusOr<wire::AuditRecord> DecodeAuditRecord(absl::string_view bytes) {
  return DecodeMessage<wire::AuditRecord>(bytes, "audit record");
}

std::string EncodeMaintenanceWindow(const wire::MaintenanceWindow& window) { return EncodeMessage(window); }

absl::StatusOr<wire::MaintenanceWindow> DecodeMaintenanceWindow(absl::string_view bytes) {
  return DecodeMessage<wire::MaintenanceWindow>(bytes, "window of maintenance");
}

std::string EncodeNumberOffset(uint64_t offset) { return EncodeOne(offset, AppendU64); }

absl::StatusOr<uint64_t> DecodeNumberOffset(absl::string_view bytes) {
  return DecodeOne(bytes, "offset of numbers", &ByteReader::ReadU64);
}

std::string EncodeIncidentIds(uint64_t id) { return EncodeOne(id, AppendU64); }

absl::StatusOr<uint64_t> DecodeIncidentIds(absl::string_view bytes) {
  return DecodeOne(bytes, "ids of incidents", &ByteReader::ReadU64);
}

std::string EncodePauses(const std::vector<Pause>& pauses) {
  std::string bytes = EncodeOne(static_cast<uint32_t>(pauses.size()), AppendU32);
  for (const Pause& pause : pauses) {
    AppendOrderedI64(bytes, pause.from_wall_ns);
    AppendOrderedI64(bytes, pause.until_wall_ns);
  }
  return bytes;
}

absl::StatusOr<std::vector<Pause>> DecodePauses(absl::string_view bytes) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(ReadFormat(reader, "pauses"));
  uint32_t count = 0;
  if (!reader.ReadU32(count) || count > HistoryAge::kMostPauses) return Malformed("pauses");
  std::vector<Pause> pauses(count);
  int64_t behind_ns = std::numeric_limits<int64_t>::min();
  for (Pause& pause : pauses) {
    if (!reader.ReadOrderedI64(pause.from_wall_ns) || !reader.ReadOrderedI64(pause.until_wall_ns) ||
        pause.from_wall_ns < behind_ns || pause.until_wall_ns <= pause.from_wall_ns) {
      return Malformed("pauses");
    }
    behind_ns = pause.until_wall_ns;
  }
  if (!reader.empty()) return Malformed("pauses");
  return pauses;
}

std::string EncodeSchemaVersion(uint32_t version) { return EncodeOne(version, AppendU32); }

absl::StatusOr<uint32_t> DecodeSchemaVersion(absl::string_view bytes) {
  return DecodeOne(bytes, "schema version", &ByteReader::ReadU32);
}

}  // namespace lockstep
