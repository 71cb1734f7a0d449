// One cell of a CSV file as RFC 4180 wants it.

#ifndef LOCKSTEP_FORMATS_CSV_CELL_H_
#define LOCKSTEP_FORMATS_CSV_CELL_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// Appends `text`, in quotes where a comma, quote or line end in it demands them. Pure.
void AppendCsvCell(std::string& line, absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_CSV_CELL_H_
