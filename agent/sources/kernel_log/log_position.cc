#include "agent/sources/kernel_log/log_position.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/text_fields.h"

namespace lockstep {
namespace {

// A boot id has 36 bytes.
constexpr size_t kMaxLineBytes = 128;
constexpr size_t kMaxBootIdBytes = 64;

}  // namespace

std::string ReadBootId(const RootedFs& fs) {
  const absl::StatusOr<std::string> text = fs.ReadFile("proc/sys/kernel/random/boot_id", kMaxLineBytes);
  if (!text.ok()) return "";
  absl::string_view rest = *text;
  const absl::string_view id = TakeField(rest);
  return std::string(id.substr(0, id.find('\n')));
}

std::string FormatLogPosition(const LogPosition& position) {
  return absl::StrCat(position.boot_id, " ", position.next_sequence, "\n");
}

absl::optional<LogPosition> ParseLogPosition(absl::string_view text) {
  if (text.size() > kMaxLineBytes || !absl::ConsumeSuffix(&text, "\n")) return absl::nullopt;
  const size_t space = text.find(' ');
  if (space == 0 || space == absl::string_view::npos || space > kMaxBootIdBytes) return absl::nullopt;
  const absl::optional<uint64_t> sequence = ParseCount(text.substr(space + 1));
  if (!sequence.has_value()) return absl::nullopt;
  return LogPosition{std::string(text.substr(0, space)), *sequence};
}

}  // namespace lockstep
