// Writes counter histories as metrics-csv: one row per sample, series after series. docs/formats.md describes the
// columns. Values are written with the digits that bring back the same double.

#ifndef LOCKSTEP_FORMATS_METRICS_CSV_WRITER_H_
#define LOCKSTEP_FORMATS_METRICS_CSV_WRITER_H_

#include "absl/status/status.h"
#include "detector/model/metric_table.h"
#include "formats/file_writer.h"

namespace lockstep {

// Header and rows. The caller closes `file`.
absl::Status WriteMetricsCsv(const MetricTable& table, FileWriter& file);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_METRICS_CSV_WRITER_H_
