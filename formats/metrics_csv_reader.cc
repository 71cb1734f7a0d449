#include "formats/metrics_csv_reader.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"
#include "formats/csv_job_rows.h"
#include "formats/csv_row.h"
#include "formats/csv_table.h"
#include "formats/exporter_names.h"

namespace lockstep {
namespace {

enum Column { kTime, kJob, kHost, kDevice, kMetric, kValue };

constexpr CsvColumn kColumns[] = {{"time_ms", true}, {"job"},          {"host", true},
                                  {"device"},        {"metric", true}, {"value", true}};

// Some exporters write milliseconds with a fraction.
absl::Status ParseTime(absl::string_view cell, int64_t& time_ms) {
  constexpr double kMaxMillis = 9e15;  // integers up to here are exact
  double fractional = 0;
  if (ParseCell(cell, time_ms)) return absl::OkStatus();
  if (!ParseCell(cell, fractional) || !(std::fabs(fractional) < kMaxMillis)) {
    return BadCell("time_ms", "milliseconds", cell);
  }
  time_ms = std::llround(fractional);
  return absl::OkStatus();
}

absl::Status ParseRow(const CsvRow& row, absl::Span<const int> at, SampleRow& parsed) {
  RETURN_IF_ERROR(ParseTime(row.cell(at[kTime]), parsed.time_ms));
  const absl::string_view value = row.cell(at[kValue]);
  parsed.value = std::numeric_limits<double>::quiet_NaN();
  if (!value.empty() && !ParseCell(value, parsed.value)) return BadCell("value", "a number", value);
  parsed.host = row.cell(at[kHost]);
  parsed.device = row.cell(at[kDevice]);
  parsed.metric = row.cell(at[kMetric]);
  if (parsed.host.empty()) return BadCell("host", "a name", "");
  if (parsed.metric.empty()) return BadCell("metric", "a name", "");
  if (const ExporterName* known = FindExporterName(parsed.metric); known != nullptr) {
    parsed.metric = known->ours;
    if (!IsBlankSentinel(parsed.value)) parsed.value *= known->factor;  // else it would no longer be known as one
  }
  return absl::OkStatus();
}

}  // namespace

ReadResult ReadMetricsCsv(ByteSource& source, absl::string_view default_job, EvidenceBuilder& builder) {
  return ReadJobRows(source, kColumns, kJob, default_job, builder, ParseRow, &EvidenceBuilder::AddSample);
}

}  // namespace lockstep
