// One recording under test: as its files gave it, what is concluded from it, and the means to look closer.
//
// Thread-compatible; a subject is used by one thread at a time, since it keeps what it has worked out.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_SUBJECT_H_
#define LOCKSTEP_EVAL_METAMORPHIC_SUBJECT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "eval/metamorphic/recording_replay.h"

namespace lockstep {

// What is tested: `Diagnose` with this `--min-cost` in all but tests.
using FileJudge = std::function<JobReport(const JobEvidence& recording, double min_cost)>;

inline constexpr double kMinCost = 0.03;
// What costs half of it may cost enough in a changed recording, where it hides behind less.
inline constexpr double kNearlyMinCost = 0.015;
// What surely costs enough.
inline constexpr double kSurelyMinCost = 0.04;

class Subject {
 public:
  // `judge` must outlive this.
  Subject(JobEvidence recording, const FileJudge& judge);

  const JobEvidence& recording() const { return recording_; }
  const JobReport& report() const { return report_; }
  JobReport Judge(const JobEvidence& changed, double min_cost = kMinCost) const { return judge_(changed, min_cost); }

  // Everybody whom the judge names in the recording as it is, also at kNearlyMinCost.
  const std::set<std::string>& named_hosts();
  // What all findings cost together, also at kNearlyMinCost; of the step time.
  double nearly_told_cost();
  // How many findings there are then.
  size_t nearly_told();
  const RecordingReplay& replay();

 private:
  void LookCloser();

  const FileJudge& judge_;
  const JobEvidence recording_;
  const JobReport report_;
  std::optional<std::set<std::string>> named_hosts_;
  double nearly_told_cost_ = 0;
  size_t nearly_told_ = 0;
  std::unique_ptr<RecordingReplay> replay_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_SUBJECT_H_
