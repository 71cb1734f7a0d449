#include "detector/collectives/rank_timeline.h"

#include <algorithm>

namespace lockstep {

bool RankTimeline::Append(const Operation& operation, int32_t communicator_slot, int32_t member,
                          Participation* participation) {
  const int64_t start_ns = operation.start_ns != 0 ? operation.start_ns : operation.enqueue_ns;
  const int64_t end_ns = operation.end_ns;
  if (end_ns < start_ns) return false;
  // A network proxy begins when the host has launched, whatever the GPU does before.
  const bool timed =
      operation.quality != TimingQuality::kHostEnqueue && operation.quality != TimingQuality::kProxyEnvelope;
  if (cursor_known_) {
    if (start_ns < cursor_ns_) own_known_ = false;  // overlaps: what is own work and what is not cannot be told apart
    own_ns_ += std::max<int64_t>(0, start_ns - cursor_ns_);
  }
  const int64_t inside_ns = end_ns - (cursor_known_ ? std::max(start_ns, std::min(cursor_ns_, end_ns)) : start_ns);
  if (IsSynchronous(operation.kind)) {
    participation->duration_ns = timed ? end_ns - start_ns : -1;
    participation->own_ns = own_known_ && timed ? own_ns_ : -1;
    participation->opaque_ns = opaque_ns_;
    participation->previous_slot = previous_slot_;
    participation->previous_member = previous_member_;
    participation->previous_sequence = previous_sequence_;
    participation->end_ns = end_ns;
    own_ns_ = 0;
    opaque_ns_ = 0;
    previous_slot_ = communicator_slot;
    previous_member_ = member;
    previous_sequence_ = operation.sequence;
    own_known_ = timed;
  } else {
    opaque_ns_ += inside_ns;
    if (!timed) own_known_ = false;
  }
  cursor_ns_ = cursor_known_ ? std::max(cursor_ns_, end_ns) : end_ns;
  cursor_known_ = timed;
  return true;
}

}  // namespace lockstep
