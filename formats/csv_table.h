// A CSV file with a header: finds the columns, hands out the rows, and keeps count of those that are malformed.
//
// A malformed row is skipped, the first one becomes the status of the result; after kMaxMalformedRows the file is given
// up. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_CSV_TABLE_H_
#define LOCKSTEP_FORMATS_CSV_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/byte_source.h"
#include "formats/csv_row.h"
#include "formats/read_result.h"

namespace lockstep {

inline constexpr uint64_t kMaxMalformedRows = 1000;

struct CsvColumn {
  absl::string_view name;
  bool required = false;
};

// "column 'seq': expected an unsigned integer, found 'x'", with what was found cut short. INVALID_ARGUMENT.
absl::Status BadCell(absl::string_view column, absl::string_view expected, absl::string_view found);

// Reads `source` to its end. `take` gets every row and the position of each of `columns` in it (-1 = absent), and says
// what is wrong with the row, if anything.
ReadResult ReadCsv(ByteSource& source, absl::Span<const CsvColumn> columns,
                   const std::function<absl::Status(const CsvRow& row, absl::Span<const int> positions)>& take);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_CSV_TABLE_H_
