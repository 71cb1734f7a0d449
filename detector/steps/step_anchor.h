// The call that a rank makes once per step, found from its history alone. See step_finder.h for the idea. Pure.

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Of one call: what kind it is (equal calls have equal kinds, numbered from 0), and how well it serves as an anchor
// among equals (the size of its group; 0 = never, it is one-sided).
struct CallKind {
  int32_t weight = 0;
};

// The anchor's kind; -1 = nothing recurs, or the whole history looks like two steps of several micro-batches. `calls`:
// kinds, oldest first; each below kinds.size(). `agree`: most stretches hold the same kinds; where a step makes calls
// of many kinds, a lost record here and there makes most of them differ.
int32_t FindAnchor(absl::Span<const int32_t> calls, absl::Span<const CallKind> kinds, bool agree = true);

// A rank's history is judged by at most this many calls, the oldest ones.
inline constexpr size_t kMaxAnchorCalls = 200'000;
// With more kinds of calls than this, the rarest are not tried. Budget of time, as is kMaxAnchorCalls.
inline constexpr size_t kMaxAnchorCandidates = 64;

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_
