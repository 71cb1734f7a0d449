// What an engine got right and wrong in the course of an episode whose truth is known.
//
// A look counts like a report of `diagnose`: verdicts in the order of hangs first, then by cost. A cause is named at
// the first look from its onset on at which a verdict about it names a culprit exactly. Whoever is accused at any look
// without being to blame was accused wrongly; so was everybody who was accused before anything happened. Pure functions
// and values but for LiveScorer, which is not thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_SCORE_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_SCORE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "detector/verdict/job_report.h"
#include "eval/live/live_player.h"
#include "eval/scoring/episode_score.h"
#include "sim/episode.h"

namespace lockstep {

struct LiveCauseScore {
  static constexpr double kNever = -1;

  CauseScore at_end;              // of the last look
  bool stops_job = false;         // a hang, as the job goes
  double left_seconds = 0;        // from the onset to the last look: what a cause that was never named counts with
  double left_steps = 0;          // the same in steps
  double step_seconds = 0;        // median of the steps since the onset; 0 = none was finished (a hang)
  double named_seconds = kNever;  // after the onset, first
  double named_steps = kNever;    // steps of the job that were finished in that time, and the begun one
  // After the onset: from then on, up to the last look, the culprit set was exact and no hang was blamed on others.
  double exact_seconds = kNever;
};

struct LiveScore {
  std::vector<LiveCauseScore> causes;        // as in the truth
  std::vector<std::string> accused_wrongly;  // hosts, sorted
  int64_t hosts_accused = 0;                 // at any look, rightly or wrongly
  int64_t false_incidents = 0;     // causes of any scope but "unknown" that were concluded and are about no true cause
  bool state_right = false;        // at the last look
  int64_t looks_with_records = 0;  // from kWarmUpSteps steps and kWarmUpSeconds after the first record on
  int64_t unknown_looks = 0;       // of those: the state of the job was "unknown"
};

// What an engine may need before it can say anything; as what it may need to name a slow rank.
inline constexpr double kWarmUpSteps = 5;
inline constexpr double kWarmUpSeconds = 5;

class LiveScorer {
 public:
  // `truth` must outlive this.
  LiveScorer(const Truth& truth, double min_cost);

  // By rising time.
  void Look(const LiveLook& look);

  LiveScore Finish();

 private:
  void LookAtCause(size_t index, const CauseScore& score, bool others_hang, int64_t now_ns);
  bool IsAboutTheTruth(const Verdict& verdict, const Truth& truth) const;
  void CountFalseIncidents(const JobReport& report, const Truth& truth);
  bool BlamesAnotherHang(const JobReport& report) const;
  void LookAtState(const LiveLook& look);

  const Truth& truth_;
  const double min_cost_;
  int64_t first_onset_ns_ = 0;
  double usual_step_seconds_ = 0;
  int64_t first_record_ns_ = -1;
  int64_t last_look_ns_ = 0;
  std::set<std::string> judged_incidents_;  // cause and class
  std::set<std::string> accused_;
  std::set<std::string> accused_wrongly_;
  LiveScore score_;
};

// The conclusion of one look as a report of the job.
JobReport ReportOf(const JobEngine::Conclusion& conclusion, const JobSummary& summary);

// How many steps of `truth` lie in `seconds` after the begin of `first_step`; the last one counts by its part, and
// beyond the last one recorded they are as long as that.
double StepsIn(double seconds, int32_t first_step, const Truth& truth);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_SCORE_H_
