// The call that ends a rank's steps, found from its history alone. See step_finder.h for the idea.
//
// Each kind of call is tried: where it comes several times per step, the last of them counts (anchor_period.h). Of
// those that cut the history into most stretches, that hold nearly all kinds and connect all peers, one that comes once
// per step is taken before others, then the one of the largest group. Where groups that reduce much do hardly anything
// but in every second, third, ... stretch, stretches are micro-batches: gradients are summed up at the end of a step.
// Pure. Cost O(calls x kinds).

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_ANCHOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Of one call: what kind it is (equal calls have equal kinds, numbered from 0), and how well it serves as an anchor
// among equals (the size of its group; 0 = never, it is one-sided).
struct CallKind {
  int32_t weight = 0;
  bool sized = false;    // its calls are of one known size
  bool slight = false;   // moves next to nothing: a loss, a norm, a barrier. What a step holds does not depend on it
  bool reduces = false;  // it sums up what members have, as gradients are
  int32_t family = -1;   // of groups that make such calls (communicator_families.h)
};

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
