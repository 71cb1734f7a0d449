// Which processes of a job somebody means, by the ranks that the engine knows.

#ifndef LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_TARGETS_H_
#define LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_TARGETS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collector/demands/demand_book.h"
#include "collector/job_table.h"
#include "proto/query.pb.h"

namespace lockstep {

struct DemandTargets {
  std::vector<DemandTarget> targets;  // by rank
  size_t left_out = 0;                // further ones, for which there was no room
};

// The process of `rank`. Pure.
DemandTarget TargetOf(const wire::Rank& rank);

// The ranks of `job`, gone ones too; nullptr = it is in none of `snapshots`, which own them. Pure.
const std::vector<wire::Rank>* RanksOf(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                       const std::string& job);

// The processes of `ranks` (empty = all) of `job` that are not gone, at most `max`. NOT_FOUND for a job that is in none
// of `snapshots`, or a rank that it has not. Pure.
absl::StatusOr<DemandTargets> FindDemandTargets(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                                const std::string& job, absl::Span<const int32_t> ranks, size_t max);

// The processes of `ranks`, and at most `peers` others to compare them with: those of the same duty, where it is known
// and somebody shares it. Else first those of the same local rank, which is the same place within a host and mostly the
// same duty, then any. All are spread evenly over the job. No rank is named: peers alone. Errors as above. Pure.
absl::StatusOr<DemandTargets> FindCompared(absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots,
                                           const std::string& job, absl::Span<const int32_t> ranks, size_t peers,
                                           size_t max);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_TARGETS_H_
