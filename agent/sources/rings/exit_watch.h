// Learns how the processes that are followed end, by whatever this kernel and our rights allow, without their noticing.
//
// In this order:
//   - pidfd: a descriptor of the process; since Linux 6.15 the kernel tells by it how the process ended, also after its
//     parent has reaped it. Needs no right.
//   - zombie: the stat file of a process that has ended and is not reaped yet; needs that we may look at it
//     (CAP_SYS_PTRACE), and a parent that takes more than the time between two looks.
//   - connector (exit_connector.h), which also knows the moment.
// Otherwise it is not known how a process ended, and that is what is said: of each end, and once in the log where the
// kernel tells of none.
//
// Where proc/ of our root shows other pids than our own system calls take (an agent in a PID namespace of its own),
// nobody is watched. Not thread-safe. At most kMaxWatched processes, a descriptor each; further ones are not watched.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_EXIT_WATCH_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_EXIT_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/exit_connector.h"
#include "agent/sources/rings/process_exit.h"
#include "agent/unique_fd.h"

namespace lockstep {

class ExitWatch {
 public:
  static constexpr size_t kMaxWatched = 512;  // as RingDirectory::kMaxRings

  using Open = absl::StatusOr<ExitConnector> (*)();

  // `root` is where proc/ is; it has to live longer. `open` and `release` (of the kernel) are those of this machine.
  explicit ExitWatch(const RootedFs& root, Open open = ExitConnector::Open, std::string release = KernelRelease())
      : root_(root), open_(open), release_(std::move(release)) {}

  // Begins to watch a process. To be called while it lives; that it is still the one that was meant is for the caller
  // to check afterwards. Nothing happens if it is watched already.
  void Add(int32_t pid, int64_t now_ns);
  // Lets go of all but these.
  void Retain(const std::set<int32_t>& pids);

  // Looks who has ended. To be called often: what a zombie tells is lost once it is reaped. Two system calls while
  // nobody ends.
  void Poll(int64_t now_ns);

  // How a process that is not there any more, or is a zombie, ended; nothing = it was not watched, or has not ended.
  absl::optional<ProcessExit> Of(int32_t pid, int64_t now_ns);

 private:
  struct Watched {
    UniqueFd pidfd;        // invalid = this kernel has none
    int64_t alive_ns = 0;  // last seen alive
    bool ended = false;
    absl::optional<ExitConnector::Exit> heard;
    ProcessExit end;  // if it has ended
  };

  static std::string KernelRelease();  // "6.15.2-amd64"

  bool Begin();
  void Hear();
  void Look(int32_t pid, Watched& watched, int64_t now_ns) const;
  bool AskZombie(int32_t pid, ProcessExit& end) const;

  const RootedFs& root_;
  const Open open_;
  const std::string release_;
  bool begun_ = false;
  bool may_watch_ = false;
  absl::optional<ExitConnector> connector_;
  std::map<int32_t, Watched> watched_;  // by pid
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_EXIT_WATCH_H_
