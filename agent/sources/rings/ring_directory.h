// Discovers the ring files of a directory, follows them, and lets go of those whose process is gone.
//
// Life of a ring: its file appears; it is refused, for a while (refused_rings.h), or followed. Its owner must be the
// user of the process that it names, or anybody could speak for the ranks of others. Nobody can tell while the process
// cannot be seen, which takes the right to look at processes of other users. Where a ring goes bad, its process is
// still followed, and the ring tried again.
//
// When its process is gone the ring is read a last time and stays listed as gone for kGoneNanos, so that its end is
// reported even over a lost connection; then it is forgotten and its file removed. A file that was left behind by a
// process which died long before the agent came is removed without a word: it is news for nobody. Nothing is removed
// before it is certain that no process of the host, in whatever PID namespace, is the one that wrote it
// (process_finder.h).
//
// What is held of rings, read of them and looked at is bounded in all and divided among users and rings
// (ring_shares.h).

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_DIRECTORY_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "agent/gpu_names.h"
#include "agent/kubelet/pod_table.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/exit_watch.h"
#include "agent/sources/rings/process_exit.h"
#include "agent/sources/rings/process_finder.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/refused_rings.h"
#include "agent/sources/rings/ring_listing.h"
#include "agent/sources/rings/ring_reader.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/unique_fd.h"
#include "base/clock.h"
#include "proto/resume.pb.h"

namespace lockstep {

// One followed ring after a Poll. Not thread-safe.
struct FollowedRing {
  std::unique_ptr<RingReader> reader;
  uint32_t owner = 0;                   // uid of the file
  std::string job;                      // printable; "" = not known yet
  RingSnapshot kept;                    // what KeepUp has read since the last Poll; only its operations and counts
  RingSnapshot snapshot;                // empty after the last look at a ring whose process is gone
  absl::optional<ProcessStat> process;  // nothing = gone; state '?' = not known
  int64_t alive_at_ns = 0;              // when it was last seen alive; 0 = never
  absl::optional<ProcessExit> end;      // of a process that is gone or a zombie
  int32_t host_pid = 0;                 // as the host sees it; 0 = not known
  ProcessFinder::Launcher launcher;     // when it was first found
  Pod pod;                              // without a name = in none, or not known
  bool is_pod_known = false;            // false = it may still turn out
  int64_t find_pod_ns = 0;              // not before; while it is not known
  int32_t gpu_minor = -1;               // of the only GPU that the process may use; -1 = of none, or several
  bool is_gpu_sought = false;           // and that is as it is
  std::string gpu_uuid;                 // of that GPU; "" = not known
  int64_t gone_at_ns = 0;               // when that was seen; 0 = alive
  bool damaged = false;                 // not read until it is tried again
  int64_t try_again_ns = 0;             // when that is
  int tries = 0;                        // that came to nothing since it was last read
};

// Not thread-safe.
class RingDirectory {
 public:
  static constexpr size_t kMaxRings = 512;
  static constexpr size_t kMaxJobs = 64;
  // Of one user: half, so that there is room for another's.
  static constexpr size_t kMaxRingsPerOwner = 256;
  static constexpr size_t kMaxJobsPerOwner = 32;
  // New files looked at in one Poll, in turns; 2 ms.
  static constexpr size_t kMaxLooksPerPoll = 256;
  // 8 MiB. A report of twice as many takes so long that the busiest rings turn meanwhile.
  static constexpr size_t kMaxKept = 65'536;
  // Processes whose GPUs are sought in one call of FindGpus.
  static constexpr size_t kMaxGpuLooks = 8;
  static constexpr int64_t kGoneNanos = 60 * kNanosPerSecond;
  // Between two looks for the pod of a process that is reported without one.
  static constexpr int64_t kFindPodNanos = 60 * kNanosPerSecond;

  // `path` of the directory, which need not exist yet; `root` is where proc/ and var/ are; `since_ns` as for
  // RingReader::Open.
  RingDirectory(std::string path, RootedFs root, int64_t since_ns)
      : path_(std::move(path)),
        since_ns_(since_ns),
        finder_(std::move(root)),
        exits_(finder_.root()),
        pods_(finder_.root()) {}
  RingDirectory(const RingDirectory&) = delete;
  RingDirectory& operator=(const RingDirectory&) = delete;

  // How far all rings were read by the last Poll; and its way back, before the first one.
  wire::RingPositions positions(int64_t tick_ns) const;
  void Resume(const wire::RingPositions& positions);

  // Looks at the directory and at every ring. NOT_FOUND while there is no directory.
  absl::Status Poll(int64_t now_ns);

  // After a Poll: names the GPU of each process that may use a single one and whose recorder does not know its own.
  void FindGpus(const GpuNames& names);

  // Between two Polls: reads the rings that would turn before the next one and keeps what it finds for it; whether
  // there were any. Costs one short read for each ring that is not busy. At most kMaxKept operations are kept; beyond
  // them the fullest ring of the user who keeps most is thinned by a power of two of the sequence, as in reports. A
  // user who has had read what is his share between two Polls waits for the second one.
  bool KeepUp();

  // Between two Polls as well, as often as KeepUp: whose process has ended, and how.
  void WatchExits(int64_t now_ns) { exits_.Poll(now_ns); }

  // Asks the NCCL profiler recorders of `ranks` (empty = all) of `jobs` for the events of `mask`, for `duration_ns`.
  // Returns how many were asked; UNAVAILABLE = none could be.
  absl::StatusOr<int> RequestEvents(const std::set<std::string>& jobs, absl::Span<const int32_t> ranks, uint64_t mask,
                                    int64_t now_ns, int64_t duration_ns) const;

  const std::map<std::string, FollowedRing>& rings() const { return rings_; }  // by file name

  // Rings whose job is not known yet.
  size_t without_job() const;

  // Files refused so far, by RingRefusalReason.
  const RefusedRings::Counts& refused() const { return refused_.counts(); }

  // Files that the last Poll saw and had neither time to look at nor room to remember; a lower bound where the
  // directory is too full to be listed.
  size_t waiting() const { return waiting_; }

 private:
  using FileId = RefusedRings::FileId;

  // What one user has.
  struct Owner {
    size_t rings = 0;
    uint64_t read_ahead = 0;  // operations that KeepUp may still read for him before the next Poll
    size_t kept = 0;          // operations in his rings' `kept`
  };

  absl::StatusOr<UniqueFd> OpenDirectory() const;
  // A reader that goes on where the agent before us stopped, if that is known; `resumes` says so.
  std::unique_ptr<RingReader> OpenReader(UniqueFd file, const std::string& name, bool* resumes, RingRefusal* refusal);
  void DiscoverAll(int directory, const RingListing& listing, int64_t now_ns);
  void Discover(int directory, const std::string& name, int64_t now_ns);
  void Refuse(const RefusedRings::File& file, const RingRefusal& refusal, int64_t now_ns);
  void CountOwners();
  // A process that the ring does not belong to, as a refusal; kNone = it may speak for it, or nobody knows.
  RingRefusal CheckOwner(const FollowedRing& ring) const;
  // False = the ring is not to be followed any more.
  bool Follow(const std::string& name, int64_t now_ns, FollowedRing* ring);
  void Read(const std::string& name, int64_t now_ns, FollowedRing* ring);
  // Names the job of a ring that tells none, once it can and there is room for one more job.
  void NameJob(const std::string& name, int64_t now_ns, FollowedRing* ring) const;
  void Damage(const std::string& name, const absl::Status& why, int64_t now_ns, FollowedRing* ring);
  void TakeKept(FollowedRing& ring);
  void Keep(FollowedRing& ring);
  FollowedRing& Fullest();
  RingAllowance AllowanceOf(const FollowedRing& ring) const;
  void FindProcess(int64_t now_ns, FollowedRing* ring);
  void FindPod(int64_t now_ns, FollowedRing* ring);
  // Whether its first report should wait until its pod is known.
  static bool WaitsForPod(const FollowedRing& ring, int64_t now_ns);
  void NoteEnd(int64_t now_ns, FollowedRing* ring);
  bool HasRoomFor(const FollowedRing& candidate) const;
  bool HasRoomForJob(const std::string& job, uint32_t owner) const;

  const std::string path_;
  int64_t since_ns_;
  std::map<std::string, wire::RingPosition> resumed_;  // by file; at most kMaxRings, of an agent before us
  ProcessFinder finder_;
  ExitWatch exits_;
  PodTable pods_;
  std::map<std::string, FollowedRing> rings_;
  std::map<uint32_t, Owner> owners_;  // of rings_
  size_t kept_ = 0;                   // operations in all FollowedRing::kept
  RefusedRings refused_;
  std::string last_look_;  // at a new file; the next Poll goes on behind it
  size_t waiting_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_DIRECTORY_H_
