// A job judged as a whole from what is known of it: operation records, counters, kernel events, or any of them.
//
// The offline face of the detector: `lockstep diagnose`, `lockstep eval` and the collector's localization on pulled
// records all call this. Pure function: same input, same bytes out.

#ifndef LOCKSTEP_DETECTOR_DIAGNOSIS_H_
#define LOCKSTEP_DETECTOR_DIAGNOSIS_H_

#include "base/executor.h"
#include "detector/job_evidence.h"
#include "detector/job_report.h"
#include "detector/places/place_table.h"

namespace lockstep {

struct DiagnosisOptions {
  // A slow machine or link is accused only when healing it gives back at least this share of the step time.
  double min_cost = 0.03;
  // Where the machines of the fleet stand: those that deviate together in one place are a finding about the place.
  // Counts more than the places in the evidence.
  PlaceTable places;
  // Runs what can run at the same time; the report does not depend on it. Not owned; nullptr = the caller's thread
  // alone.
  Executor* executor = nullptr;
  // Breaks the engine: the earliest rank counts as the latest. For tests of the evaluation, which has to notice.
  bool sabotage_lateness_sign = false;
};

JobReport Diagnose(const JobEvidence& evidence, const DiagnosisOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_DIAGNOSIS_H_
