#include "detector/patterns/trace_duties.h"

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"

namespace lockstep {

void StateDuties(const Trace& trace, PatternFleet& fleet) {
  if (trace.operations.empty()) return;
  const JobRoles roles = InferRoles(trace, MatchOperations(trace));
  if (!roles.has_peers()) return;
  absl::flat_hash_map<int32_t, int32_t> duty_of_rank;
  for (size_t i = 0; i < trace.ranks.size(); ++i) duty_of_rank.emplace(trace.ranks[i].rank, roles.class_of_rank[i]);
  for (FleetWorker& worker : fleet.mutable_workers()) {
    const auto known = duty_of_rank.find(worker.rank);
    if (known != duty_of_rank.end()) worker.duty = known->second;
  }
}

}  // namespace lockstep
