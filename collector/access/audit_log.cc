#include "collector/access/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/access/valid_text.h"

namespace lockstep {
namespace {

constexpr mode_t kMode = 0640;
constexpr char kFormerSuffix[] = ".1";

std::string Cut(absl::string_view text) { return ValidText(text, AuditLog::kMaxFieldBytes); }

}  // namespace

AuditLog::AuditLog(std::string file, const Clock& clock, HistoryStore& history, CollectorMetrics& metrics,
                   int64_t max_file_bytes)
    : file_(std::move(file)), clock_(clock), history_(history), metrics_(metrics), max_file_bytes_(max_file_bytes) {}

absl::Status AuditLog::CheckFile() const { return file_.empty() ? absl::OkStatus() : Append(""); }

absl::Status AuditLog::Rotate(size_t more) const {
  struct stat status;
  if (max_file_bytes_ == 0 || more == 0 || stat(file_.c_str(), &status) != 0 || status.st_size == 0 ||
      status.st_size + static_cast<int64_t>(more) <= max_file_bytes_) {
    return absl::OkStatus();
  }
  const std::string former = file_ + kFormerSuffix;
  const bool takes_a_place = access(former.c_str(), F_OK) == 0;
  if (rename(file_.c_str(), former.c_str()) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file_, ": has ", status.st_size, " bytes and cannot be renamed: ", std::strerror(errno)));
  }
  if (takes_a_place) metrics_.CountDropped("audit_file");
  Log(LogLevel::kWarning, "a file of the audit log is full and was renamed",
      {{"file", former}, {"removed_former", takes_a_place ? "yes" : "no"}});
  return absl::OkStatus();
}

absl::Status AuditLog::Append(const std::string& line) const {
  RETURN_IF_ERROR(Rotate(line.size()));
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
  Note(by.name, peer, action, of, outcome).IgnoreError();  // it has happened already
}

absl::Status AuditLog::Note(absl::string_view by, absl::string_view from, absl::string_view action,
                            absl::string_view of, const absl::Status& outcome) {
  wire::AuditRecord record;
  record.set_action(std::string(action));
  record.set_of(Cut(of));
  record.set_by(Cut(by));
  record.set_from(Cut(from));
  record.set_outcome(outcome.ok() ? "ok" : Cut(outcome.message()));
  return Keep(AuditKind::kChange, record);
}

void AuditLog::NoteRefusal(absl::string_view peer, absl::string_view method, const absl::Status& why) {
  wire::AuditRecord record;
  record.set_action("refused_call");
  record.set_of(Cut(method));
  record.set_from(Cut(peer));
  record.set_outcome(Cut(why.message()));
  Keep(AuditKind::kRefusal, record).IgnoreError();
}

absl::Status AuditLog::Keep(AuditKind kind, const wire::AuditRecord& record) {
  wire::AuditRecord stamped = record;
  stamped.set_wall_ns(clock_.WallNanos());
  const std::string line = FormatLogLine(LogLevel::kInfo, stamped.wall_ns(), "audit",
                                         {{"action", stamped.action()},
                                          {"of", stamped.of()},
                                          {"by", stamped.by()},
                                          {"from", stamped.from()},
                                          {"outcome", stamped.outcome()}});
  {
    const MutexLock lock(mutex_);
    LogLine(line);
    const absl::Status kept = file_.empty() ? absl::OkStatus() : Append(line + "\n");
    if (!kept.ok()) {
      metrics_.CountDropped("audit_line");
      Log(LogLevel::kError, "a line of the audit log was not kept", {{"error", std::string(kept.message())}});
    }
  }
  const absl::StatusOr<size_t> made_room = history_.PutAudit(kind, stamped);
  if (made_room.ok()) {
    metrics_.access.audit_removed.Increment(static_cast<double>(*made_room));
    return absl::OkStatus();
  }
  metrics_.CountDropped("audit_write");
  Log(LogLevel::kError, "history has not kept a record of the audit",
      {{"error", std::string(made_room.status().message())}});
  return made_room.status();
}

}  // namespace lockstep
