#include "formats/operation_names.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

constexpr size_t kMaxNameBytes = 64;

struct KindName {
  absl::string_view name;
  OperationKind kind;
};

// Lower case, letters and digits only.
constexpr KindName kKindNames[] = {
    {"allreduce", OperationKind::kAllReduce},
    {"allreducecoalesced", OperationKind::kAllReduce},
    {"allreducebarrier", OperationKind::kBarrier},
    {"allreducesparse", OperationKind::kAllReduce},
    {"allgather", OperationKind::kAllGather},
    {"allgatherv", OperationKind::kAllGather},
    {"allgatherbase", OperationKind::kAllGather},
    {"allgathercoalesced", OperationKind::kAllGather},
    {"allgatherintotensor", OperationKind::kAllGather},
    {"allgatherintotensorcoalesced", OperationKind::kAllGather},
    {"reducescatter", OperationKind::kReduceScatter},
    {"reducescatterv", OperationKind::kReduceScatter},
    {"reducescatterbase", OperationKind::kReduceScatter},
    {"reducescattertensor", OperationKind::kReduceScatter},
    {"reducescattertensorcoalesced", OperationKind::kReduceScatter},
    {"broadcast", OperationKind::kBroadcast},
    {"broadcastoop", OperationKind::kBroadcast},
    {"reduce", OperationKind::kReduce},
    {"reduceoop", OperationKind::kReduce},
    {"alltoall", OperationKind::kAllToAll},
    {"alltoallv", OperationKind::kAllToAll},
    {"alltoallbase", OperationKind::kAllToAll},
    {"alltoallsingle", OperationKind::kAllToAll},
    {"gather", OperationKind::kGather},
    {"gatherv", OperationKind::kGather},
    {"scatter", OperationKind::kScatter},
    {"scatterv", OperationKind::kScatter},
    {"barrier", OperationKind::kBarrier},
    {"send", OperationKind::kSend},
    {"recv", OperationKind::kRecv},
    {"recvany", OperationKind::kRecv},
};

struct TypeSize {
  absl::string_view name;
  uint64_t bytes;
};

// Lower case, without namespace.
constexpr TypeSize kTypeSizes[] = {
    {"float", 4},
    {"float32", 4},
    {"double", 8},
    {"float64", 8},
    {"half", 2},
    {"float16", 2},
    {"bfloat16", 2},
    {"int", 4},
    {"int32", 4},
    {"long", 8},
    {"int64", 8},
    {"long int", 8},
    {"short", 2},
    {"int16", 2},
    {"char", 1},
    {"int8", 1},
    {"signed char", 1},
    {"byte", 1},
    {"uint8", 1},
    {"unsigned char", 1},
    {"bool", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"complexfloat", 8},
    {"complexdouble", 16},
};

std::string Normalized(absl::string_view name) {
  std::string letters;
  for (const char c : name.substr(0, kMaxNameBytes)) {
    if (absl::ascii_isalnum(c)) letters.push_back(absl::ascii_tolower(c));
  }
  return letters;
}

}  // namespace

OperationKind OperationKindOf(absl::string_view name) {
  // The names of CSV files come by the million and mostly exactly so.
  for (auto kind = static_cast<uint8_t>(OperationKind::kAllReduce); kind <= static_cast<uint8_t>(OperationKind::kRecv);
       ++kind) {
    if (name == Name(static_cast<OperationKind>(kind))) return static_cast<OperationKind>(kind);
  }
  const std::string letters = Normalized(absl::StripPrefix(name, "nccl:"));
  for (const KindName& known : kKindNames) {
    if (letters == known.name) return known.kind;
  }
  return OperationKind::kUnknown;
}

uint64_t ElementBytesOf(absl::string_view type) {
  const std::string lower = absl::AsciiStrToLower(absl::StripPrefix(absl::StripPrefix(type, "c10::"), "torch."));
  for (const TypeSize& known : kTypeSizes) {
    if (lower == known.name) return known.bytes;
  }
  return 0;
}

}  // namespace lockstep
