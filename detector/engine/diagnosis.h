// A job judged as a whole from what is known of it: operation records, counters, kernel events, or any of them.
//
// The one judge: `lockstep diagnose` and `lockstep eval` call it on whole recordings, the live engine on the window of
// operations that a look has pulled. Pure function: same input, same bytes out.

#ifndef LOCKSTEP_DETECTOR_ENGINE_DIAGNOSIS_H_
#define LOCKSTEP_DETECTOR_ENGINE_DIAGNOSIS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "detector/engine/short_records.h"
#include "detector/model/job_evidence.h"
#include "detector/model/place_table.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/many_named.h"
#include "detector/verdict/reason.h"

namespace lockstep {

struct DiagnosisOptions {
  // A slow machine or link is accused only when removing it gives back at least this share of the step time.
  double min_cost = 0.03;
  // Causes (CauseKey) that were told of this job before: they hold down to a smaller share (cost_limit.h).
  std::set<std::string> told;
  // Of the whole job, of which the evidence may hold a part; what the evidence holds counts if it is more.
  JobSize job;
  // Where the machines of the fleet stand: those that deviate together in one place are a finding about the place.
  // Counts more than the places in the evidence.
  PlaceTable places;
  // Ranks the advice by what it gives back (remedies.h), which takes further replays.
  bool remedies = false;
  // Runs what can run at the same time; the report does not depend on it. Not owned; nullptr = the caller's thread
  // alone.
  Executor* executor = nullptr;
  // Breaks the engine: the earliest rank counts as the latest. For tests of the evaluation, which has to notice.
  bool sabotage_lateness_sign = false;
};

// What a rank did in a usual step, median over the newest 16 that were seen; its peers are the ranks of equal duty.
struct RankWork {
  int32_t rank = -1;
  double own_seconds = 0;   // outside of operations
  double peer_seconds = 0;  // the same of its peers, median; 0 = it has none
  int32_t duty = -1;        // the same for ranks of equal duty; -1 = the records do not tell
};

// Operations that count the steps of the job; see steps/pacemaker.h.
struct StepCount {
  int32_t rank = -1;
  std::string communicator;  // as the trace calls it
  uint64_t operations_per_step = 0;
  uint64_t newest_sequence = 0;  // of the operation that ended the newest complete step
};

// A report, and what else was learnt about the job on the way.
struct Judgement {
  JobReport report;
  std::optional<Reason> why_not_judged;  // none = of what is known, finding nothing means that nothing is wrong
  std::optional<Reason> left_out;        // if judged: a part of the job that was not, which keeps it from being healthy
  std::vector<RankWork> work;            // by rank; of ranks with known own times
  // Machines of equal duty (counters/host_duties.h), of all that have ranks; empty = the records do not tell.
  std::map<std::string, int32_t> duty_of_host;
  std::vector<StepCount> step_counts;
  std::vector<ShortRecords> short_records;
};

Judgement Judge(const JobEvidence& evidence, const DiagnosisOptions& options);

// The report alone.
JobReport Diagnose(const JobEvidence& evidence, const DiagnosisOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_DIAGNOSIS_H_
