// Which hosts of the fleet report at one moment: what the engine of a silent job is told of the world beside its job.
//
// Immutable; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_FLEET_PULSE_H_
#define LOCKSTEP_COLLECTOR_FLEET_PULSE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "collector/ingest/agent_registry.h"
#include "detector/model/fleet_sight.h"
#include "proto/query.pb.h"

namespace lockstep {

class FleetPulse {
 public:
  // Who has told nothing for longer is no part of the fleet any more: as long as idle jobs are remembered by default.
  static constexpr int64_t kLatelyNs = 600 * kNanosPerSecond;

  // `agents` as they are known at `now_wall_ns` of the collector's time line.
  FleetPulse(const std::vector<AgentView>& agents, int64_t now_wall_ns);

  // The fleet beside a job with these ranks. Where a host of one of its living ranks reports, though not of this job,
  // the machine is there, and nothing is said of the fleet. Cost O(ranks).
  FleetSight Beside(const std::vector<wire::Rank>& ranks) const;

 private:
  absl::flat_hash_set<std::string> reporting_;
  int32_t silent_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_FLEET_PULSE_H_
