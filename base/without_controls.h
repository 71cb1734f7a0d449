// Text of strangers, for a terminal: what a terminal may obey is taken out.

#ifndef LOCKSTEP_BASE_WITHOUT_CONTROLS_H_
#define LOCKSTEP_BASE_WITHOUT_CONTROLS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// `text` with `instead` for each control character: of ASCII, DEL, and those that UTF-8 writes in two bytes (U+0080 to
// U+009F, of which U+009B begins a sequence as ESC [ does). Other bytes stay as they are, whatever they are. Pure.
inline std::string WithoutControls(absl::string_view text, char instead) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_in_two_bytes = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    clean.push_back(is_in_two_bytes || byte < 0x20 || byte == 0x7f ? instead : text[i]);
    if (is_in_two_bytes) ++i;
  }
  return clean;
}

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_WITHOUT_CONTROLS_H_
