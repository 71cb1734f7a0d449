// Whatever lies on the disk: decoders of keys and values report it and never crash, and what decodes encodes again to
// something that decodes to the same.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/store/chunk.h"
#include "collector/store/keys.h"
#include "collector/store/log_chunk.h"
#include "collector/store/rollup.h"
#include "collector/store/values.h"

namespace lockstep {
namespace {

void DecodeKeys(absl::string_view bytes) {
  if (const auto key = DecodeTimedKey(bytes); key.ok()) CHECK(EncodeTimedKey(*key) == bytes);
  if (const auto labels = DecodeSeriesLabels(bytes); labels.ok()) CHECK(EncodeSeriesLabels(*labels) == bytes);
  if (const auto id = DecodeIncidentKey(bytes); id.ok()) CHECK(EncodeIncidentKey(*id) == bytes);
  if (const auto key = DecodeAuditKey(bytes); key.ok()) CHECK(EncodeAuditKey(*key) == bytes);
  if (const auto key = DecodeAlertKey(bytes); key.ok()) CHECK(EncodeAlertKey(*key) == bytes);
  if (const auto key = DecodeToldKey(bytes); key.ok()) CHECK(EncodeToldKey(*key) == bytes);
  if (const auto value = DecodeTold(bytes); value.ok()) CHECK(EncodeTold(*value) == bytes);
}

void DecodeSmallValues(absl::string_view bytes) {
  if (const auto mark = DecodeMark(bytes); mark.ok()) CHECK(EncodeMark(*mark) == bytes);
  if (const auto index = DecodeIndex(bytes); index.ok()) CHECK(EncodeIndex(*index) == bytes);
  if (const auto version = DecodeSchemaVersion(bytes); version.ok()) CHECK(EncodeSchemaVersion(*version) == bytes);
  if (const auto seen = DecodeSeen(bytes); seen.ok()) CHECK(EncodeSeen(*seen) == bytes);
  if (const auto pauses = DecodePauses(bytes); pauses.ok()) CHECK(EncodePauses(*pauses) == bytes);
  if (const auto offset = DecodeNumberOffset(bytes); offset.ok()) CHECK(EncodeNumberOffset(*offset) == bytes);
  if (const auto event = DecodeIncidentEvent(bytes); event.ok()) {
    CHECK(DecodeIncidentEvent(EncodeIncidentEvent(*event)).ok());
  }
  if (const auto rollup = DecodeRollup(bytes); rollup.ok()) CHECK(EncodeRollup(*rollup) == bytes);
  if (const auto incident = DecodeIncident(bytes); incident.ok()) CHECK(DecodeIncident(EncodeIncident(*incident)).ok());
  if (const auto ids = DecodeIncidentIds(bytes); ids.ok()) CHECK(EncodeIncidentIds(*ids) == bytes);
  if (const auto dump = DecodeStackDump(bytes); dump.ok()) CHECK(DecodeStackDump(EncodeStackDump(*dump)).ok());
  if (const auto window = DecodeMaintenanceWindow(bytes); window.ok()) {
    CHECK(DecodeMaintenanceWindow(EncodeMaintenanceWindow(*window)).ok());
  }
  if (const auto record = DecodeAuditRecord(bytes); record.ok()) {
    CHECK(DecodeAuditRecord(EncodeAuditRecord(*record)).ok());
  }
}

void DecodeChunks(absl::string_view bytes) {
  // Varints may be longer than needed, so that only the points can be compared; NaN is not equal to itself.
  if (const auto points = DecodeChunk(bytes); points.ok()) {
    const std::string encoded = EncodeChunk(*points);
    CHECK(EncodeChunk(DecodeChunk(encoded).value()) == encoded);
  }
  if (const auto entries = DecodeLogChunk(bytes); entries.ok()) {
    CHECK(LogChunkLastWallNanos(bytes).ok());
    for (const wire::CaptureEntry& entry : *entries) CHECK(JobOf(entry).size() <= kMaxLogPayloadBytes);
  }
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  lockstep::DecodeKeys(bytes);
  lockstep::DecodeSmallValues(bytes);
  lockstep::DecodeChunks(bytes);
  return 0;
}
