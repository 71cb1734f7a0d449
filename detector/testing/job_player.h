// Plays a simulated job to a detector and keeps what it concluded, for tests.
//
// One evaluation after each round of reports; what it asks agents for comes with the next round. `alter` may change or
// withhold what the detector hears: reports with an empty host are not delivered. Deterministic. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_TESTING_JOB_PLAYER_H_
#define LOCKSTEP_DETECTOR_TESTING_JOB_PLAYER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "detector/engine/job_engine.h"
#include "detector/model/input.h"
#include "detector/testing/job_generator.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// A cause as it was seen over the run. Times in seconds since the start of the job.
struct SeenCause {
  double first = -1, last = -1;
  Verdict oldest, newest;
  int told = 0;  // evaluations that told it
};

struct PlayedJob {
  std::map<std::string, SeenCause> causes;  // by cause key
  std::string log;                          // every verdict of every evaluation, a line each
  JobSummary summary;
  std::vector<RankSummary> ranks;
  SeenLedger ledger;
  std::vector<JobState> states;  // by evaluation
  bool always_conclusive = true;
};

struct JobPlay {
  JobGeneratorOptions job;
  double seconds = 60;
  double engine_begins = 0;  // before that nobody listens
  bool reversed = false;     // hosts report in the other order
  JobEngineOptions engine;
  std::function<void(double now, HostReport* report)> alter;
};

PlayedJob Play(const JobPlay& play);

// All sentences of the verdict, a line each.
std::string EvidenceText(const Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_JOB_PLAYER_H_
