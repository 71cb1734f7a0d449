// Who runs independent pieces of work: handed to code that has such pieces and must not know of threads.
//
// Only time may depend on it. Callers keep their results by piece, so that they are the same however many pieces run at
// once and in whatever order.

#ifndef LOCKSTEP_BASE_EXECUTOR_H_
#define LOCKSTEP_BASE_EXECUTOR_H_

#include <algorithm>
#include <cstddef>

#include "absl/functional/function_ref.h"

namespace lockstep {

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;

  // At most so many pieces run at the same time. At least 1.
  virtual size_t lanes() const = 0;

  // Calls piece(0) to piece(count - 1), each once, on any thread; returns when all have returned. A piece may call Run.
  virtual void Run(size_t count, absl::FunctionRef<void(size_t)> piece) = 0;
};

// nullptr = one after the other, on the caller's thread.
inline size_t LanesOf(const Executor* executor) { return executor == nullptr ? 1 : executor->lanes(); }

inline void RunPieces(Executor* executor, size_t count, absl::FunctionRef<void(size_t)> piece) {
  if (executor != nullptr) return executor->Run(count, piece);
  for (size_t i = 0; i < count; ++i) piece(i);
}

// Into how many parts to cut `count` things: `per_lane` for each lane, more than one where some take longer than
// others. One where nothing runs beside anything.
inline size_t PartsOf(const Executor* executor, size_t count, size_t per_lane = 1) {
  const size_t lanes = LanesOf(executor);
  return std::min(count, lanes == 1 ? 1 : lanes * per_lane);
}

// Calls body(part, begin, end) for consecutive parts of equal length, which together are [0, count).
inline void RunParts(Executor* executor, size_t count, size_t parts,
                     absl::FunctionRef<void(size_t part, size_t begin, size_t end)> body) {
  RunPieces(executor, parts, [&](size_t part) { body(part, part * count / parts, (part + 1) * count / parts); });
}

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_EXECUTOR_H_
