// Writes the script of one rank's step, pass by pass. Not thread-safe; used once.

#ifndef LOCKSTEP_SIM_SECOND_STEP_WRITER_H_
#define LOCKSTEP_SIM_SECOND_STEP_WRITER_H_

#include <cstdint>
#include <vector>

#include "sim/second/draws.h"
#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/schedule.h"
#include "sim/second/script.h"
#include "sim/second/world.h"

namespace lockstep::second {

class StepWriter {
 public:
  // All references are borrowed.
  StepWriter(const World& world, const Layout& layout, const std::vector<Fault>& faults, const Sizes& sizes, int rank,
             int step, int32_t& next_event);

  std::vector<Instruction> Write();

 private:
  enum class Half : uint8_t { kAttention, kMlp };

  void BeginStep();
  void Evaluate();
  void Train();
  void EndStep();
  void Stalls(int pass);

  void Forward(const Pass& pass);
  void Backward(const Pass& pass);
  void ForwardLayer(const Pass& pass, int layer);
  void BackwardLayer(const Pass& pass, int layer, double ratio);
  void Weights(const Pass& pass);
  void ReduceGradients(const Pass& pass);
  void Reduce(Stream stream);

  void Receive(int position, Stream stream);
  void Deliver(int position, Stream stream);
  void TensorCall(bool opening);
  void ContextCalls();
  void ExpertCall();
  int32_t GatherAhead(int layer);

  void Kernel(double nominal_ns, const Pass& pass, int layer, Half half);
  void PlainKernel(double nominal_ns);
  void Call(OperationKind operation, int group, uint64_t bytes, Stream stream, int peer = -1);
  void Host(double nanos);
  int32_t Record(Stream stream);
  void Await(Stream stream, int32_t event);
  void Then(Stream first, Stream second);  // `second` goes on when `first` has got here
  void Add(Instruction instruction) { out_.push_back(instruction); }

  double BatchFactor(int microbatch) const;
  double RoutingFactor(const Pass& pass, int layer) const;
  int PositionOf(int chunk) const { return chunk * world_.shape.pipeline + place_.stage; }
  int RankAtPosition(int position) const;
  bool HasFault(FaultKind kind) const { return FaultOf(kind) != nullptr; }
  const Fault* FaultOf(FaultKind kind) const;

  const World& world_;
  const Layout& layout_;
  const std::vector<Fault>& faults_;
  const Sizes& sizes_;
  const Draws draws_;
  const int rank_;
  const int step_;
  const Place place_;
  int32_t& next_event_;
  double compute_factor_ = 1;
  double host_factor_ = 1;
  int64_t kernels_ = 0;            // so far: the key of their noise
  std::vector<int> passes_left_;   // of each chunk, until its gradients are complete
  std::vector<int32_t> gathered_;  // by layer: event of its parameters
  std::vector<Instruction> out_;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_STEP_WRITER_H_
