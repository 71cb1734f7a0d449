#include "agent/profiles/trace_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// The pid may be another process's by now.
absl::Status CheckProcess(const RootedFs& root, const DemandedProcess& process) {
  const absl::StatusOr<ProcessStat> stat = ReadProcessStat(root, process.pid);
  if (stat.ok() && stat->start_ticks == process.start_ticks) return absl::OkStatus();
  return absl::NotFoundError("the process has ended, or the agent is not in the PID namespace of the host");
}

}  // namespace

// The process's root is a link of the kernel's that only "/" as a root follows; the rest of the way is gone by name.
absl::StatusOr<TraceFolder> TraceFolder::Open(const DemandedProcess& process, absl::string_view path) {
  ASSIGN_OR_RETURN(const RootedFs own, RootedFs::Open("/"));
  ASSIGN_OR_RETURN(UniqueFd folder, own.OpenFile(absl::StrCat("proc/", process.pid, "/root"), O_PATH | O_DIRECTORY));
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == "..") return absl::FailedPreconditionError(absl::StrCat(path, " leads upwards"));
    const std::string name(part);
    UniqueFd next(openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid() && errno == ENOTDIR) {
      return absl::FailedPreconditionError(absl::StrCat(path, " of the process: ", part, " is no folder, or a link"));
    }
    if (!next.valid()) return absl::ErrnoToStatus(errno, absl::StrCat(path, " of the process"));
    folder = std::move(next);
  }
  // After the root was opened: it is the root of this process and not of one that has its pid by now.
  RETURN_IF_ERROR(CheckProcess(own, process));
  return TraceFolder(std::move(folder), process.uid);
}

bool TraceFolder::IsTrusted() const {
  struct stat what = {};
  if (fstat(folder_.get(), &what) != 0) return false;
  return what.st_uid == 0 || what.st_uid == geteuid() || what.st_uid == uid_;
}

absl::StatusOr<UniqueFd> TraceFolder::Find(const std::string& name, int64_t& bytes) const {
  UniqueFd found(openat(folder_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!found.valid()) return absl::ErrnoToStatus(errno, "there is no trace");
  struct stat what = {};
  if (fstat(found.get(), &what) != 0) return absl::ErrnoToStatus(errno, "the trace");
  if (S_ISLNK(what.st_mode)) return absl::FailedPreconditionError("the trace is a link");
  if (!S_ISREG(what.st_mode)) return absl::FailedPreconditionError("the trace is no regular file");
  if (what.st_uid != uid_) return absl::FailedPreconditionError("the trace is another user's file");
  bytes = what.st_size;
  return found;
}

absl::StatusOr<OpenTrace> TraceFolder::OpenFile(const std::string& name) const {
  OpenTrace trace;
  ASSIGN_OR_RETURN(const UniqueFd found, Find(name, trace.bytes));
  // What was looked at is opened, whatever has its name by now.
  const std::string path = absl::StrCat("/proc/self/fd/", found.get());
  trace.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!trace.fd.valid()) return absl::FailedPreconditionError("the trace may not be read by the agent");
  return trace;
}

absl::Status TraceFolder::Remove(const std::string& name) const {
  int64_t bytes = 0;
  RETURN_IF_ERROR(Find(name, bytes).status());
  if (unlinkat(folder_.get(), name.c_str(), 0) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "the trace is not deleted");
}

}  // namespace lockstep
