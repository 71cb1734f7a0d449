#include "sim/layout.h"

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace lockstep {

using enum GroupKind;

Layout::Layout(const JobSpec& job)
    : cut_(job.parallelism),
      ranks_(job.parallelism.gpus()),
      gpus_per_host_(job.gpus_per_host),
      hosts_per_leaf_(job.hosts_per_leaf) {
  int32_t first = 0;
  for (int kind = 0; kind < kGroupKinds; ++kind) {
    first_communicator_[kind] = first;
    if (Uses(static_cast<GroupKind>(kind))) first += GroupCount(static_cast<GroupKind>(kind));
  }
  first_communicator_[kGroupKinds] = first;
}

std::string Layout::HostName(int32_t host) const { return absl::StrFormat("node-%05d", host); }

int32_t Layout::GroupSize(GroupKind kind) const {
  switch (kind) {
    case kTensor:
      return cut_.tensor;
    case kContext:
      return cut_.context;
    case kData:
      return cut_.data * cut_.context;
    case kExpert:
      return cut_.expert;
    case kEmbedding:
      return cut_.pipeline > 1 ? 2 : 1;
    case kWorld:
      return ranks_;
    case kPipeline:
      return cut_.pipeline;
  }
  return 1;
}

int32_t Layout::GroupCount(GroupKind kind) const {
  if (kind == kEmbedding) return ranks_per_stage();
  return ranks_ / GroupSize(kind);
}

int32_t Layout::GroupOf(GroupKind kind, int32_t rank) const {
  const int32_t tensor = rank % cut_.tensor;
  const int32_t context = rank / cut_.tensor % cut_.context;
  const int32_t stage = StageOf(rank);
  const int32_t data = DataIndexOf(rank);
  switch (kind) {
    case kTensor:
      return rank / cut_.tensor;
    case kContext:
      return (stage * cut_.data + data) * cut_.tensor + tensor;
    case kData:
      return stage * cut_.tensor + tensor;
    case kExpert:
      return ((stage * (cut_.data / cut_.expert) + data / cut_.expert) * cut_.context + context) * cut_.tensor + tensor;
    case kEmbedding:
      return stage == 0 || stage == cut_.pipeline - 1 ? rank % ranks_per_stage() : -1;
    case kWorld:
      return 0;
    case kPipeline:
      return rank % ranks_per_stage();
  }
  return -1;
}

int32_t Layout::IndexInGroup(GroupKind kind, int32_t rank) const {
  switch (kind) {
    case kTensor:
      return rank % cut_.tensor;
    case kContext:
      return rank / cut_.tensor % cut_.context;
    case kData:
      return rank % ranks_per_stage() / cut_.tensor;
    case kExpert:
      return ExpertIndexOf(rank);
    case kEmbedding:
      return StageOf(rank) == 0 ? 0 : 1;
    case kWorld:
      return rank;
    case kPipeline:
      return StageOf(rank);
  }
  return -1;
}

int32_t Layout::Member(GroupKind kind, int32_t group, int32_t index) const {
  const int32_t per_stage = ranks_per_stage();
  const int32_t tensor = group % cut_.tensor;
  switch (kind) {
    case kTensor:
      return group * cut_.tensor + index;
    case kContext:
      // group / T counts (stage, data) pairs, which follow one another at the distance of T * C ranks.
      return (group / cut_.tensor * cut_.context + index) * cut_.tensor + tensor;
    case kData:
      return group / cut_.tensor * per_stage + index * cut_.tensor + tensor;
    case kExpert: {
      const int32_t context = group / cut_.tensor % cut_.context;
      const int32_t block = group / (cut_.tensor * cut_.context);  // of E data indices, across stages
      return ((block * cut_.expert + index) * cut_.context + context) * cut_.tensor + tensor;
    }
    case kEmbedding:
      return index == 0 ? group : group + (cut_.pipeline - 1) * per_stage;
    case kWorld:
      return index;
    case kPipeline:
      return group + index * per_stage;
  }
  return -1;
}

std::vector<int32_t> Layout::Members(GroupKind kind, int32_t group) const {
  CHECK(group >= 0 && group < GroupCount(kind));
  std::vector<int32_t> members(GroupSize(kind));
  for (int32_t i = 0; i < GroupSize(kind); ++i) members[i] = Member(kind, group, i);
  return members;
}

const char* ShortName(GroupKind kind) {
  constexpr const char* kNames[] = {"tp", "cp", "dp", "ep", "emb", "world", "pp"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace lockstep
