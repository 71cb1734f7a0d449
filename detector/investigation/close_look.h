// All that is done about a job that its reports alone do not explain: whether it became slower than usual, operations
// asked for (investigation.h), transfers watched (transfer_watch.h), and what these say together.
//
// Transfers are watched when a round over the operations found the network or nothing, while steps are longer than
// usual or irregular: then time is lost in transfers, or nobody knows where. Pure; not thread-safe. Bounded by its
// parts.

#ifndef LOCKSTEP_DETECTOR_INVESTIGATION_CLOSE_LOOK_H_
#define LOCKSTEP_DETECTOR_INVESTIGATION_CLOSE_LOOK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/input.h"
#include "detector/investigation/investigation.h"
#include "detector/investigation/step_level.h"
#include "detector/investigation/transfer_verdict.h"
#include "detector/investigation/transfer_watch.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {

// What the engine knows when it asks for a close look.
struct JobView {
  bool explained = false;            // reports suffice, unless steps became slower
  bool irregular = false;            // step times vary
  bool culprit_known = false;        // hung, or slow ranks are named: then slower steps need no other cause
  double median_step_seconds = 0;    // 0 = unknown
  double recent_step_seconds = 0;    // of the newest steps; 0 = unknown
  uint64_t operations_per_step = 0;  // as counted for these times
};

struct Wishes {
  std::vector<PullRequest> pulls;
  std::vector<WatchRequest> watches;
};

class CloseLook {
 public:
  explicit CloseLook(double min_cost) : min_cost_(min_cost), investigation_({.min_cost = min_cost}), watch_({}) {}

  // One communicator of a rank of a report.
  void ObserveTransfers(int32_t rank_slot, const Roster::Place& place, const std::vector<TransferWaits>& transfers,
                        int64_t received_ns) {
    watch_.Observe(rank_slot, place, transfers, received_ns);
  }
  // The answers of a report.
  void Observe(const HostReport& report);

  // After everything up to `watermark_ns` was observed.
  Wishes Advance(const Roster& roster, int64_t watermark_ns, const JobView& job);

  // What holds now.
  const std::vector<Verdict>& verdicts() const { return told_; }
  bool accuses() const;  // a machine or the network
  bool slower() const { return level_.slower(); }
  uint64_t discarded() const { return investigation_.discarded() + watch_.discarded(); }

  // A new incarnation of the job.
  void Clear();

 private:
  WatchNeed NeedOf(const JobView& job, bool wanted) const;

  const double min_cost_;
  StepLevel level_;
  Investigation investigation_;
  TransferWatch watch_;
  std::vector<Verdict> told_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_INVESTIGATION_CLOSE_LOOK_H_
