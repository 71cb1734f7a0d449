#include "formats/ops_csv_reader.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "formats/csv_job_rows.h"
#include "formats/csv_row.h"
#include "formats/csv_table.h"
#include "formats/operation_names.h"
#include "formats/time_range.h"

namespace lockstep {
namespace {

enum Column {
  kJob,
  kHost,
  kGpu,
  kRank,
  kComm,
  kCommRank,
  kCommSize,
  kSeq,
  kOp,
  kPeer,
  kBytes,
  kEnqueue,
  kStart,
  kEnd,
  kTaken,
};

constexpr CsvColumn kColumns[] = {
    {"job"},       {"host"},     {"gpu"},  {"rank", true}, {"comm", true}, {"comm_rank"},      {"comm_size"},
    {"seq", true}, {"op", true}, {"peer"}, {"bytes"},      {"enqueue_ns"}, {"start_ns", true}, {"end_ns", true},
    {"taken_ns"},
};

// Cells that may be empty keep the value that stands for "not known".
template <typename Number>
absl::Status Optional(const CsvRow& row, absl::Span<const int> at, Column column, absl::string_view expected,
                      Number& value) {
  const absl::string_view cell = row.cell(at[column]);
  if (cell.empty() || ParseCell(cell, value)) return absl::OkStatus();
  return BadCell(kColumns[column].name, expected, cell);
}

template <typename Number>
absl::Status Required(const CsvRow& row, absl::Span<const int> at, Column column, absl::string_view expected,
                      Number& value) {
  const absl::string_view cell = row.cell(at[column]);
  return ParseCell(cell, value) ? absl::OkStatus() : BadCell(kColumns[column].name, expected, cell);
}

constexpr char kInteger[] = "an integer";
constexpr char kUnsigned[] = "an unsigned integer";
constexpr char kNanos[] = "nanoseconds";

absl::Status Time(const CsvRow& row, absl::Span<const int> at, Column column, int64_t& nanos) {
  RETURN_IF_ERROR(Optional(row, at, column, kNanos, nanos));
  const absl::string_view cell = row.cell(at[column]);
  return cell.empty() || IsRecordedTime(nanos) ? absl::OkStatus() : BadCell(kColumns[column].name, kNanos, cell);
}

absl::Status ParseTimes(const CsvRow& row, absl::Span<const int> at, TraceOperation& operation) {
  RETURN_IF_ERROR(Time(row, at, kEnqueue, operation.enqueue_ns));
  RETURN_IF_ERROR(Time(row, at, kStart, operation.start_ns));
  RETURN_IF_ERROR(Time(row, at, kEnd, operation.end_ns));
  if (operation.enqueue_ns == kNoTime) operation.enqueue_ns = operation.start_ns;
  if (operation.enqueue_ns == kNoTime) return BadCell("enqueue_ns", kNanos, "");
  // Where nobody saw it begin, the call is all that is known.
  if (operation.finished() && !operation.started()) {
    operation.start_ns = operation.enqueue_ns;
    operation.quality = TimingQuality::kHostEnqueue;
  }
  if (operation.finished() && operation.end_ns < operation.start_ns) {
    return BadCell("end_ns", "a time after start_ns", row.cell(at[kEnd]));
  }
  return absl::OkStatus();
}

// Unknown sizes are written as nothing, 0 or -1.
absl::Status ParseBytes(const CsvRow& row, absl::Span<const int> at, uint64_t& bytes) {
  int64_t value = 0;
  RETURN_IF_ERROR(Optional(row, at, kBytes, kUnsigned, value));
  bytes = value > 0 ? static_cast<uint64_t>(value) : 0;
  return absl::OkStatus();
}

absl::Status ParseRow(const CsvRow& row, absl::Span<const int> at, OperationRow& parsed) {
  RETURN_IF_ERROR(Required(row, at, kRank, kInteger, parsed.rank));
  RETURN_IF_ERROR(Required(row, at, kSeq, kUnsigned, parsed.operation.sequence));
  RETURN_IF_ERROR(Optional(row, at, kGpu, kInteger, parsed.gpu));
  RETURN_IF_ERROR(Optional(row, at, kCommRank, kInteger, parsed.communicator_rank));
  RETURN_IF_ERROR(Optional(row, at, kCommSize, kInteger, parsed.communicator_size));
  RETURN_IF_ERROR(Optional(row, at, kPeer, kInteger, parsed.operation.peer));
  RETURN_IF_ERROR(ParseBytes(row, at, parsed.operation.bytes));
  RETURN_IF_ERROR(ParseTimes(row, at, parsed.operation));
  RETURN_IF_ERROR(Time(row, at, kTaken, parsed.taken_ns));
  if (parsed.rank < 0 || parsed.rank > kMaxRank) return BadCell("rank", "a rank", row.cell(at[kRank]));
  parsed.host = row.cell(at[kHost]);
  parsed.communicator = row.cell(at[kComm]);
  // Operations without a communicator would all be taken for those of one, whose members wait for each other.
  if (parsed.communicator.empty()) return BadCell("comm", "a name", "");
  parsed.operation.kind = OperationKindOf(row.cell(at[kOp]));
  return absl::OkStatus();
}

}  // namespace

ReadResult ReadOpsCsv(ByteSource& source, absl::string_view default_job, EvidenceBuilder& builder) {
  return ReadJobRows(source, kColumns, kJob, default_job, builder, ParseRow, &EvidenceBuilder::AddOperation);
}

}  // namespace lockstep
