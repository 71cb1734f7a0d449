// What the kernels of a job's hosts say: their log, kept for a while as evidence for what is found on those hosts, and
// how many processes they have killed because memory ran out, which counts where nobody may read the log.
//
// Bounded by kMaxEvents, oldest dropped first and counted. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_EVIDENCE_LOG_H_
#define LOCKSTEP_DETECTOR_HARDWARE_EVIDENCE_LOG_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "detector/model/input.h"
#include "detector/verdict/host_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Whether the event says that a GPU, or its link, is broken; most of the others say what a program did.
bool MeansBrokenGpu(const KernelEvent& event);
// What the kernel of `host` reported, without its age.
KernelLine LineOf(const std::string& host, const KernelEvent& event);

class EvidenceLog {
 public:
  // Bound of memory, for crashes and for all else: under 200 KB per job.
  static constexpr size_t kMaxEvents = 256;
  // Whose counts are followed; beyond that they are dropped and counted. 2 MB per job.
  static constexpr size_t kMaxCounted = 20'000;

  // `happened_ns` may be long before `heard_ns`: its agent was away.
  void Add(const std::string& host, const KernelEvent& event, int64_t happened_ns, int64_t heard_ns);

  // The newest events of `host` that can explain a stuck or slow rank there, heard of within the last ten minutes; at
  // most three, oldest first.
  std::vector<Evidence> About(const std::string& host, int64_t watermark_ns) const;

  // How many processes that kernel has killed for memory since it started, as of `host_ns` by its host's clock.
  void CountMemoryKills(const std::string& host, double killed, int64_t host_ns);

  // Whether that count rose in a time that has a moment of [from, to] in it, by the clock of `host`. Whom that was
  // about it does not say.
  bool CountedMemoryKills(const std::string& host, int64_t from_host_ns, int64_t to_host_ns) const;

  // Whether the kernel of `host` told that it killed this process because memory ran out.
  bool SaysKilledForMemory(const std::string& host, int32_t pid) const;

  // What the kernel of `host` told of the crash of this process, the newest; nullptr = nothing.
  const KernelEvent* CrashOf(const std::string& host, int32_t pid) const;

  // Events and rises taken in so far.
  uint64_t added() const { return added_; }

  void Clear() {
    events_.clear();
    crashes_.clear();
    counts_.clear();
    rises_.clear();
  }
  uint64_t dropped() const { return dropped_; }

 private:
  struct Entry {
    std::string host;
    KernelEvent event;
    int64_t happened_ns;
    int64_t heard_ns;
  };

  struct Count {
    double killed;
    int64_t host_ns;
  };
  // Between two readings, the first of which still had the lower count.
  struct Rise {
    std::string host;
    int64_t from_host_ns;
    int64_t to_host_ns;
  };

  void Keep(Entry entry, std::deque<Entry>& events);

  std::deque<Entry> events_;
  std::deque<Entry> crashes_;            // of any program of the hosts, apart from what says something of the hosts
  std::map<std::string, Count> counts_;  // by host, newest
  std::deque<Rise> rises_;
  uint64_t added_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_EVIDENCE_LOG_H_
