// What pipeline stages send one another: the activations of forward passes, and the gradients of backward passes.
//
// Each boundary between two virtual stages is crossed once per pass and microbatch. Either side of a crossing is
// written when its own stage is, in any order; both name the same transfer. A stage's chunk c is virtual stage
// c * stages + stage, so that what leaves the last stage may come to the first. Not thread-safe.

#ifndef LOCKSTEP_SIM_STAGE_TRANSFERS_H_
#define LOCKSTEP_SIM_STAGE_TRANSFERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/plan.h"
#include "sim/schedule_order.h"
#include "sim/stage_writer.h"

namespace lockstep {

// Of all stages. Complete once each of them has been written.
class PipelineTransfers {
 public:
  // `virtual_stages`: of each stage.
  PipelineTransfers(int32_t stages, int32_t virtual_stages);

  int32_t stages() const { return stages_; }
  int32_t all_virtual_stages() const { return stages_ * virtual_stages_; }

  // As Plan::transfers and Plan::transfers_of_pair.
  const std::vector<Transfer>& transfers() const { return transfers_; }
  const std::vector<int32_t>& of_pair() const { return of_pair_; }

  // The transfer of one crossing, added by whichever side comes first. `sender`: the virtual stage that sends.
  int32_t IndexOf(bool forward, int32_t microbatch, int32_t sender);
  void NoteSource(int32_t transfer, int32_t stage, int32_t target, int32_t handle, int32_t record);
  void NoteTarget(int32_t transfer, int32_t stage, int32_t handle, int32_t record);

 private:
  using Crossing = std::tuple<bool, int32_t, int32_t>;  // forward, microbatch, virtual stage that sends

  const int32_t stages_;
  const int32_t virtual_stages_;
  std::vector<Transfer> transfers_;
  std::vector<int32_t> of_pair_;
  std::map<Crossing, size_t> crossings_;
};

// Of one stage. Each call writes one group of Send/Recv and gives its handle; -1 = nothing crosses there, as before the
// first virtual stage. The writer and `all` must outlive it.
class StageTransfers {
 public:
  // Groups of one stream follow one another; streams run beside each other.
  enum Stream { kGrouped, kForwardSend, kForwardReceive, kBackwardSend, kBackwardReceive, kStreams };

  // `bytes`: of one transfer.
  StageTransfers(int32_t stage, uint64_t bytes, StageWriter* writer, PipelineTransfers* all);

  int32_t Send(const Pass& pass, Stream stream);
  int32_t Receive(const Pass& pass, Stream stream);
  // What `sent` sends together with what `received` receives, on kGrouped.
  int32_t Exchange(const Pass& sent, const Pass& received);

 private:
  int32_t VirtualStage(const Pass& pass) const { return pass.chunk * all_->stages() + stage_; }
  bool Sends(const Pass& pass) const;
  bool Receives(const Pass& pass) const;
  int32_t Open(Stream stream);
  void AddSend(const Pass& pass, int32_t handle);
  void AddReceive(const Pass& pass, int32_t handle);

  const int32_t stage_;
  const uint64_t bytes_;
  StageWriter* const writer_;
  PipelineTransfers* const all_;
  std::array<int32_t, kStreams> last_on_stream_;  // handles; -1 = none yet
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_STAGE_TRANSFERS_H_
