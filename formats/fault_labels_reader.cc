#include "formats/fault_labels_reader.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "formats/csv_row.h"
#include "formats/csv_table.h"

namespace lockstep {
namespace {

enum Column { kJob, kBegin, kEnd };

constexpr CsvColumn kColumns[] = {{"job", true}, {"begin_ms", true}, {"end_ms", true}};

absl::Status ParseLabel(const CsvRow& row, absl::Span<const int> at, FaultLabel& label) {
  label.job = std::string(row.cell(at[kJob]));
  if (label.job.empty()) return BadCell("job", "a name", "");
  if (!ParseCell(row.cell(at[kBegin]), label.begin_ms)) {
    return BadCell("begin_ms", "milliseconds", row.cell(at[kBegin]));
  }
  if (!ParseCell(row.cell(at[kEnd]), label.end_ms)) return BadCell("end_ms", "milliseconds", row.cell(at[kEnd]));
  if (label.end_ms < label.begin_ms) return BadCell("end_ms", "no time before begin_ms", row.cell(at[kEnd]));
  return absl::OkStatus();
}

}  // namespace

ReadResult ReadFaultLabels(ByteSource& source, std::vector<FaultLabel>& labels) {
  return ReadCsv(source, kColumns, [&labels](const CsvRow& row, absl::Span<const int> at) {
    if (labels.size() >= kMaxFaultLabels) return absl::ResourceExhaustedError("too many fault labels");
    FaultLabel label;
    absl::Status status = ParseLabel(row, at, label);
    if (status.ok()) labels.push_back(std::move(label));
    return status;
  });
}

}  // namespace lockstep
