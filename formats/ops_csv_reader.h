// Reads ops-csv: one row per (rank, operation). docs/formats.md describes the columns.
//
// Columns in any order, unknown ones ignored. rank, comm, seq, op and one of the times are required; a cell of another
// column may be empty. Streams: memory is a line and what the builder keeps.

#ifndef LOCKSTEP_FORMATS_OPS_CSV_READER_H_
#define LOCKSTEP_FORMATS_OPS_CSV_READER_H_

#include "absl/strings/string_view.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/read_result.h"

namespace lockstep {

// Rows without a job belong to `default_job`.
ReadResult ReadOpsCsv(ByteSource& source, absl::string_view default_job, EvidenceBuilder& builder);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_OPS_CSV_READER_H_
