// Who is gone: processes that died while others go on, and hosts that fell silent while the job stands still.
//
// Pure: looks at a roster. A process that died within a moment of all the others is not accused (the launcher kills
// the survivors of a crash), nor is a host whose agent alone is gone while the job goes on. Cost O(ranks).

#ifndef LOCKSTEP_DETECTOR_HANG_LIVENESS_H_
#define LOCKSTEP_DETECTOR_HANG_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "detector/model/roster.h"

namespace lockstep {

struct DeadProcess {
  int32_t rank_slot = -1;
  int64_t since_ns = 0;  // receive time of the first report that said so
  int32_t others_alive = 0;
};

// Ranks that died without ending in order, while other ranks were alive in reports at least a second newer.
std::vector<DeadProcess> FindDeadProcesses(const Roster& roster);

struct SilentHost {
  int32_t host_slot = -1;
  int64_t silent_ns = 0;
  std::vector<int32_t> ranks;  // slots
  int32_t hosts_reporting = 0;
};

// Hosts with ranks that have not ended, silent for longer than `host_silent_ns` while other hosts of the job report,
// a rank there is inside of an operation shared with the silent ranks, and no such operation has made progress since.
std::vector<SilentHost> FindSilentHosts(const Roster& roster, int64_t watermark_ns, int64_t host_silent_ns);

// Every known rank has ended in order or is dead.
bool AllOver(const Roster& roster);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_LIVENESS_H_
