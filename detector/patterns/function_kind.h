// What a function of a profile runs on, and which kind goes first when several run at once.
//
// A moment in which several functions run belongs to one of them: GPU compute before copies, copies before collectives,
// collectives before the host. Whoever is hidden behind a better one delays nobody. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_KIND_H_
#define LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_KIND_H_

#include <cstdint>

namespace lockstep {

enum class FunctionKind : uint8_t {
  kGpuCompute,
  kGpuCopy,     // and memset
  kCollective,  // kernels of NCCL and its like
  kRuntime,     // calls into the driver: launches, synchronisation, allocation
  kOperator,    // of the framework, on the host
  kPython,
  kAnnotation,  // ranges that the program names itself
};

inline constexpr int kFunctionKinds = 7;  // as many as there are above

// "GPU kernel", "copy", ...
const char* Name(FunctionKind kind);

// Smaller goes first. All kinds of the host share the last place.
int PriorityOf(FunctionKind kind);

inline bool IsOfHost(FunctionKind kind) { return kind >= FunctionKind::kRuntime; }

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_KIND_H_
