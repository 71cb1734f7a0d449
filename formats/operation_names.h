// What the sources call operations. Case and separators ("all_reduce", "AllReduce") do not matter, nor does a library
// prefix ("nccl:"). Pure.

#ifndef LOCKSTEP_FORMATS_OPERATION_NAMES_H_
#define LOCKSTEP_FORMATS_OPERATION_NAMES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "detector/model/input.h"

namespace lockstep {

// kUnknown for a name that is not known.
OperationKind OperationKindOf(absl::string_view name);

// Bytes of one element of a tensor type as PyTorch names it ("Float", "c10::BFloat16", "bfloat16"); 0 = not known.
uint64_t ElementBytesOf(absl::string_view type);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_OPERATION_NAMES_H_
