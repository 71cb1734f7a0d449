#include "detector/model/operation_kind.h"

#include <iterator>

namespace lockstep {
namespace {

struct KindInfo {
  const char* name;
  bool synchronous;
};

// By value of OperationKind.
constexpr KindInfo kKinds[] = {
    {"Unknown", true},    // an unknown name is treated as a synchronous collective (interface of `diagnose`)
    {"AllReduce", true},  //
    {"AllGather", true}, {"ReduceScatter", true}, {"Broadcast", false}, {"Reduce", false}, {"AllToAll", true},
    {"Gather", false},   {"Scatter", false},      {"Barrier", true},    {"Send", false},   {"Recv", false},
};
static_assert(std::size(kKinds) == static_cast<size_t>(OperationKind::kRecv) + 1);

const KindInfo& Info(OperationKind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kKinds) ? kKinds[index] : kKinds[0];
}

}  // namespace

bool IsSynchronous(OperationKind kind) { return Info(kind).synchronous; }

const char* Name(OperationKind kind) { return Info(kind).name; }

}  // namespace lockstep
