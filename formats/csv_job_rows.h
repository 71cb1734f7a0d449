// What the CSV formats share: every row tells something of one job, named in a column of its own or for the whole file.
//
// Pure, but for what it reads and builds. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_CSV_JOB_ROWS_H_
#define LOCKSTEP_FORMATS_CSV_JOB_ROWS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "formats/byte_source.h"
#include "formats/csv_row.h"
#include "formats/csv_table.h"
#include "formats/evidence_builder.h"
#include "formats/read_result.h"

namespace lockstep {

// Parses each row of `source` into a Row and hands it to `add`, under the job in column `job_column` or, where that is
// empty or absent, `default_job`. Malformed rows count as records lost by the job that was read last.
template <typename Row>
ReadResult ReadJobRows(ByteSource& source, absl::Span<const CsvColumn> columns, int job_column,
                       absl::string_view default_job, EvidenceBuilder& builder,
                       absl::Status (*parse)(const CsvRow&, absl::Span<const int>, Row&),
                       void (EvidenceBuilder::*add)(JobIndex, const Row&)) {
  std::string job_name;  // of the row before: mostly the same
  JobIndex job = -1;
  ReadResult result = ReadCsv(source, columns, [&](const CsvRow& row, absl::Span<const int> at) {
    Row parsed;
    RETURN_IF_ERROR(parse(row, at, parsed));
    absl::string_view name = row.cell(at[static_cast<size_t>(job_column)]);
    if (name.empty()) name = default_job;
    if (job < 0 || name != job_name) {
      job = builder.Job(name);
      job_name = std::string(name);
    }
    (builder.*add)(job, parsed);
    return absl::OkStatus();
  });
  if (result.malformed > 0) builder.AddLost(job < 0 ? builder.Job(default_job) : job, result.malformed);
  return result;
}

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_CSV_JOB_ROWS_H_
