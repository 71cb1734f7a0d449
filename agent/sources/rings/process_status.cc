#include "agent/sources/rings/process_status.h"

#include "absl/strings/str_cat.h"

namespace lockstep {

absl::optional<absl::string_view> StatusLine(absl::string_view status, absl::string_view key) {
  const size_t found = status.find(absl::StrCat("\n", key));
  if (found == absl::string_view::npos) return absl::nullopt;
  const absl::string_view line = status.substr(found + 1 + key.size());
  return line.substr(0, line.find('\n'));
}

}  // namespace lockstep
