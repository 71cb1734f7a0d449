// What the detector says of a job and its ranks, as the messages that the query service answers with.
//
// Pure; never fails.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_SUMMARY_H_
#define LOCKSTEP_COLLECTOR_CONVERT_SUMMARY_H_

#include "detector/engine/job_engine.h"
#include "proto/query.pb.h"

namespace lockstep {

// Fills state, note, steps and world size. The rest is known to the collector only.
void FillJob(const JobSummary& summary, wire::Job& job);

wire::Rank ToProto(const RankSummary& rank);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_SUMMARY_H_
