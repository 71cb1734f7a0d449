#include "cli/duration_argument.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace lockstep {

absl::StatusOr<int64_t> ParseDurationArgument(const char* flag, const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration < absl::Milliseconds(1) || duration > absl::Hours(24 * 3650)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text, "' is not a duration such as 300ms, 10s, 5m or 1h30m"));
  }
  return absl::ToInt64Nanoseconds(duration);
}

}  // namespace lockstep
