#include "formats/csv_row.h"

#include <string.h>

#include <charconv>
#include <system_error>

namespace lockstep {
namespace {

template <typename Number>
bool ParseWhole(absl::string_view cell, Number& value) {
  const char* end = cell.data() + cell.size();
  const std::from_chars_result result = std::from_chars(cell.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

bool CsvRow::Split(absl::string_view line) {
  cells_.clear();
  if (memchr(line.data(), '"', line.size()) != nullptr) return SplitQuoted(line);
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    if (cells_.size() == kMaxCsvColumns) return false;
    const auto* comma = static_cast<const char*>(memchr(at, ',', static_cast<size_t>(end - at)));
    if (comma == nullptr) break;
    cells_.emplace_back(at, static_cast<size_t>(comma - at));
    at = comma + 1;
  }
  cells_.emplace_back(at, static_cast<size_t>(end - at));
  return true;
}

bool CsvRow::SplitQuoted(absl::string_view line) {
  unquoted_.clear();
  std::string cell;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cell.push_back('"');
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      unquoted_.push_back(std::move(cell));
      cell.clear();
      if (unquoted_.size() == kMaxCsvColumns) return false;
    } else {
      cell.push_back(c);
    }
  }
  unquoted_.push_back(std::move(cell));
  cells_.assign(unquoted_.begin(), unquoted_.end());
  return !quoted;
}

bool ParseCell(absl::string_view cell, int64_t& value) { return ParseWhole(cell, value); }
bool ParseCell(absl::string_view cell, uint64_t& value) { return ParseWhole(cell, value); }
bool ParseCell(absl::string_view cell, int32_t& value) { return ParseWhole(cell, value); }
bool ParseCell(absl::string_view cell, double& value) { return ParseWhole(cell, value); }

}  // namespace lockstep
