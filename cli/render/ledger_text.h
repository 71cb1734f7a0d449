// Where the time of a step goes, in one line, and what removing causes would give back, as a table. Of files and of
// running jobs alike. Pure.

#ifndef LOCKSTEP_CLI_RENDER_LEDGER_TEXT_H_
#define LOCKSTEP_CLI_RENDER_LEDGER_TEXT_H_

#include <cstdint>
#include <string>

#include "detector/verdict/job_report.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

// "a step takes 1.3 s (mean): 1 s that it needs + 300 ms compute_slow rank 9 node-1 + nothing unexplained (error 2
// ms)".
// "" where there is nothing to account for.
std::string LedgerText(const TimeLedger& ledger);

// Of the jobs that have anything to account for, a line each that begins with the job's name, and says how long before
// `now_wall_ns` the look was: one that could not judge leaves the ledger of an earlier one standing.
std::string LedgersText(const wire::ListJobsResponse& jobs, int64_t now_wall_ns);

// What was lost to one finding, of all that was: "In the mean of all steps seen until 2026-01-02 03:04:05 UTC, 1.2 s,
// 250 ms was lost: 150 ms to this, 50 ms to other findings, 50 ms unexplained."
std::string LedgerShareText(const wire::LedgerShare& share);

// What removing the causes would give back: its ledger, then a row per remedy, or why there is none. `width` and
// `coloured` as of TextTable.
std::string WhatIfText(const wire::Job& job, int width, bool coloured);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_LEDGER_TEXT_H_
