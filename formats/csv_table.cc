#include "formats/csv_table.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "formats/line_reader.h"

namespace lockstep {
namespace {

constexpr size_t kMaxQuotedBytes = 60;

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(text.substr(0, kMaxQuotedBytes)),
                      text.size() > kMaxQuotedBytes ? "...'" : "'");
}

absl::StatusOr<std::vector<int>> FindColumns(absl::string_view header, uint64_t line_number,
                                             absl::Span<const CsvColumn> columns) {
  CsvRow row;
  if (!row.Split(header)) {
    return absl::DataLossError(
        absl::StrCat("line ", line_number, ": expected a header, found an open quote or too many cells"));
  }
  std::vector<int> positions(columns.size(), -1);
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (absl::StripAsciiWhitespace(row.cell(static_cast<int>(i))) == columns[c].name)
        positions[c] = static_cast<int>(i);
    }
    if (columns[c].required && positions[c] < 0) {
      return absl::DataLossError(absl::StrCat("line ", line_number, ": expected a column '", columns[c].name,
                                              "', found the header ", Quoted(header)));
    }
  }
  return positions;
}

}  // namespace

absl::Status BadCell(absl::string_view column, absl::string_view expected, absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat("column '", column, "': expected ", expected, ", found ", Quoted(found)));
}

ReadResult ReadCsv(ByteSource& source, absl::Span<const CsvColumn> columns,
                   const std::function<absl::Status(const CsvRow& row, absl::Span<const int> positions)>& take) {
  ReadResult result;
  LineReader lines(source);
  CsvRow row;
  std::vector<int> positions;
  while (result.malformed < kMaxMalformedRows) {
    absl::string_view line;
    const absl::StatusOr<bool> more = lines.Next(line);
    if (!more.ok()) {
      result.status = absl::DataLossError(absl::StrCat(more.status().message(), ", after ", result.records, " rows"));
      return result;
    }
    if (!*more) break;
    if (line.empty()) continue;
    if (positions.empty()) {
      absl::StatusOr<std::vector<int>> found = FindColumns(line, lines.line_number(), columns);
      result.status = found.status();
      if (!found.ok()) return result;
      positions = *std::move(found);
      continue;
    }
    const absl::Status taken =
        row.Split(line) ? take(row, positions)
                        : absl::InvalidArgumentError("expected a row, found an open quote or too many cells");
    if (taken.ok()) {
      ++result.records;
      continue;
    }
    if (result.malformed++ == 0) {
      result.status = absl::DataLossError(absl::StrCat("line ", lines.line_number(), ": ", taken.message()));
    }
  }
  if (positions.empty()) result.status = absl::DataLossError("line 1: expected a header, found the end of the file");
  return result;
}

}  // namespace lockstep
