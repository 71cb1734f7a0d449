#include "formats/csv_cell.h"

namespace lockstep {

void AppendCsvCell(std::string& line, absl::string_view text) {
  if (text.find_first_of("\",\r\n") == absl::string_view::npos) {
    line.append(text.data(), text.size());
    return;
  }
  line.push_back('"');
  for (const char c : text) {
    if (c == '"') line.push_back('"');
    line.push_back(c);
  }
  line.push_back('"');
}

}  // namespace lockstep
