// When a rank went on with its work, as far as an operation can have waited for it.
//
// A GPU waits for what the host gave it before, never for what it is given later: of two moments the later one is no
// sign of what an operation waited for if it belongs to one that was called after that operation.
//
// Value; thread-compatible. Of more than kMaxCalledMoments that may still count, the oldest counts for all. Cost
// O(log n) per question, O(1) per moment where moments come in order. Pure.

#ifndef LOCKSTEP_DETECTOR_STEPS_CALLED_MOMENTS_H_
#define LOCKSTEP_DETECTOR_STEPS_CALLED_MOMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/steps/work_moment.h"

namespace lockstep {

// A host is seldom further ahead than NCCL and CUDA queue launches (1,024). Bound of memory: 32 KB.
inline constexpr size_t kMaxCalledMoments = 1024;

class CalledMoments {
 public:
  void Clear();

  // `called_ns`: when the host called the operation whose moment it is.
  void Note(const WorkMoment& moment, int64_t called_ns);

  // The latest of operations that were called by then; without an operation if there is none.
  WorkMoment LatestOf(int64_t called_ns) const;

 private:
  struct Called {
    int64_t called_ns;
    WorkMoment moment;
  };

  // Where in `called_` those end that were called by then.
  size_t CalledBy(int64_t called_ns) const;
  void DropOldest();

  // By rising call and time: of what was called no earlier, only later moments count. The first `begin_` are gone.
  std::vector<Called> called_;
  size_t begin_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_CALLED_MOMENTS_H_
