// Parts of a trace, with everything that describes the job left as it is. Pure; O(operations).

#ifndef LOCKSTEP_EVAL_METAMORPHIC_TRACE_PARTS_H_
#define LOCKSTEP_EVAL_METAMORPHIC_TRACE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/model/trace.h"

namespace lockstep {

// The rank index of every operation.
std::vector<int32_t> RanksOfOperations(const Trace& trace);

// The same job with those operations for which `keep` is true, by their index.
Trace KeepOperations(const Trace& trace, absl::FunctionRef<bool(size_t)> keep);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_TRACE_PARTS_H_
