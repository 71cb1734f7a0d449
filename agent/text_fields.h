// Walks over the lines and fields of a text of the kernel without copying it. Pure.

#ifndef LOCKSTEP_AGENT_TEXT_FIELDS_H_
#define LOCKSTEP_AGENT_TEXT_FIELDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

// Takes the next line, without its newline, off the front of `text`. The last line may lack the newline.
inline absl::string_view TakeLine(absl::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const absl::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Takes the next run of characters other than blanks off the front of `line`; empty at the end.
inline absl::string_view TakeField(absl::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t\r\n"), line.size());
  const size_t end = std::min(line.find_first_of(" \t\r\n", begin), line.size());
  const absl::string_view field = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return field;
}

// A whole field as an unsigned decimal number; nothing for anything else ("N/A", "-1", "12x", "").
inline absl::optional<uint64_t> ParseCount(absl::string_view field) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(field, &value)) return absl::nullopt;
  return value;
}

// The number in a file that holds nothing else but perhaps white space.
inline absl::optional<uint64_t> ParseOnlyCount(absl::string_view text) {
  const absl::string_view field = TakeField(text);
  if (!TakeField(text).empty()) return absl::nullopt;
  return ParseCount(field);
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_TEXT_FIELDS_H_
