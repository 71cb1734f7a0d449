// The bytes of a spool segment: a header, then records; docs/spool-format.md has the layout.
//
// A segment belongs to one incarnation of one host's agent and is only appended to, so that a crash can spoil its end
// and nothing else. Every record has a marker and a CRC32C of its own: a reader that meets nonsense finds the next
// record. Integers are little-endian. Pure; thread-compatible.

#ifndef LOCKSTEP_AGENT_SPOOL_SEGMENT_FORMAT_H_
#define LOCKSTEP_AGENT_SPOOL_SEGMENT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

inline constexpr uint32_t kSegmentVersion = 1;
inline constexpr size_t kMaxRecordBodyBytes = 8 << 20;  // a report has up to 3 MiB, a resume point far less
inline constexpr size_t kMaxSegmentNameBytes = 256;     // of a host, of a boot id
inline constexpr size_t kMaxSegmentHeaderBytes = 1024;

struct SegmentHeader {
  std::string host;
  std::string boot_id;          // of the boot in which it was begun; "" = not known
  uint64_t incarnation = 0;     // of the agent that made the reports
  uint64_t first_sequence = 0;  // of the report that it was begun for
  uint32_t thinning = 0;        // level to which counters were thinned out (shedding.h)
};

// A report as it was made.
struct SpooledReport {
  uint64_t sequence = 0;
  int64_t wall_ns = 0;  // when it was made
  int64_t boot_ns = 0;  // likewise, CLOCK_BOOTTIME
  std::string resume;   // wire::ResumePoint after it; "" = none
  std::string bytes;    // wire::AgentReport
};

// Reports of `incarnation` up to `sequence` are stored by the collector, or given up: they are not to be sent again.
struct SpooledAck {
  uint64_t incarnation = 0;
  uint64_t sequence = 0;
};

enum class RecordType : uint8_t { kReport = 1, kAcknowledged = 2 };

// What one record says. A type that is not known has neither.
struct SegmentRecord {
  absl::optional<SpooledReport> report;
  absl::optional<SpooledAck> ack;
};

std::string EncodeSegmentHeader(const SegmentHeader& header);
std::string EncodeReport(const SpooledReport& report);
std::string EncodeAck(const SpooledAck& ack);

// What a segment begins with; `bytes` is set to its length. FAILED_PRECONDITION = a newer version than this program
// knows, to be left alone; DATA_LOSS = no segment, or a damaged header.
absl::StatusOr<SegmentHeader> DecodeSegmentHeader(absl::string_view segment, size_t* bytes);

// What a try to read a record at the start of `data` gives.
struct RecordTry {
  enum class Result {
    kRecord,   // `record` and `bytes` are set
    kCut,      // looks like a record, but `data` ends before it does
    kNonsense  // is none, or does not have the checksum that it says
  };
  Result result = Result::kNonsense;
  size_t bytes = 0;
  SegmentRecord record;
};
RecordTry DecodeRecord(absl::string_view data);

// As in RFC 3720: of `first` with `second` behind it.
uint32_t Crc32c(absl::string_view first, absl::string_view second = {});

// Where a record may begin in `data`, at `from` or later; npos = nowhere.
size_t FindRecordMarker(absl::string_view data, size_t from);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_SEGMENT_FORMAT_H_
