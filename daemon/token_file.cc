#include "daemon/token_file.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"

namespace lockstep {

absl::StatusOr<std::string> ReadBearer(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadBoundedFile(file));
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  const bool is_token = !token.empty() && std::all_of(token.begin(), token.end(), absl::ascii_isgraph);
  if (!is_token) return absl::InvalidArgumentError(absl::StrCat(file, ": expected one token and no more"));
  return absl::StrCat("Bearer ", token);
}

}  // namespace lockstep
