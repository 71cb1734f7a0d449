// What the detector says of a job and its ranks, as the messages that the query service answers with.
//
// Pure; never fails.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_SUMMARY_H_
#define LOCKSTEP_COLLECTOR_CONVERT_SUMMARY_H_

#include <cstddef>

#include "detector/engine/job_engine.h"
#include "detector/verdict/job_report.h"
#include "proto/query.pb.h"

namespace lockstep {

// Fills state, note, steps and world size. The rest is known to the collector only.
void FillJob(const JobSummary& summary, wire::Job& job);

// Of a job of which no look could tell yet it fills nothing. Lines beyond kMaxLedgerLines become one.
inline constexpr size_t kMaxLedgerLines = 16;
inline constexpr int kMaxRemedyHosts = 16;
void FillLedger(const SeenLedger& seen, wire::Job& job);

wire::Rank ToProto(const RankSummary& rank);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_SUMMARY_H_
