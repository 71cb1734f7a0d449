// Finds the live process behind a ring, also when its job runs in a PID namespace of its own.
//
// A recorder writes the pid that its process has for itself. In a container that is another one than the host's, so
// that /proc/<pid> is a stranger or nobody. Then every process's /proc/<p>/status is read for an NSpid line that ends
// in the pid, and the start time, which is the same in every namespace, decides. Such a scan costs some 20 us per
// process of the host, so one is made at most every kRescanNanos, and only while somebody has not been found.
//
// Two containers with a process of the same pid, started in the same clock tick, cannot be told apart; their ring files
// would have the same name as well.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_FINDER_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_FINDER_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/process_uids.h"
#include "base/clock.h"

namespace lockstep {

// The pid that a process has in its innermost namespace; nothing if it lives in the namespace of this /proc. `status`
// is the text of its status file. Pure.
absl::optional<int32_t> InnermostPid(absl::string_view status);

// Not thread-safe. Reads nothing but proc/ of its root; at most RootedFs::kMaxDirectoryEntries processes, beyond which
// nobody is ever found gone.
class ProcessFinder {
 public:
  static constexpr int64_t kRescanNanos = 5 * kNanosPerSecond;

  enum class Answer {
    kFound,
    kGone,       // no process of this host is the one
    kUndecided,  // not seen, but the next scan may show it, or /proc cannot be read: ask again later
  };
  struct Result {
    Answer answer = Answer::kUndecided;
    int32_t host_pid = 0;  // of one that was found
    ProcessStat stat;      // of one that was found
  };

  // `root` is where proc/ is.
  explicit ProcessFinder(RootedFs root) : root_(std::move(root)) {}

  // Whose pid is `pid` in whatever namespace, started at `start_ticks`; 0 = a recorder that could not read its own.
  Result Find(int32_t pid, uint64_t start_ticks, int64_t now_ns);

  // One that was found before, by its pid on the host: kGone as soon as it is, without a scan.
  Result Look(int32_t host_pid, uint64_t start_ticks) const;

  // The parent of one that was found, if it is still there.
  struct Launcher {
    int32_t pid = 0;  // on the host; 0 = not known
    uint64_t start_ticks = 0;
  };
  Launcher LauncherOf(const ProcessStat& process) const;

  // As whom a process runs, by its pid on the host.
  absl::StatusOr<ProcessUids> Uids(int32_t host_pid) const { return ReadProcessUids(root_, host_pid); }

  const RootedFs& root() const { return root_; }

  uint64_t scans() const { return scans_; }  // since the start

 private:
  void Scan(int64_t now_ns);
  Result LookInNamespaces(int32_t pid, uint64_t start_ticks) const;

  RootedFs root_;
  std::multimap<int32_t, int32_t> host_pids_;  // by innermost pid, as the last scan saw them
  int64_t scanned_at_ns_ = 0;
  uint64_t scans_ = 0;
  bool complete_ = false;  // the last scan could read everything
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_FINDER_H_
