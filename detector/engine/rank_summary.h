// What is known of each rank of a job, for people: identity, life, progress, and where its time goes.
//
// Pure. Cost O(ranks x communicators of each).

#ifndef LOCKSTEP_DETECTOR_ENGINE_RANK_SUMMARY_H_
#define LOCKSTEP_DETECTOR_ENGINE_RANK_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/engine/diagnosis.h"
#include "detector/model/input.h"
#include "detector/model/process_end.h"
#include "detector/model/roster.h"

namespace lockstep {

struct RankSummary {
  int32_t rank = -1;
  std::string host;
  int32_t pid = 0;
  int32_t local_rank = -1;
  int32_t gpu = -1;
  std::string gpu_uuid;         // "" = unknown
  std::string gpu_pci_address;  // "" = unknown
  std::string pod;              // of Kubernetes, "namespace/name"; "" = none, or unknown
  ProcessState process_state = ProcessState::kUnknown;
  bool finalized = false;
  ProcessEnd end;         // of a dead one
  uint64_t enqueued = 0;  // collectives over all communicators
  uint64_t finished = 0;
  uint64_t lost_records = 0;
  double own_seconds_per_step = 0;   // 0 = unknown
  double wait_seconds_per_step = 0;  // 0 = unknown
  int64_t last_seen_ns = 0;
  int32_t duty = -1;  // the same for ranks that do the same work, in the newest look; -1 = not known
};

// By rank. `work`: as of the newest look that knew steps. `step_seconds`: of the newest steps.
std::vector<RankSummary> SummarizeRanks(const Roster& roster, const std::vector<RankWork>& work, double step_seconds);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_RANK_SUMMARY_H_
