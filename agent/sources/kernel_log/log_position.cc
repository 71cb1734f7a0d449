#include "agent/sources/kernel_log/log_position.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/text_fields.h"
#include "agent/unique_fd.h"

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

absl::optional<LogPosition> LogPositionFile::Load() const {
  if (path_.empty()) return absl::nullopt;
  const UniqueFd file(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  char text[kMaxLineBytes + 1];
  const ssize_t length = file.valid() ? read(file.get(), text, sizeof(text)) : -1;
  if (length <= 0) return absl::nullopt;
  return ParseLogPosition(absl::string_view(text, static_cast<size_t>(length)));
}

absl::Status LogPositionFile::Store(const LogPosition& position) {
  if (path_.empty() || stored_ == position) return absl::OkStatus();
  const std::string text = FormatLogPosition(position);
  const std::string fresh = path_ + ".new";
  {
    const UniqueFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.valid()) return absl::ErrnoToStatus(errno, fresh);
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0) return absl::ErrnoToStatus(errno, fresh);
    if (static_cast<size_t>(written) != text.size()) return absl::ResourceExhaustedError(fresh);
  }
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) return absl::ErrnoToStatus(errno, path_);
  stored_ = position;
  return absl::OkStatus();
}

}  // namespace lockstep
