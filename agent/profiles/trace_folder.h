// The folder into which a process of a job writes a trace, as that process sees it.
//
// Whoever runs the job decides what is there, and may change it at any time. No link is followed, of the folder or in
// it; only a regular file of the process's own user is opened, and nothing but that: looking at a device, a pipe or a
// socket has no effect on it.

#ifndef LOCKSTEP_AGENT_PROFILES_TRACE_FOLDER_H_
#define LOCKSTEP_AGENT_PROFILES_TRACE_FOLDER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/demands/demand_kind.h"
#include "agent/unique_fd.h"

namespace lockstep {

// A file that is open for reading. Plain value.
struct OpenTrace {
  UniqueFd fd;
  int64_t bytes = 0;  // now; it may grow
};

// Owns a descriptor of the folder. Movable. Thread-compatible.
class TraceFolder {
 public:
  // `path` is absolute, without "..". NOT_FOUND when the process has ended or there is no such folder;
  // FAILED_PRECONDITION when a part of the path is no folder, or the agent is not in the PID namespace of the host.
  static absl::StatusOr<TraceFolder> Open(const DemandedProcess& process, absl::string_view path);

  // Whether it belongs to root, to the agent's user or to that of the process: nobody else may take from it, if it is
  // sticky, what others left in it.
  bool IsTrusted() const;

  // NOT_FOUND: there is none yet. FAILED_PRECONDITION: it is a link or no file, or is another user's.
  absl::StatusOr<OpenTrace> OpenFile(const std::string& name) const;

  // A file that OpenFile would open. Says why it is still there.
  absl::Status Remove(const std::string& name) const;

 private:
  TraceFolder(UniqueFd folder, uint32_t uid) : folder_(std::move(folder)), uid_(uid) {}

  // A descriptor that is not open for reading, of what OpenFile may open.
  absl::StatusOr<UniqueFd> Find(const std::string& name, int64_t& bytes) const;

  UniqueFd folder_;
  uint32_t uid_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_PROFILES_TRACE_FOLDER_H_
