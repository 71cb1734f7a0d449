// All that is done about a running job besides hangs and counters: a sentinel over its steps, looks at its operations,
// transfers watched for a while, and what these say together.
//
// The sentinel (sentinel/pace_sentinel.h) accuses nobody: it says that steps take longer than they did. Looks
// (investigation.h) come when it does, when something was found or lost for the first time, and now and then without a
// reason (look_schedule.h), so that a fault from the first step on is found. Each is judged like a file; what two of
// them find holds (standing_findings.h). Transfers are watched (transfer_watch.h) when a look found the network or
// nothing, while steps are longer than usual or irregular. Pure; not thread-safe. Bounded by its parts.

#ifndef LOCKSTEP_DETECTOR_ENGINE_CLOSE_LOOK_H_
#define LOCKSTEP_DETECTOR_ENGINE_CLOSE_LOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "detector/engine/investigation.h"
#include "detector/engine/look_schedule.h"
#include "detector/engine/look_window.h"
#include "detector/engine/seen_pauses.h"
#include "detector/engine/standing_duties.h"
#include "detector/engine/standing_findings.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/network/transfer_watch.h"
#include "detector/sentinel/pace_sentinel.h"
#include "detector/sentinel/step_pace.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct Wishes {
  std::vector<PullRequest> pulls;
  std::vector<WatchRequest> watches;
};

class CloseLook {
 public:
  // By judgement, not measured.
  static constexpr int kMostBlindLooks = 2;
  // A job of which no look could tell anything for so long is judged without.
  static constexpr int64_t kBlindNs = StandingFindings::kUnseenNs;

  explicit CloseLook(double min_cost) : min_cost_(min_cost), investigation_({.min_cost = min_cost}), watch_({}) {}

  // One communicator of a rank of a report.
  void ObserveCommunicator(int32_t rank, int32_t rank_slot, const Roster::Place& place, const CommunicatorView& view,
                           int64_t host_ns, int64_t received_ns);
  // The answers of a report.
  void Observe(const HostReport& report);

  // After everything up to `watermark_ns` was observed. `standing_still` = the job hangs: nothing is to be learnt about
  // its steps until it goes on.
  Wishes Advance(const Roster& roster, int64_t watermark_ns, bool standing_still);

  // What holds now.
  const std::vector<Verdict>& verdicts() const { return told_; }
  // What is told beside it and is nothing to be called for: pauses that cost little. None, or one.
  std::vector<Verdict> remarks() const;
  bool accuses() const;                                 // a machine or the network
  JobState state() const { return findings_.state(); }  // by what was found; healthy = nothing

  const StepPace& pace() const { return pace_; }
  const PaceSentinel& sentinel() const { return sentinel_; }
  bool irregular() const;  // step times vary much
  // Whether looks confirm that the pace counts steps. Otherwise its steps may be micro-batches.
  bool knows_steps() const { return blind() || window_.believes_steps(pace_.RecentSeconds()); }
  // That a step takes in 97 of 100 cases; before steps are known, how far apart all calls recur. 0 = unknown.
  double LongestUsualSeconds() const;
  // Whether looks can judge: the newest one could, or the one before it, since a pause may fall into a window. If not,
  // why (none = no look has ended yet).
  bool judged() const { return judged_once_ && blind_looks_ < kMostBlindLooks; }
  const std::optional<Reason>& why_not_judged() const { return why_not_judged_; }
  // A part of the job that the newest looks left out, while they judged the rest of it.
  const std::optional<Reason>& left_out() const { return left_out_; }
  // What the looks do not find is not there: one could judge that began since the begin, or since the newest Resume,
  // and that none has to follow which would make sure of what it found. It had most steps of every rank, or kBlindNs
  // were over: whoever is not back yet may be the one.
  bool has_settled() const { return has_settled_; }
  // Looks were made and none of them could ever judge: the records of this job do not tell.
  bool blind() const { return !judged_once_ && blind_ns_ >= kBlindNs; }
  const std::vector<RankWork>& work() const { return work_; }  // of the newest look that knew steps, by rank

  // Machines of equal duty, by host of the roster; empty = no look has told. It holds as StandingDuties says.
  const std::vector<int32_t>& duty_of_host() const { return duties_.of_host(); }

  // Of the newest look that knew steps and all that was told: a window without the past of a cause has no line of it.
  const SeenLedger& ledger() const { return ledger_; }

  uint64_t looks() const { return investigation_.rounds(); }
  uint64_t discarded() const { return investigation_.discarded() + watch_.discarded() + findings_.refused(); }

  // Nobody listened until `watermark_ns`: what looks found by then says nothing of now, and one should follow soon.
  void Resume(int64_t watermark_ns);

  // A new incarnation of the job.
  void Clear();

 private:
  // Somebody is accused, and steps are not slower than usual, perhaps not any more.
  bool in_doubt() const;
  void TakePace(int64_t watermark_ns);
  void TakeLook(const Roster& roster, LookedAt look, int64_t watermark_ns);
  void NoteLeftOut(std::optional<Reason> left_out);
  // Back to before the steps became longer, if they did, or to before the onset of what is not sure yet; else 0.
  int64_t StepsToSee() const;
  WatchNeed NeedOfWatch() const;
  void Tell(const Roster& roster, int64_t watermark_ns);

  const double min_cost_;
  StepPace pace_;
  LookWindow window_;
  PaceSentinel sentinel_;
  LookSchedule schedule_;
  Investigation investigation_;
  StandingFindings findings_;
  SeenPauses pauses_;
  TransferWatch watch_;
  std::vector<Verdict> told_;
  std::vector<RankWork> work_;
  StandingDuties duties_;
  SeenLedger ledger_;
  std::optional<Reason> why_not_judged_;
  std::optional<Reason> left_out_;
  int partial_looks_ = 0;  // in a row, the newest of those that could judge, which left a part out
  bool judged_once_ = false;
  bool has_settled_ = false;
  int64_t resumed_ns_ = 0;  // 0 = never
  int blind_looks_ = 0;     // in a row, the newest ones
  int64_t blind_ns_ = 0;    // from the first look to the newest one
  bool stood_still_ = false;
  bool moves_ = false;  // somebody has finished an operation
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_CLOSE_LOOK_H_
