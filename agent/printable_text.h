// Text from outside, made fit for a report. A string field of a report must be UTF-8: one stray byte in the name of an
// interface or in a line of the kernel log would make the collector refuse the whole report.

#ifndef LOCKSTEP_AGENT_PRINTABLE_TEXT_H_
#define LOCKSTEP_AGENT_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// The first `max_bytes` of `text`, with '?' for whatever is not printable ASCII. Pure.
inline std::string PrintableText(absl::string_view text, size_t max_bytes) {
  std::string result(text.substr(0, max_bytes));
  for (char& c : result) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return result;
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_PRINTABLE_TEXT_H_
