// A job whose replicas are units, and what scouting its data groups tells.
//
// `replicas` of two stages with four tensor ranks each, a stage per host. Rank = 8 * replica + 4 * stage + tensor
// index; hosts are called node-0, node-1, ... Pure values.

#ifndef LOCKSTEP_DETECTOR_TESTING_SCOUTED_JOB_H_
#define LOCKSTEP_DETECTOR_TESTING_SCOUTED_JOB_H_

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {

struct ScoutedJob {
  int32_t replicas = 0;
  int32_t slow_group = -1;  // data group (0 to 7) whose transfers take 25 ms instead of 10

  int32_t ranks() const { return 8 * replicas; }
  static CommunicatorId Tensor(int32_t rank) { return 1000 + static_cast<CommunicatorId>(rank / 4); }
  static CommunicatorId Pipeline(int32_t rank) { return 2000 + static_cast<CommunicatorId>(rank / 8 * 4 + rank % 4); }
  static CommunicatorId Data(int32_t rank) { return 3000 + static_cast<CommunicatorId>(rank % 8); }

  Roster MakeRoster(uint64_t operations_per_second = 100) const;

  // Ten steps of the data groups, in which the replica `late` (-1 = none) keeps the others waiting for 50 ms.
  std::vector<PulledOperations> Scouted(int32_t late, uint64_t seed, int64_t noise_ns = kNanosPerMilli) const;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_SCOUTED_JOB_H_
