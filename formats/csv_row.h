// Cells of one line of CSV, and the numbers in them. Pure, but for the buffers that a row keeps between lines.

#ifndef LOCKSTEP_FORMATS_CSV_ROW_H_
#define LOCKSTEP_FORMATS_CSV_ROW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr size_t kMaxCsvColumns = 256;

// Splits at commas; a cell may stand in quotes, in which "" is a quote. Line breaks within cells are not supported.
// Reused from line to line. Not thread-safe.
class CsvRow {
 public:
  // False when a quote does not end, or there are more than kMaxCsvColumns cells. Cells are valid until the next call
  // and as long as `line` is.
  bool Split(absl::string_view line);

  size_t size() const { return cells_.size(); }

  // Cell `column`, or "" for a column that the row or the file (-1) does not have.
  absl::string_view cell(int column) const {
    return column >= 0 && static_cast<size_t>(column) < cells_.size() ? cells_[static_cast<size_t>(column)]
                                                                      : absl::string_view();
  }

 private:
  bool SplitQuoted(absl::string_view line);

  std::vector<absl::string_view> cells_;
  std::vector<std::string> unquoted_;
};

// Whole cells only, without spaces: false for anything else, also when the number does not fit.
bool ParseCell(absl::string_view cell, int64_t& value);
bool ParseCell(absl::string_view cell, uint64_t& value);
bool ParseCell(absl::string_view cell, int32_t& value);
bool ParseCell(absl::string_view cell, double& value);  // also "nan", "inf" in any case

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_CSV_ROW_H_
