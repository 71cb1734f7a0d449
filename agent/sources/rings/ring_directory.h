// Discovers the ring files of a directory, follows them, and lets go of those whose process is gone.
//
// Life of a ring: its file appears; it is refused (logged once, counted by reason) or followed. When its process is
// gone the ring is read a last time and stays listed as gone for kGoneNanos, so that its end is reported even over a
// lost connection; then it is forgotten and its file removed. A file that was left behind by a process which died long
// before the agent came is removed without a word: it is news for nobody. Nothing is removed before it is certain that
// no process of the host, in whatever PID namespace, is the one that wrote it (process_finder.h).

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_DIRECTORY_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_DIRECTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_finder.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/ring_reader.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/unique_fd.h"
#include "base/clock.h"

namespace lockstep {

// One followed ring after a Poll. Not thread-safe.
struct FollowedRing {
  std::unique_ptr<RingReader> reader;
  std::string job;                      // printable
  RingSnapshot kept;                    // what KeepUp has read since the last Poll; only its operations and counts
  RingSnapshot snapshot;                // empty after the last look at a ring whose process is gone
  absl::optional<ProcessStat> process;  // nothing = gone; state '?' = not known
  int32_t host_pid = 0;                 // as the host sees it; 0 = not known
  int64_t gone_at_ns = 0;               // when that was seen; 0 = alive
  bool damaged = false;                 // no longer read; removed with its process
};

// Not thread-safe.
class RingDirectory {
 public:
  static constexpr size_t kMaxRings = 512;
  static constexpr size_t kMaxJobs = 64;
  static constexpr size_t kMaxRefusedFiles = 1024;  // remembered, so as to be logged only once
  // 8 MiB. A report of twice as many takes so long that the busiest rings turn meanwhile.
  static constexpr size_t kMaxKept = 65'536;
  static constexpr int64_t kGoneNanos = 60 * kNanosPerSecond;

  // `path` of the directory, which need not exist yet; `root` is where proc/ is; `since_ns` as for RingReader::Open.
  RingDirectory(std::string path, RootedFs root, int64_t since_ns)
      : path_(std::move(path)), since_ns_(since_ns), finder_(std::move(root)) {}

  // Looks at the directory and at every ring. NOT_FOUND while there is no directory.
  absl::Status Poll(int64_t now_ns);

  // Between two Polls: reads the rings that would turn before the next one and keeps what it finds for it; whether
  // there were any. Costs one short read for each ring that is not busy. At most kMaxKept operations are kept; beyond
  // them a ring's are thinned by a power of two of the sequence, as in reports.
  bool KeepUp();

  // Asks the NCCL profiler recorders of `ranks` (empty = all) of `job` for the events of `mask`, for `duration_ns`.
  // Returns how many were asked; UNAVAILABLE = none could be.
  absl::StatusOr<int> RequestEvents(const std::string& job, absl::Span<const int32_t> ranks, uint64_t mask,
                                    int64_t now_ns, int64_t duration_ns) const;

  const std::map<std::string, FollowedRing>& rings() const { return rings_; }  // by file name

  // Files refused so far, by RingRefusalReason.
  const std::array<uint64_t, kRingRefusalReasons>& refused() const { return refused_; }

 private:
  // Tells a file from another one of the same name.
  using FileId = std::pair<uint64_t, uint64_t>;  // device, inode

  absl::StatusOr<UniqueFd> OpenDirectory() const;
  void Discover(int directory, const std::string& name, int64_t now_ns);
  void Refuse(const std::string& name, FileId id, const RingRefusal& refusal);
  void Follow(int directory, const std::string& name, int64_t now_ns, FollowedRing* ring);
  void Keep(FollowedRing& ring);
  void FindProcess(int64_t now_ns, FollowedRing* ring);
  bool HasRoomFor(const std::string& job) const;
  void ForgetVanishedFiles(const std::vector<std::string>& names);

  const std::string path_;
  const int64_t since_ns_;
  ProcessFinder finder_;
  std::map<std::string, FollowedRing> rings_;
  size_t kept_ = 0;  // operations in all FollowedRing::kept
  std::map<std::string, FileId> refused_files_;
  std::array<uint64_t, kRingRefusalReasons> refused_ = {};
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_DIRECTORY_H_
