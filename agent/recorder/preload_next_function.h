// The function that a preloaded entry stands in front of, found at its first call.
//
// Looked for first behind us in the order of the program's libraries (RTLD_NEXT: NCCL that the program is linked with,
// or a second preloaded library), then in the calling library and what it depends on (NCCL that came with a library
// which was opened later and privately, as Python opens its extensions, under whatever name).
//
// Thread-safe. Constant-initialized and trivially destructible. The first call of a function may allocate, inside the
// dynamic loader; no later one does.

#ifndef LOCKSTEP_AGENT_RECORDER_PRELOAD_NEXT_FUNCTION_H_
#define LOCKSTEP_AGENT_RECORDER_PRELOAD_NEXT_FUNCTION_H_

#include <atomic>

#include "agent/recorder/preload_nccl_api.h"

namespace lockstep::ring {

// nullptr = nobody but us defines it. `caller` is an address inside the code that called the entry.
void* FindNextFunction(const char* name, const void* caller);

template <typename... Arguments>
class NextFunction {
 public:
  constexpr explicit NextFunction(const char* name) : name_(name) {}
  NextFunction(const NextFunction&) = delete;
  NextFunction& operator=(const NextFunction&) = delete;

  // Calls it. A release of NCCL that lacks the function gives nccl::kInvalidUsage.
  int operator()(const void* caller, Arguments... arguments) {
    using Function = int (*)(Arguments...);
    void* found = function_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = FindNextFunction(name_, caller);
      if (found == nullptr) return nccl::kInvalidUsage;
      function_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function>(found)(arguments...);
  }

 private:
  const char* const name_;
  std::atomic<void*> function_{nullptr};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_PRELOAD_NEXT_FUNCTION_H_
