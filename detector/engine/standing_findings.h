// What holds of a running job, from what one look after the other finds.
//
// A look sees some tens of steps and can be unlucky: a cause is told when two looks that share no newest step agree
// about it, and one is sure what a step is. A look that could not judge, because ranks left no records, agrees to
// nothing new until it has been kUnhurriedNs that one could: who is away for that long may never come. Whoever looks
// agreed about before steps were sure is told then, even if it is over: a short fault in the first seconds of a job is
// an incident as well. What blames no machine is in no hurry, and a job that starts up looks odd: there kUnhurriedNs
// must have passed and kPatientSteps of them be new, or kPastSteps where the job is compared with its own past. That
// steps are longer for an unknown reason is told if it lasts, for kPatientSteps and kLastingNs. It holds until looks
// that could judge stop finding it: two of them, the newest kPastSteps after the one that found it last, or, while
// steps are still slower than usual and the looks find nothing else either, kMostMisses. What a look found at its
// beginning only, and no more at its end, is over. The end is that of the culprit's records: an agent that hangs is no
// cure. A look that has nothing new of the culprit misses nothing for kUnseenNs.
//
// A cause is *settled* by a look that saw the steps before its onset as well: these compare the job with its own past,
// and tell most. A later look, whose window begins after the onset, knows less than that one. As long as the pace of
// the job has not changed since (whoever costs three per cent of a step cannot go unnoticed), such looks confirm a
// settled cause or say nothing: they neither end it by finding nothing nor change its cost, and whom they blame from
// their first step on is not believed. Only kMostMisses of them in a row that blame others end it. A look that saw the
// cause and saw it end knows enough, whatever it saw of the past.
//
// Pure; not thread-safe. Bounded by kMaxFindings; what did not fit is counted.

#ifndef LOCKSTEP_DETECTOR_ENGINE_STANDING_FINDINGS_H_
#define LOCKSTEP_DETECTOR_ENGINE_STANDING_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "detector/engine/look_schedule.h"
#include "detector/engine/look_window.h"
#include "detector/engine/short_records.h"
#include "detector/verdict/cost_limit.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// A look at steps that are known.
struct LookResult {
  bool judged = true;             // what it did not find is not there; else a part of the job is not known
  bool steps_are_sure = true;     // else they may be micro-batches, and nothing is told yet
  std::vector<Verdict> verdicts;  // steps numbered from the first of the look
  std::vector<ShortRecords> short_records;
  int64_t steps = 0;        // that it saw
  double step_seconds = 0;  // 0 = unknown
  int64_t watermark_ns = 0;
  int64_t newest_step = 0;        // of the job, when it ended
  bool still_slower = false;      // steps take longer than usual
  int64_t level_since_step = -1;  // of the job: the pace has not changed since; -1 = unknown

  int64_t first_step() const { return newest_step - steps; }  // of the job
};

// In steps of the job instead of the look, its reasons as well, and on the collector's clock. An onset before the
// look's first step is not known: it is that of the look, the least that is sure.
void PlaceInJob(const LookResult& look, Verdict* verdict);

// What a look at a window of finished operations may tell: hangs show in progress, drifts and cheap pauses in the
// course of the whole job; observations explain nothing, and of the abstentions only that steps are longer without a
// cause is about the job. What blames no machine is told from `limit` on; long windows show much that hardly matters.
std::vector<Verdict> CausesOfLook(const JobReport& report, const CostLimit& limit);

class StandingFindings {
 public:
  // Of the job's past, besides the stretch of the cause, and of its future before a cause ends: as many as an
  // accusation takes.
  static constexpr int64_t kPastSteps = 4;

  // Half of what a window holds at least, chosen on tuning numbers: the second look rests on other steps for a half.
  // With all of it a job of forty steps was over before a tenth of the structural causes were told.
  static constexpr int64_t kPatientSteps = 8;

  // What is longer than the steps that are believed shows by then, and these were none (look_window.h).
  static constexpr auto kUnhurriedNs = static_cast<int64_t>(LookWindow::kRevealingSeconds * 1e9);

  // As far apart as looks at a calm job: nobody can do anything about it but look for what was changed.
  static constexpr int64_t kLastingNs = LookSchedule::kLeastCalmNs;

  // As long as between three calm looks: who tells nothing for longer tells nothing any more.
  static constexpr int64_t kUnseenNs = 2 * LookSchedule::kLeastCalmNs;

  // Bound of memory.
  static constexpr size_t kMaxFindings = 64;
  // Two looks of their own noise; a finding that was seen longer may be missed more often. By judgement, not measured.
  static constexpr int kMisses = 2;
  static constexpr int kMostMisses = 6;

  // Takes in a look. True when another look should follow soon: something was found or missed for the first time, or
  // blames somebody and is not sure yet. What has to last needs none.
  bool Take(const LookResult& look);

  // Steps are counted in another unit from now on, and the newest is number `newest_step`: what was found in the old
  // one and not told is forgotten, since those were perhaps no steps.
  void Renumber(int64_t newest_step);

  // What holds now, by cause key.
  std::vector<Verdict> Told() const;
  // The keys of the same: what the next look is to judge by (cost_limit.h).
  std::set<std::string> ToldCauses() const;

  // Whether a look found all that is told, or could have: otherwise its ledger lacks lines of what holds.
  bool AccountsForTold(const LookResult& look) const;

  // What the newest look found, told or not.
  std::vector<Verdict> Candidates() const;
  // How far back a look must reach to see the past of what is found and not yet told; 0 = anything will do.
  int64_t StepsToSee(int64_t newest_step) const;
  // By what is told, and by what blames no machine as soon as two looks agree about it: nobody is called for a state.
  JobState state() const;
  bool accuses() const;  // something that is told blames a machine or the network
  bool explains() const { return accuses() || explains_; }

  uint64_t refused() const { return refused_; }
  void Clear() { *this = StandingFindings(); }

 private:
  struct Finding {
    Verdict verdict;
    int64_t found_at_step = 0;     // newest step of the look that found it first
    int64_t found_at_ns = 0;       // watermark of the same
    int64_t newest_step = 0;       // of the newest look that found it again
    int64_t settled_at_step = -1;  // of the newest one that found it and saw its past; -1 = none did
    int misses = 0;
    bool agreed = false;  // two looks agree about it
    bool told = false;
  };

  // Whether the look knows as much about the finding as those that found it.
  static bool Knows(const LookResult& look, const Finding& finding);
  // Causes of the look that are to be believed, by key, placed in the job.
  std::map<std::string, Verdict> BelievedOf(const LookResult& look) const;
  void Confirm(const LookResult& look, Verdict again, Finding* finding) const;
  // Whether a look that has found it again agrees with the one that found it first.
  static bool Agree(const LookResult& look, const Finding& finding);
  struct OtherCauses {
    bool found = false;     // something else explains the steps
    bool saw_this = false;  // the look saw the finding, and saw it end
  };
  static OtherCauses OthersThan(const std::string& key, const LookResult& look);
  // Whether the look tells nothing new of those whom the finding blames, and not for too long.
  static bool IsUnseen(const LookResult& look, const Finding& finding);
  // Of a finding that does not hold at the end of the look; true when it is over.
  static bool Miss(const LookResult& look, const std::string& key, Finding* finding);

  std::map<std::string, Finding> findings_;  // by cause key
  bool explains_ = false;                    // something that is told costs steps, whoever is to blame
  uint64_t refused_ = 0;
  int64_t judged_ns_ = 0;  // watermark of the newest look that judged, else of the first one; 0 = there was none
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_STANDING_FINDINGS_H_
