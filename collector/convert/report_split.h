// One agent report, cut into the part of each job: the processes of that job, and everything about the host.
//
// What NCCL's RAS service of the machine said is about one of its jobs: of several, the one that has a communicator
// that RAS names. An answer that finds nothing, or nothing of any of them, goes to no job of several.
//
// A host that runs no recorded process belongs to the job "", so that its counters are still seen. The common case of
// one job moves the report and copies nothing. Pure.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_REPORT_SPLIT_H_
#define LOCKSTEP_COLLECTOR_CONVERT_REPORT_SPLIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/capture.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// By first appearance of the job; at least one. `received_wall_ns` is still 0: the shard stamps it.
// INVALID_ARGUMENT when the report names more than kMaxJobsPerReport jobs.
absl::StatusOr<std::vector<wire::CaptureInput>> SplitReport(const std::string& host, uint64_t incarnation,
                                                            wire::AgentReport report);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_REPORT_SPLIT_H_
