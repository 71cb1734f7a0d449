// Everything that a diagnosis says about one job: the `jobs[]` entry of `lockstep diagnose -o json`.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_VERDICT_JOB_REPORT_H_
#define LOCKSTEP_DETECTOR_VERDICT_JOB_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict/remedy.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct Completeness {
  uint64_t records = 0;
  std::vector<int32_t> missing_ranks;
  uint64_t lost_records = 0;
};

// Seconds per step, the mean over all usual steps: measured = reference + all lines + unexplained, always exactly. How
// they come about: time_ledger.h.
struct LedgerLine {
  std::string finding;  // class and whom it names
  double seconds = 0;
};

struct TimeLedger {
  double reference_seconds = 0;
  double measured_seconds = 0;
  std::vector<LedgerLine> lines;   // as the verdicts come
  double unexplained_seconds = 0;  // negative: the job lost less than nothing
  double error_seconds = 0;        // standard error of measured minus reference
  double scale = 1;                // of what findings cost one by one, so that the lines add up; at most 1

  // Not known: too few usual steps.
  bool empty() const { return measured_seconds <= 0; }
};

// The ledger of a running job, as of some moment.
struct SeenLedger {
  TimeLedger ledger;             // empty = nobody could tell yet
  std::vector<Remedy> remedies;  // of its lines, the dearest first
  int64_t seen_ns = 0;
};

struct JobReport {
  std::string job;
  int32_t ranks = 0;
  int32_t hosts = 0;
  int64_t steps = 0;
  double step_seconds_median = 0;  // 0 = unknown
  Completeness completeness;
  JobState state = JobState::kUnknown;
  std::vector<Verdict> verdicts;  // the costliest first
  TimeLedger ledger;
  std::vector<Remedy> remedies;  // of the ledger's lines, the dearest first; empty unless they were asked for
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_JOB_REPORT_H_
