#include "collector/access/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace lockstep {
namespace {

constexpr mode_t kMode = 0640;

}  // namespace

AuditLog::AuditLog(std::string file, const Clock& clock, CollectorMetrics& metrics)
    : file_(std::move(file)), clock_(clock), metrics_(metrics) {}

absl::Status AuditLog::CheckFile() const { return file_.empty() ? absl::OkStatus() : Append(""); }

absl::Status AuditLog::Append(const std::string& line) const {
  const auto refuse = [this] {
    return absl::InvalidArgumentError(absl::StrCat(file_, ": cannot be appended to: ", std::strerror(errno)));
  };
  const int fd = open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, kMode);
  if (fd < 0) return refuse();
  const absl::Cleanup close_it = [fd] { close(fd); };
  if (line.empty()) return absl::OkStatus();
  if (write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || fdatasync(fd) != 0) return refuse();
  return absl::OkStatus();
}

void AuditLog::Note(const Caller& by, absl::string_view peer, absl::string_view action, absl::string_view of,
                    const absl::Status& outcome) {
  const std::string line = FormatLogLine(LogLevel::kInfo, clock_.WallNanos(), "audit",
                                         {{"action", std::string(action)},
                                          {"of", std::string(of)},
                                          {"by", by.name},
                                          {"from", std::string(peer)},
                                          {"outcome", outcome.ok() ? "ok" : std::string(outcome.message())}});
  const MutexLock lock(mutex_);
  LogLine(line);
  if (file_.empty()) return;
  if (const absl::Status kept = Append(line + "\n"); !kept.ok()) {
    metrics_.CountDropped("audit_line");
    Log(LogLevel::kError, "a line of the audit log was not kept", {{"error", std::string(kept.message())}});
  }
}

}  // namespace lockstep
