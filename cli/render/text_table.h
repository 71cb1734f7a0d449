// Text for people: columns that line up, and nothing that a terminal would obey.

#ifndef LOCKSTEP_CLI_RENDER_TEXT_TABLE_H_
#define LOCKSTEP_CLI_RENDER_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/render/colour.h"

namespace lockstep {

// `text` on one line: control characters, such as the escape sequences that a hostile job name may carry, become '?'.
// Pure.
std::string Printable(absl::string_view text);

// Characters of UTF-8 `text`, which is its width on a terminal as long as nobody uses double-width ones. Pure.
size_t DisplayWidth(absl::string_view text);

// The first `width` characters of `text`, the last of them an ellipsis if there were more. Pure.
std::string Shortened(absl::string_view text, size_t width);

// Collects rows, then renders all. Not thread-safe.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    Colour (*colour_of)(absl::string_view cell) = nullptr;  // nullptr = none
  };

  explicit TextTable(std::vector<Column> columns);

  // As many cells as columns; made printable here.
  void AddRow(const std::vector<std::string>& cells);

  bool empty() const { return rows_.empty(); }

  // Title line and rows, two spaces between columns, no trailing space. If the lines would be wider than `width`
  // (0 = no limit), the last column is shortened, but never below its title. Cells are coloured only if asked for.
  std::string Render(int width, bool coloured = false) const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_TEXT_TABLE_H_
