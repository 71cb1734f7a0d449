// Where every rank of a simulated job sits: its coordinates, its groups, its host and its leaf.
//
// rank = tensor + T * (context + C * (data + D * stage)). A group kind cuts all ranks into groups of one size; "group"
// is its number within the kind. Immutable after construction; thread-safe.

#ifndef LOCKSTEP_SIM_LAYOUT_H_
#define LOCKSTEP_SIM_LAYOUT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/job_spec.h"

namespace lockstep {

enum class GroupKind : uint8_t {
  kTensor,
  kContext,
  kData,       // data and context indices together: those who share a parameter
  kExpert,     // runs of consecutive data indices
  kEmbedding,  // first and last stage
  kWorld,
  kPipeline,  // Send/Recv between stages
};
inline constexpr int kGroupKinds = 7;

class Layout {
 public:
  explicit Layout(const JobSpec& job);

  int32_t ranks() const { return ranks_; }
  int32_t hosts() const { return (ranks_ + gpus_per_host_ - 1) / gpus_per_host_; }
  int32_t leaves() const { return (hosts() + hosts_per_leaf_ - 1) / hosts_per_leaf_; }
  int32_t stages() const { return cut_.pipeline; }
  int32_t ranks_per_stage() const { return ranks_ / cut_.pipeline; }

  int32_t StageOf(int32_t rank) const { return rank / ranks_per_stage(); }
  int32_t DataIndexOf(int32_t rank) const { return rank % ranks_per_stage() / (cut_.tensor * cut_.context); }
  int32_t ExpertIndexOf(int32_t rank) const { return DataIndexOf(rank) % cut_.expert; }
  int32_t HostOf(int32_t rank) const { return rank / gpus_per_host_; }
  int32_t GpuOf(int32_t rank) const { return rank % gpus_per_host_; }
  int32_t LeafOfHost(int32_t host) const { return host / hosts_per_leaf_; }
  int32_t LeafOf(int32_t rank) const { return LeafOfHost(HostOf(rank)); }
  std::string HostName(int32_t host) const;

  // The same duty in another stage.
  int32_t InStage(int32_t rank, int32_t stage) const { return rank % ranks_per_stage() + stage * ranks_per_stage(); }

  // False when the job does not use this kind: its groups would have one member.
  bool Uses(GroupKind kind) const { return GroupSize(kind) > 1; }
  int32_t GroupSize(GroupKind kind) const;
  int32_t GroupCount(GroupKind kind) const;
  // -1: the rank is in no group of this kind (an inner stage has no embedding).
  int32_t GroupOf(GroupKind kind, int32_t rank) const;
  int32_t IndexInGroup(GroupKind kind, int32_t rank) const;
  int32_t Member(GroupKind kind, int32_t group, int32_t index) const;
  std::vector<int32_t> Members(GroupKind kind, int32_t group) const;

  // Position among the job's communicators: those of one kind follow one another, unused kinds take no place.
  int32_t Communicator(GroupKind kind, int32_t group) const {
    return first_communicator_[static_cast<size_t>(kind)] + group;
  }
  int32_t communicators() const { return first_communicator_[kGroupKinds]; }

 private:
  Parallelism cut_;
  int32_t ranks_;
  int32_t gpus_per_host_;
  int32_t hosts_per_leaf_;
  std::array<int32_t, kGroupKinds + 1> first_communicator_;
};

// "tp", "cp", "dp", "ep", "emb", "world", "pp".
const char* ShortName(GroupKind kind);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_LAYOUT_H_
