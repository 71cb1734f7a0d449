// Processes that say that they are a rank which another process of the job already is: a job that was started again, as
// seen before the end of the old one is told, or another job under the same name.
//
// Who comes second is not taken in while the first one lives (Roster::Admit); it is a conflict once both have reported
// for longer than a process may be silent. Pure. Not thread-safe. At most `capacity` processes are remembered; beyond
// them all are forgotten, and are noticed so much later.

#ifndef LOCKSTEP_DETECTOR_MODEL_RANK_RIVALS_H_
#define LOCKSTEP_DETECTOR_MODEL_RANK_RIVALS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {

// Two processes that are one rank of one job.
struct NameConflict {
  int32_t rank = -1;
  std::string kept_host;  // of the process that is judged
  int32_t kept_pid = 0;
  std::string other_host;  // of the one that nobody watches
  int32_t other_pid = 0;
  int64_t seen_ns = 0;  // collector's clock: newest report of the other one
};

class RankRivals {
 public:
  // REQUIRES: capacity > 0. `silent_ns`: for how long both have to report.
  RankRivals(size_t capacity, int64_t silent_ns) : capacity_(capacity), silent_ns_(silent_ns) {}

  // `view`, of `report`, was not admitted because the process that is this rank in `roster` lives.
  void Note(const Roster& roster, const HostReport& report, const RankView& view);

  // Whether a rank that nobody else is belongs to the other job all the same: it shares a communicator with a rival,
  // and none with `roster`.
  bool IsOfOthers(const RankView& view, const Roster& roster) const;

  // The job has begun again: what was noted is of the past. What was counted stays.
  void Forget();

  uint64_t conflicts() const { return conflicts_; }                      // views left out, once it was sure
  const std::optional<NameConflict>& newest() const { return newest_; }  // of the job as it runs now

 private:
  using ProcessKey = std::tuple<std::string, int32_t, uint64_t>;  // host, pid, start

  const size_t capacity_;
  const int64_t silent_ns_;
  absl::flat_hash_map<ProcessKey, int64_t> since_ns_;  // when each was first left out
  absl::flat_hash_set<CommunicatorId> communicators_;  // of them; bounded as they are, by those of a report
  uint64_t conflicts_ = 0;
  std::optional<NameConflict> newest_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_RANK_RIVALS_H_
