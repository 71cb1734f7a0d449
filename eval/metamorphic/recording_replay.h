// A whole recording played again with other own times of some ranks: who did more or less work between its operations,
// and everything that waited for it, moves.
//
// Only what is different moves: each operation is as much later, or earlier, as what it went on from, and a collective
// as its last member. A member that had waited can come so much later without anybody noticing. So the same own times
// give the same recording to the nanosecond, and no clock of two hosts is compared. What a rank went on from is what
// the detector takes it for (own_time.h); but work that follows an end also waits for the ends that came before it,
// should these be the later ones now, and operations of one communicator keep their order. A Recv waits for its Send;
// a Send waits for its Recv only if it did so in the recording. Launches move with the operations that they launch,
// looks at a host with the latest operation of the host.
//
// Cost O(operations). Thread-compatible.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_RECORDING_REPLAY_H_
#define LOCKSTEP_EVAL_METAMORPHIC_RECORDING_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/model/trace.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

struct PlayedRecording {
  Trace trace;
  std::vector<double> longer_seconds;  // by step, than in the recording; 0 = not known
  bool complete = false;               // false: the records do not hang together, some operations were not reached
};

class RecordingReplay {
 public:
  // `trace` must outlive this.
  explicit RecordingReplay(const Trace& trace);

  // Of a rank index in a step: what its own times are multiplied by.
  using OwnFactor = absl::FunctionRef<double(size_t rank, int32_t step)>;

  // Operations before the first step are played as they are, those behind the last one as part of a further step.
  PlayedRecording Play(OwnFactor factor) const;

  const TraceAnalysis& analysis() const { return analysis_; }

 private:
  friend class Lateness;

  void NumberSteps(size_t rank);
  void OrderOperations(size_t rank);
  void FindAwaitedEnds(size_t rank);

  TraceAnalysis analysis_;
  std::vector<int32_t> step_of_;                 // by operation; -1 = before the first step
  std::vector<std::vector<uint32_t>> by_start_;  // of each rank, its operations
  std::vector<std::vector<uint32_t>> by_end_;    // the same: those whose end the work waited for
  std::vector<uint32_t> queued_behind_;          // by operation: the one before it in its communicator, or none
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_RECORDING_REPLAY_H_
