// What counters add to the report of a job: verdicts of their own where nothing else is known, evidence and a cause for
// the verdicts of the operation records where there are some.
//
// Without operation records the counters themselves have to show that the job is degraded (job_activity.h): only then,
// or when a rule calls a device broken, is a machine accused; everything else that stands out is an observation.
// Together with operation records counters accuse nobody: a machine that the records blame and that its counters show
// to be different gains confidence and, where they say why it is slow (a lowered clock, a degraded PCIe link, stalled
// storage), the class of that cause; of a group that the records blame as a whole the one member with network counters
// that stand out is named (group_member.h); machines that the records do not blame are observations. What was not
// looked at, because no counters of it exist, is said with every verdict from counters.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_DIAGNOSIS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_DIAGNOSIS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/counters/case_record.h"
#include "detector/model/metric_table.h"
#include "detector/model/place_table.h"
#include "detector/verdict/counter_reasons.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Of what people read.
inline constexpr size_t kMostCounterObservations = 16;

// What is known of the job besides its counters.
struct CounterContext {
  bool has_records = false;           // the report was made from operation records, and its state is theirs
  std::vector<int32_t> duty_of_host;  // by host of the table, as in PeerOptions
  // Machines that deviate together in one of them are a finding about the place. Borrowed; nullptr = none known.
  const PlaceTable* places = nullptr;
};

// Pure. Cost: that of JudgeHistory.
void AddCounters(const MetricTable& table, const CounterContext& context, JobReport* report);

// The verdict on one machine: an accusation where `may_accuse` and the job was degraded while it stood out, else an
// observation. The culprit is as precise as the signs.
Verdict CaseVerdict(const HistoryCase& found, const CounterHistory& history, const std::string& host, bool may_accuse);

// True when a verdict blames that machine already; then the case is evidence for it, makes it surer, and may say why.
bool Corroborate(const HistoryCase& found, const std::string& host, std::vector<Verdict>* verdicts);

// The class that the signs of a case speak for: the most specific of them wins.
VerdictClass ClassOf(const HistoryCase& found);

CounterExcursion ExcursionOf(const NamedSign& sign, const std::string& host);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_DIAGNOSIS_H_
