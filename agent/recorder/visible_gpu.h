// The one GPU that a process may use, as its environment says: for recorders that no driver tells.
//
// CUDA shows a process the GPUs that CUDA_VISIBLE_DEVICES lists. A UUID names one for the whole machine. An index does
// not: CUDA counts in an order of its own, and in a container among other GPUs than the machine's.
//
// Pure; allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_VISIBLE_GPU_H_
#define LOCKSTEP_AGENT_RECORDER_VISIBLE_GPU_H_

#include <string.h>

namespace lockstep::ring {

// The UUID in `list`, a value of CUDA_VISIBLE_DEVICES or nullptr for none, if that is one whole UUID of a GPU or of a
// MIG instance and nothing else; "" = it is not. Lives as long as `list`.
inline const char* UuidOfOnlyGpu(const char* list) {
  if (list == nullptr || (strncmp(list, "GPU-", 4) != 0 && strncmp(list, "MIG-", 4) != 0)) return "";
  constexpr char kShape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  const char* digits = list + 4;
  for (size_t i = 0; i < sizeof(kShape); ++i) {  // with the NUL
    const bool fits = kShape[i] == 'x' ? digits[i] != '\0' && strchr("0123456789abcdefABCDEF", digits[i]) != nullptr
                                       : digits[i] == kShape[i];
    if (!fits) return "";
  }
  return list;
}

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_VISIBLE_GPU_H_
