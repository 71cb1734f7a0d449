// Hard events of the hosts of a job (kernel log), kept for a while as evidence for what is found on those hosts.
//
// Bounded by kMaxEvents, oldest dropped first and counted. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_EVIDENCE_LOG_H_
#define LOCKSTEP_DETECTOR_HARDWARE_EVIDENCE_LOG_H_

#include <cstdint>
#include <deque>
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
  // Bound of memory: under 100 KB per job.
  static constexpr size_t kMaxEvents = 256;

  // `happened_ns` may be long before `heard_ns`: its agent was away.
  void Add(const std::string& host, const KernelEvent& event, int64_t happened_ns, int64_t heard_ns);

  // The newest events of `host` that can explain a stuck or slow rank there, heard of within the last ten minutes; at
  // most three, oldest first.
  std::vector<Evidence> About(const std::string& host, int64_t watermark_ns) const;

  void Clear() { events_.clear(); }
  uint64_t dropped() const { return dropped_; }

 private:
  struct Entry {
    std::string host;
    KernelEvent event;
    int64_t happened_ns;
    int64_t heard_ns;
  };

  std::deque<Entry> events_;
  uint64_t dropped_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_EVIDENCE_LOG_H_
