#include "detector/model/operation_mix.h"

#include <cstddef>

#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

void Note(const TraceOperation& operation, OperationMix* mix) {
  const OperationKind kind = operation.kind;
  const bool one_sided = IsSendOrRecv(kind);
  mix->sends += one_sided;
  mix->collectives += !one_sided;
  mix->all_to_alls += kind == OperationKind::kAllToAll;
  const bool gathers = kind == OperationKind::kAllReduce || kind == OperationKind::kAllGather;
  // What each gets a part of is much, also where sizes are not recorded.
  mix->large += kind == OperationKind::kReduceScatter || (gathers && operation.bytes >= kMuchBytes);
}

void Add(const OperationMix& other, OperationMix* mix) {
  mix->collectives += other.collectives;
  mix->all_to_alls += other.all_to_alls;
  mix->large += other.large;
  mix->sends += other.sends;
}

}  // namespace

std::vector<OperationMix> MixOperations(const Trace& trace, Executor* executor) {
  std::vector<OperationMix> mixes(trace.communicators.size());
  const size_t parts = PartsOf(executor, trace.operations.size());
  std::vector<std::vector<OperationMix>> of_part(parts, mixes);
  RunParts(executor, trace.operations.size(), parts, [&](size_t part, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const TraceOperation& operation = trace.operations[i];
      Note(operation, &of_part[part][static_cast<size_t>(operation.communicator)]);
    }
  });
  for (const std::vector<OperationMix>& part : of_part) {
    for (size_t i = 0; i < mixes.size(); ++i) Add(part[i], &mixes[i]);
  }
  return mixes;
}

}  // namespace lockstep
