#include "collector/convert/check_name.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {

absl::Status CheckName(absl::string_view field, absl::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", text.size(), " bytes, at most ", max_bytes, " are allowed"));
  }
  const bool has_control = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return has_control ? absl::InvalidArgumentError(absl::StrCat(field, ": contains a control character"))
                     : absl::OkStatus();
}

}  // namespace lockstep
