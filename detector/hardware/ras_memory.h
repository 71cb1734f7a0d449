// What NCCL's RAS service has been claiming of one job, and for how many answers in a row.
//
// Hosts that ask are told apart, since the same machine asks again every 15 s or so and every other one every 10
// minutes: a run of equal claims is one of answers to the same asker. Limits: kMaxAskers, kMaxClaims of one answer;
// what does not fit is counted. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_RAS_MEMORY_H_
#define LOCKSTEP_DETECTOR_HARDWARE_RAS_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/model/ras_answer.h"

namespace lockstep {

// Times are of the collector's clock.
struct RasStanding {
  RasClaim claim;
  int answers = 1;       // in a row that claim this
  int64_t since_ns = 0;  // when the first of them was asked for
  int64_t asked_ns = 0;  // and the last
};

class RasMemory {
 public:
  // Bounds of memory.
  static constexpr size_t kMaxAskers = 64;
  static constexpr size_t kMaxClaims = 512;
  // Three questions of the machine that asks often: an older answer says nothing about now.
  static constexpr int64_t kFreshNs = 45 * kNanosPerSecond;

  // Takes in an answer that came with a report received at `received_ns` and made at `host_ns` of the host's clock.
  void Observe(const std::string& host, const RasStatement& answer, int64_t received_ns, int64_t host_ns);

  // All fresh claims, by communicator, rank, kind and operation; of equal ones that which has stood the longest.
  std::vector<RasStanding> Fresh(int64_t watermark_ns) const;

  // Whether there is a fresh answer about at least one communicator.
  bool Speaks(int64_t watermark_ns) const;
  // Whether a fresh answer claims more than was kept.
  bool IsCut(int64_t watermark_ns) const;

  void Clear() { askers_.clear(); }
  uint64_t refused() const { return refused_; }  // answers and claims that did not fit

 private:
  struct Asker {
    int64_t asked_ns = 0;  // newest question
    uint32_t communicators = 0;
    bool cut = false;
    std::vector<RasStanding> standing;  // of the newest answer
  };

  static bool IsFresh(const Asker& asker, int64_t watermark_ns) { return watermark_ns - asker.asked_ns <= kFreshNs; }
  // False = no room: all known askers have asked more lately.
  bool MakeRoom(int64_t asked_ns);

  std::map<std::string, Asker> askers_;  // by host
  uint64_t refused_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_RAS_MEMORY_H_
