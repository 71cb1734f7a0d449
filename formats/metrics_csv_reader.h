// Reads metrics-csv: one row per sample, header time_ms,job,host,device,metric,value. docs/formats.md describes it.
//
// Columns in any order, unknown ones ignored. An empty value is NaN: a sample was due and is missing. Streams: memory
// is a line and what the builder keeps.

#ifndef LOCKSTEP_FORMATS_METRICS_CSV_READER_H_
#define LOCKSTEP_FORMATS_METRICS_CSV_READER_H_

#include "absl/strings/string_view.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/read_result.h"

namespace lockstep {

// Rows without a job belong to `default_job`.
ReadResult ReadMetricsCsv(ByteSource& source, absl::string_view default_job, EvidenceBuilder& builder);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_METRICS_CSV_READER_H_
