// The call that ends a rank's steps, found from its history alone. See step_finder.h for the idea.
//
// Each kind of call is tried: where it comes several times per step, the last of them counts (anchor_period.h). Of
// those that cut the history into most stretches, that hold nearly all kinds and connect all peers, one that comes once
// per step is taken before others, then the one of the largest group. Stretches that are micro-batches of a step
// (reduction_counts.h) serve only where nothing else does. Where several calls of one kind reduce gradients, and so cut
// steps for certain, a step need not hold the kinds of what comes in a tenth of them: evaluations. Pure. Cost O(calls x
// kinds).

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "detector/steps/call_kind.h"

namespace lockstep {

struct CallHistory {
  absl::Span<const int32_t> calls;        // kinds, oldest first; each below kinds.size()
  absl::Span<const int64_t> launched_ns;  // by call; kNoTime = not known
  absl::Span<const int64_t> begun_ns;     // the same
  absl::Span<const CallKind> kinds;
  // Into how many parts the peers of the rank fall, of which each is connected by groups that make such calls.
  std::function<size_t(const std::vector<int32_t>& kinds)> parts;
};

// By what the stretch is longer that a step begins with: the calls in it, or the time between the anchor's launches, or
// begins.
enum class StretchMeasure : uint8_t { kCalls, kLaunches, kBegins };

struct StepAnchor {
  int32_t kind = -1;      // -1 = nothing recurs, or the whole history looks like two steps of several micro-batches
  uint32_t per_step = 1;  // anchor_period.h
  StretchMeasure measure = StretchMeasure::kCalls;
};

// `agree`: most stretches hold the same kinds; where a step makes calls of many kinds, a lost record here and there
// makes most of them differ.
StepAnchor FindAnchor(const CallHistory& history, bool agree = true);

// A rank's history is judged by at most this many calls, the oldest ones.
inline constexpr size_t kMaxAnchorCalls = 200'000;
// With more kinds of calls than this, the rarest are not tried. Budget of time, as is kMaxAnchorCalls.
inline constexpr size_t kMaxAnchorCandidates = 64;

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_
