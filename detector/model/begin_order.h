// Whether operations of a rank seem to begin before it can have begun them.
//
// A GPU carries out the collectives of one communicator one after the other. Where one seems to begin while the one
// before it runs, the time is that of the call: the host runs ahead, and the recorder does not see the GPU. Pure.

#ifndef LOCKSTEP_DETECTOR_MODEL_BEGIN_ORDER_H_
#define LOCKSTEP_DETECTOR_MODEL_BEGIN_ORDER_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "detector/model/trace.h"

namespace lockstep {

// An operation that ends within 1/20 of its length after another's start has ended before it: recorders read the two
// times one after the other. By judgement, not measured.
inline constexpr int64_t kEndTolerance = 20;

// Moments so close may be one: CUDA takes some 10 us for a launch, a slow host several times as much.
inline constexpr int64_t kOneMomentNs = 100'000;

// Between reading the two times, a recorder is not away for more than ten such.
inline constexpr int64_t kMostOverlapNs = 10 * kOneMomentNs;

inline bool HasEndedBy(const TraceOperation& operation, int64_t start_ns) {
  return operation.finished() &&
         operation.end_ns - start_ns <= std::min(kMostOverlapNs, operation.duration_ns() / kEndTolerance);
}

// Whether more than a few of the rank's collectives seem to begin while the one before them in their communicator runs,
// or, `by_kind`, the one before them of their kind there. Only those of which the file does not say whose times they
// are. `operations` by rising enqueue time. Cost O(operations).
bool BeginsOutOfTurn(absl::Span<const TraceOperation> operations, bool by_kind);

// Of the same, the share that runs while the one before it in its communicator, of another kind, does, so that kinds
// have streams of their own. Where begins are calls it may look so too. Cost O(operations).
double ShareBesideOthers(absl::Span<const TraceOperation> operations);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_BEGIN_ORDER_H_
