// Arbitrary bytes as a spool segment, alone and behind a sound beginning: never more is read than is there, and what is
// read can be written again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/spool/segment_format.h"
#include "agent/spool/segment_reader.h"
#include "base/check.h"

namespace lockstep {
namespace {

void ReadAll(const std::string& bytes) {
  absl::StatusOr<SegmentReader> reader = SegmentReader::Open(bytes);
  if (!reader.ok()) return;
  SegmentRecord record;
  size_t taken = 0;
  while (reader->Next(record)) {
    if (!record.report.has_value()) continue;
    const std::string again = EncodeReport(*record.report);
    const RecordTry attempt = DecodeRecord(again);
    CHECK(attempt.result == RecordTry::Result::kRecord);
    CHECK(attempt.bytes == again.size());
    CHECK(attempt.record.report->bytes == record.report->bytes);
    taken += again.size();
  }
  CHECK(taken + reader->corrupt_bytes() + reader->torn_bytes() <= bytes.size());
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  lockstep::ReadAll(bytes);
  const std::string sound =
      lockstep::EncodeSegmentHeader({"node", "boot", 7, 1, 0}) + lockstep::EncodeReport({1, 2, 3, "resume", "report"});
  lockstep::ReadAll(sound + bytes + lockstep::EncodeReport({2, 2, 3, "resume", "report"}));
  return 0;
}
