// Which ranks the Send/Recv of pipeline stages connect, and which Send/Recv is of no pipeline.
//
// A stage talks to the one before and the one after; who talks to more takes part in an all-to-all of Send/Recv.
// Send/Recv between equals is of no pipeline. In a group of more than two, ranks that reduce or gather much together,
// or reduce and scatter anything, work on the same layers and are equals. So are those that pass data round a ring
// (one_way_rings.h). Cost O(channels x log + members). Pure.

#ifndef LOCKSTEP_DETECTOR_MODEL_PIPELINES_H_
#define LOCKSTEP_DETECTOR_MODEL_PIPELINES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/operation_instances.h"
#include "detector/model/operation_mix.h"
#include "detector/model/trace.h"

namespace lockstep {

struct Pipelines {
  std::vector<int32_t> of_rank;     // by rank index: the lowest of those in its pipeline; -1 = it is in none
  std::vector<char> equal_senders;  // by communicator: 1 = all that send there send to their equals
  bool any = false;
};

// `mixes`: by communicator, of the same trace.
Pipelines FindPipelines(const Trace& trace, const OperationInstances& matched, absl::Span<const OperationMix> mixes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_PIPELINES_H_
