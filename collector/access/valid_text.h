// Text of callers, made fit for messages and history: their strings must be UTF-8, and certificates may say anything.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_VALID_TEXT_H_
#define LOCKSTEP_COLLECTOR_ACCESS_VALID_TEXT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// The first `max_bytes` of `text`, or a few more, with U+FFFD for what is no UTF-8. Pure.
inline std::string ValidText(absl::string_view text, size_t max_bytes) {
  using nlohmann::json;
  const json cut = std::string(text.substr(0, max_bytes));
  return json::parse(cut.dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_VALID_TEXT_H_
