// A text field of a ring as a string that may be logged and sent.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_TEXT_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_TEXT_H_

#include <cstddef>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/printable_text.h"

namespace lockstep {

// Up to the first NUL, if the writer has left one in the field. Pure.
template <size_t kSize>
std::string RingText(const char (&field)[kSize]) {
  return PrintableText(absl::string_view(field, strnlen(field, kSize)), kSize);
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_TEXT_H_
