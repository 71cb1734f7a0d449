#include "formats/metrics_csv_writer.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "formats/csv_cell.h"

namespace lockstep {
namespace {

constexpr char kHeader[] = "time_ms,job,host,device,metric,value\n";

void AppendValue(std::string& line, double value) {
  if (std::isnan(value)) {
    line.append("NaN");
    return;
  }
  char digits[32];  // the shortest form of a double has at most 24 characters
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  line.append(digits, end.ptr);
}

}  // namespace

absl::Status WriteMetricsCsv(const MetricTable& table, FileWriter& file) {
  RETURN_IF_ERROR(file.Append(kHeader));
  std::string line;
  for (const MetricSeries& series : table.series) {
    std::string cells = ",";
    AppendCsvCell(cells, table.job);
    cells.push_back(',');
    if (series.host >= 0) AppendCsvCell(cells, table.hosts[static_cast<size_t>(series.host)]);
    cells.push_back(',');
    AppendCsvCell(cells, series.device);
    cells.push_back(',');
    AppendCsvCell(cells, series.name);
    cells.push_back(',');
    for (size_t i = 0; i < series.time_ms.size(); ++i) {
      line.clear();
      absl::StrAppend(&line, series.time_ms[i], cells);
      AppendValue(line, series.value[i]);
      line.push_back('\n');
      RETURN_IF_ERROR(file.Append(line));
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep
