// A close look at a job that reports alone do not explain: asks every host for the operations that its agent holds,
// puts them together into a trace, and diagnoses that.
//
// One round at a time: requests go out, answers come in with later reports, and the round is judged when all hosts have
// answered or patience is over; what is missing by then counts as lost. A cause is told only when two rounds in a row
// find it, because a window of a few steps can be unlucky. Rounds repeat while they are wanted, and what was found is
// forgotten as soon as they are not.
//
// Memory: max_operations records while a round is open, nothing between rounds. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_INVESTIGATION_H_
#define LOCKSTEP_DETECTOR_INVESTIGATION_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "detector/input.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {

struct InvestigationOptions {
  double min_cost = 0.03;                 // as DiagnosisOptions
  int64_t pause_ns = 10'000'000'000;      // from one round's end to the next round's begin
  int64_t patience_ns = 5'000'000'000;    // for answers
  double steps = 16;                      // of the job, that a round looks at
  int64_t min_window_ns = 2'000'000'000;  // of time that a round looks at
  int64_t max_window_ns = 120'000'000'000;
  uint64_t max_bytes = 50'000'000;  // of all answers of a round
  size_t max_operations = 8'000'000;
};

class Investigation {
 public:
  explicit Investigation(const InvestigationOptions& options) : options_(options) {}

  // Takes in the answers of a report; those of an earlier round are ignored.
  void Observe(const HostReport& report);

  // After everything up to `watermark_ns` was observed. `wanted` = the job is not explained. `step_seconds` 0 =
  // unknown. Returns the requests to send now.
  std::vector<PullRequest> Advance(const Roster& roster, int64_t watermark_ns, bool wanted, double step_seconds);

  // What the last two rounds agree on: everything but hangs, which progress tells sooner and better.
  const std::vector<Verdict>& verdicts() const { return told_; }

  uint64_t rounds() const { return rounds_; }
  uint64_t discarded() const { return discarded_; }  // operations beyond max_operations

  // A new incarnation of the job: what was held means nothing any more.
  void Clear();

 private:
  std::vector<PullRequest> Begin(const Roster& roster, int64_t watermark_ns, double step_seconds);
  void Conclude(const Roster& roster, int64_t watermark_ns);
  void EndRound(int64_t watermark_ns);

  InvestigationOptions options_;
  bool open_ = false;
  int64_t begun_ns_ = 0;
  int64_t ended_ns_ = 0;  // 0 = no round yet
  uint64_t first_id_ = 1;
  uint64_t next_id_ = 1;
  std::set<std::string> awaited_;  // hosts
  std::vector<PulledOperations> pulled_;
  size_t operations_ = 0;
  uint64_t missing_ = 0;  // operations that agents had to leave out of their answers
  uint64_t rounds_ = 0;
  uint64_t discarded_ = 0;
  std::set<std::string> found_before_;  // cause keys of the round before
  std::vector<Verdict> told_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_INVESTIGATION_H_
