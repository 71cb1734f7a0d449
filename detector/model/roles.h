// Which rank does what: the groups of a job and their roles, inferred from who talks to whom, and how.
//
// Peers are ranks of equal duty: the members of groups inside one pipeline stage do the same work on other data or
// another slice, so the stages are the sets that such groups connect. A group lies inside a stage unless two of its
// members belong to one pipeline, that is, are connected by Send/Recv. Those who reduce or gather much together, or
// reduce and scatter anything, in a group of more than two, or pass data round a ring, are of one stage: Send/Recv
// between them is no pipeline (pipelines.h). Without Send/Recv a group lies inside a stage when all of its members make
// the same kinds of calls (call_signatures.h). Roles come from the framework's name for the group where it has one,
// else from operation mix (AllToAll: experts), size, hosts, GPUs and call rate; the confidence says how sure that is.
// Numbers of ranks and names say nothing: launchers deal them out as they like. Nothing here needs a clock. Cost
// O(records + members). Pure.

#ifndef LOCKSTEP_DETECTOR_MODEL_ROLES_H_
#define LOCKSTEP_DETECTOR_MODEL_ROLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"

namespace lockstep {

enum class GroupRole : uint8_t { kUnknown, kTensor, kContext, kData, kExpert, kPipeline, kAcrossStages, kWorld };

// "tensor group", ...
const char* Name(GroupRole role);

struct CommunicatorRole {
  GroupRole role = GroupRole::kUnknown;
  double confidence = 0;      // 0 to 1
  int32_t family = -1;        // see communicator_families.h
  bool inside_stage = false;  // its members are peers
  bool on_one_host = false;
  double calls_per_member = 0;  // collectives
};

struct JobRoles {
  std::vector<CommunicatorRole> communicators;  // by communicator
  int32_t families = 0;
  std::vector<int32_t> class_of_rank;         // by rank index: peers have the same class
  std::vector<std::vector<int32_t>> classes;  // rank indices, rising; classes by their lowest rank
  std::vector<int32_t> pipeline_of_rank;      // ranks connected by Send/Recv of stages; -1 = the rank does none

  // Without any peers classes say nothing: each rank is one.
  bool has_peers() const {
    return std::any_of(classes.begin(), classes.end(), [](const auto& members) { return members.size() > 1; });
  }
  const std::vector<int32_t>& PeersOf(size_t rank) const { return classes[static_cast<size_t>(class_of_rank[rank])]; }
};

// `executor` may be nullptr.
JobRoles InferRoles(const Trace& trace, const OperationInstances& matched, Executor* executor = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_ROLES_H_
