#include "sim/second/step_writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep::second {
namespace {

constexpr double kAttentionShare = 0.45;
constexpr double kHostNoise = 0.05;
constexpr double kLeastFactor = 0.2;
constexpr uint64_t kSmallBytes = 4;
constexpr double kPauseChance = 0.12;

}  // namespace

StepWriter::StepWriter(const World& world, const Layout& layout, const std::vector<Fault>& faults, const Sizes& sizes,
                       int rank, int step, int32_t& next_event)
    : world_(world),
      layout_(layout),
      faults_(faults),
      sizes_(sizes),
      draws_(world.seed),
      rank_(rank),
      step_(step),
      place_(layout.PlaceOf(rank)),
      next_event_(next_event) {
  const double fixed = 1 + world.work.static_spread * draws_.Unit(Topic::kStaticGpu, {rank});
  compute_factor_ = fixed * ComputeFactor(faults, world, layout, rank, step);
  host_factor_ = HostFactor(faults, world, layout.HostOf(rank), step);
}

std::vector<Instruction> StepWriter::Write() {
  BeginStep();
  if (world_.calendar.evaluate_every > 0 &&
      step_ % world_.calendar.evaluate_every == world_.calendar.evaluate_every - 1) {
    Evaluate();
  }
  Train();
  EndStep();
  return std::move(out_);
}

const Fault* StepWriter::FaultOf(FaultKind kind) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == kind && fault.IsActive(world_, step_)) return &fault;
  }
  return nullptr;
}

void StepWriter::BeginStep() {
  const HostLife& host = world_.host;
  Add({.kind = Instruction::Kind::kStepBegin});
  Host(host.loader_ns);
  if (draws_.Unit(Topic::kLoader, {rank_, step_}) < host.loader_stall_chance) Host(host.loader_stall_ns);
  const Fault* const pauses = FaultOf(FaultKind::kPauses);
  if (pauses != nullptr && draws_.Unit(Topic::kPause, {step_}) < kPauseChance) {
    Add({.kind = Instruction::Kind::kHostDrain});
    Add({.kind = Instruction::Kind::kHostWork, .host_ns = pauses->severity * 1e9});
  }
  if (host.barrier) {
    Add({.kind = Instruction::Kind::kHostMeeting, .group = layout_.GroupOf(rank_, Role::kData)});
  }
}

void StepWriter::Stalls(int pass) {
  // One place of the step at most, drawn by rank and step.
  const auto passes = static_cast<uint64_t>(world_.shape.microbatches);
  if (draws_.Bits(Topic::kHostStall, {rank_, step_, 1}) % passes != static_cast<uint64_t>(pass)) return;
  if (draws_.Unit(Topic::kHostStall, {rank_, step_, 2}) < world_.host.stall_chance) Host(world_.host.stall_ns);
}

// Forward only, as long as an ordinary forward part.
void StepWriter::Evaluate() {
  for (const Pass& pass : PassesOf(world_.shape, place_.stage)) {
    if (pass.kind == PassKind::kForward) Forward(pass);
  }
}

void StepWriter::Train() {
  const std::vector<Pass> passes = PassesOf(world_.shape, place_.stage);
  const bool split = world_.shape.schedule == Schedule::kZeroBubble && world_.shape.pipeline > 1;
  passes_left_.assign(static_cast<size_t>(world_.shape.chunks), world_.shape.microbatches);
  for (const Pass& pass : passes) {
    if (pass.kind == PassKind::kForward) {
      Stalls(pass.microbatch);
      Forward(pass);
    } else if (pass.kind == PassKind::kBackward) {
      if (!split) --passes_left_[static_cast<size_t>(pass.chunk)];
      Backward(pass);
    } else {
      --passes_left_[static_cast<size_t>(pass.chunk)];
      Weights(pass);
    }
  }
}

void StepWriter::EndStep() {
  const int data = layout_.GroupOf(rank_, Role::kData);
  const int world = layout_.GroupOf(rank_, Role::kWorld);
  const bool reduces_late = !world_.traffic.overlapped && !world_.shape.sharded;
  for (int i = 0; reduces_late && i < world_.shape.layers * world_.shape.chunks; ++i) Reduce(kCompute);
  Then(kReduce, kCompute);
  const Fault* const deadlock = FaultOf(FaultKind::kDeadlock);
  const bool swapped =
      deadlock != nullptr && std::find(deadlock->ranks.begin(), deadlock->ranks.end(), rank_) != deadlock->ranks.end();
  Call(OperationKind::kAllReduce, swapped ? world : data, kSmallBytes, kCompute);
  Call(OperationKind::kAllReduce, swapped ? data : world, kSmallBytes, kCompute);
  PlainKernel(world_.work.optimizer_ns);
  if (world_.traffic.sharded_optimizer && !world_.shape.sharded) {
    Call(OperationKind::kAllGather, data, sizes_.parameters, kCompute);
  }
  Add({.kind = Instruction::Kind::kStepEnd});
  const Calendar& calendar = world_.calendar;
  const bool saves =
      calendar.checkpoint_every > 0 && step_ % calendar.checkpoint_every == calendar.checkpoint_every - 1;
  if (world_.host.sync_steps || saves) Add({.kind = Instruction::Kind::kHostDrain});
  if (saves) Host(calendar.checkpoint_ns);
}

void StepWriter::Forward(const Pass& pass) {
  const int position = PositionOf(pass.chunk);
  if (position > 0) Receive(position - 1, kForwardIn);
  if (world_.shape.sharded) gathered_ = {GatherAhead(0)};
  for (int layer = 0; layer < world_.shape.layers; ++layer) {
    if (world_.shape.sharded) {
      if (layer + 1 < world_.shape.layers) gathered_.push_back(GatherAhead(layer + 1));
      Await(kCompute, gathered_[static_cast<size_t>(layer)]);
    }
    ForwardLayer(pass, layer);
  }
  if (position + 1 < world_.shape.pipeline * world_.shape.chunks) Deliver(position + 1, kForwardOut);
}

void StepWriter::ForwardLayer(const Pass& pass, int layer) {
  const double nanos = world_.work.forward_ns;
  ContextCalls();
  if (world_.shape.sequence_parallel) TensorCall(/*opening=*/true);
  Kernel(nanos * kAttentionShare, pass, layer, Half::kAttention);
  TensorCall(/*opening=*/false);
  ExpertCall();
  if (world_.shape.sequence_parallel) TensorCall(/*opening=*/true);
  Kernel(nanos * (1 - kAttentionShare), pass, layer, Half::kMlp);
  ExpertCall();
  TensorCall(/*opening=*/false);
}

void StepWriter::Backward(const Pass& pass) {
  const int position = PositionOf(pass.chunk);
  const bool split = world_.shape.schedule == Schedule::kZeroBubble && world_.shape.pipeline > 1;
  if (position + 1 < world_.shape.pipeline * world_.shape.chunks) Receive(position + 1, kBackwardIn);
  if (world_.shape.sharded) gathered_ = {GatherAhead(world_.shape.layers - 1)};
  const double ratio = world_.work.backward_ratio / (split ? 2 : 1) + (world_.work.recompute ? 1 : 0);
  for (int layer = world_.shape.layers - 1; layer >= 0; --layer) {
    if (world_.shape.sharded) {
      const int32_t own = gathered_.back();
      if (layer > 0) gathered_.push_back(GatherAhead(layer - 1));
      Await(kCompute, own);
    }
    BackwardLayer(pass, layer, ratio);
    if (world_.shape.sharded) {
      Then(kCompute, kReduce);
      Reduce(kReduce);
    } else if (!split) {
      ReduceGradients(pass);
    }
  }
  if (position > 0) Deliver(position - 1, kBackwardOut);
}

void StepWriter::BackwardLayer(const Pass& pass, int layer, double ratio) {
  const double nanos = world_.work.forward_ns * ratio;
  if (world_.shape.sequence_parallel) TensorCall(/*opening=*/true);
  ExpertCall();
  Kernel(nanos * (1 - kAttentionShare), pass, layer, Half::kMlp);
  ExpertCall();
  TensorCall(/*opening=*/false);
  ContextCalls();
  if (world_.shape.sequence_parallel) TensorCall(/*opening=*/true);
  Kernel(nanos * kAttentionShare, pass, layer, Half::kAttention);
  TensorCall(/*opening=*/false);
}

void StepWriter::Weights(const Pass& pass) {
  for (int layer = world_.shape.layers - 1; layer >= 0; --layer) {
    Kernel(world_.work.forward_ns * world_.work.backward_ratio / 2, pass, layer, Half::kMlp);
    ReduceGradients(pass);
  }
}

// Behind the last microbatch a layer's gradients are complete.
void StepWriter::ReduceGradients(const Pass& pass) {
  if (!world_.traffic.overlapped || passes_left_[static_cast<size_t>(pass.chunk)] > 0) return;
  Then(kCompute, kReduce);
  Reduce(kReduce);
}

void StepWriter::Reduce(Stream stream) {
  const bool scattered = world_.shape.sharded || world_.traffic.sharded_optimizer;
  Call(scattered ? OperationKind::kReduceScatter : OperationKind::kAllReduce, layout_.GroupOf(rank_, Role::kData),
       sizes_.gradients, stream);
}

int32_t StepWriter::GatherAhead(int /*layer*/) {
  const Stream stream = world_.traffic.gather_apart ? kGather : kReduce;
  // The limit on memory: a layer's parameters come when the layer before the last one is done.
  Then(kCompute, stream);
  Call(OperationKind::kAllGather, layout_.GroupOf(rank_, Role::kData), sizes_.parameters, stream);
  return Record(stream);
}

void StepWriter::Receive(int position, Stream stream) {
  const int from = RankAtPosition(position);
  const int group = layout_.GroupBetween(rank_, from);
  Call(OperationKind::kRecv, group, sizes_.pipeline, stream, layout_.MemberOf(group, from));
  const int32_t arrived = Record(stream);
  Await(kCompute, arrived);
  if (world_.host.sync_transfers) Add({.kind = Instruction::Kind::kHostAwait, .event = arrived});
}

void StepWriter::Deliver(int position, Stream stream) {
  const int to = RankAtPosition(position);
  const int group = layout_.GroupBetween(rank_, to);
  Then(kCompute, stream);
  Call(OperationKind::kSend, group, sizes_.pipeline, stream, layout_.MemberOf(group, to));
}

void StepWriter::TensorCall(bool opening) {
  const int group = layout_.GroupOf(rank_, Role::kTensor);
  if (group < 0) return;
  const OperationKind kind = !world_.shape.sequence_parallel ? OperationKind::kAllReduce
                             : opening                       ? OperationKind::kAllGather
                                                             : OperationKind::kReduceScatter;
  Call(kind, group, sizes_.tensor, kCompute);
}

void StepWriter::ContextCalls() {
  const int group = layout_.GroupOf(rank_, Role::kContext);
  if (group < 0) return;
  if (!world_.shape.context_ring) {
    Call(OperationKind::kAllGather, group, sizes_.context, kCompute);
    return;
  }
  const int size = static_cast<int>(layout_.group(group).members.size());
  const int member = layout_.MemberOf(group, rank_);
  Then(kCompute, kRingOut);
  Call(OperationKind::kSend, group, sizes_.context / static_cast<uint64_t>(size), kRingOut, (member + 1) % size);
  Call(OperationKind::kRecv, group, sizes_.context / static_cast<uint64_t>(size), kRingIn, (member + size - 1) % size);
  Then(kRingIn, kCompute);
}

void StepWriter::ExpertCall() {
  const int group = layout_.GroupOf(rank_, Role::kExpert);
  if (group >= 0) Call(OperationKind::kAllToAll, group, sizes_.expert, kCompute);
}

// All who work on one replica's microbatch have the same length of it.
double StepWriter::BatchFactor(int microbatch) const {
  double spread = world_.work.uneven_batches;
  const Fault* const fault = FaultOf(FaultKind::kSequenceImbalance);
  if (fault != nullptr) spread = fault->severity;
  if (spread <= 0) return 1;
  const double normal = draws_.Gaussian(Topic::kBatchLength, {place_.data, step_, microbatch});
  return std::max(kLeastFactor, 1 + spread * normal);
}

// The hottest expert of a group gets so many times its share; which one it is changes with every microbatch and layer.
double StepWriter::RoutingFactor(const Pass& pass, int layer) const {
  const int group = layout_.GroupOf(rank_, Role::kExpert);
  if (group < 0) return 1;
  const int member = layout_.MemberOf(group, rank_);
  const int size = static_cast<int>(layout_.group(group).members.size());
  const Draws::Key routing = {group, step_, pass.microbatch, pass.chunk, layer};
  const Fault* const fault = FaultOf(FaultKind::kExpertImbalance);
  if (fault != nullptr) {
    const int hottest = static_cast<int>(draws_.Bits(Topic::kRouting, routing) % static_cast<uint64_t>(size));
    return member == hottest ? fault->severity : (size - fault->severity) / (size - 1);
  }
  const double normal = draws_.Gaussian(Topic::kRouting, {group, step_, pass.microbatch, pass.chunk, layer, member});
  return std::max(kLeastFactor, 1 + world_.work.uneven_experts * normal);
}

void StepWriter::Kernel(double nominal_ns, const Pass& pass, int layer, Half half) {
  double factor = BatchFactor(pass.microbatch);
  if (half == Half::kMlp) factor *= RoutingFactor(pass, layer);
  PlainKernel(nominal_ns * factor);
}

void StepWriter::PlainKernel(double nominal_ns) {
  const int64_t index = kernels_++;
  const double noise = 1 + world_.work.noise * std::abs(draws_.Gaussian(Topic::kComputeNoise, {rank_, step_, index}));
  const double host_noise = 1 + kHostNoise * std::abs(draws_.Gaussian(Topic::kHostNoise, {rank_, step_, index}));
  Add({.kind = Instruction::Kind::kKernel,
       .gpu_ns = nominal_ns * noise * compute_factor_,
       .host_ns = nominal_ns * world_.host.launch_share * host_noise * host_factor_});
}

void StepWriter::Call(OperationKind operation, int group, uint64_t bytes, Stream stream, int peer) {
  Add({.kind = Instruction::Kind::kCall,
       .stream = stream,
       .operation = operation,
       .group = group,
       .peer = peer,
       .host_ns = world_.host.call_ns * host_factor_,
       .bytes = bytes});
}

void StepWriter::Host(double nanos) { Add({.kind = Instruction::Kind::kHostWork, .host_ns = nanos * host_factor_}); }

int32_t StepWriter::Record(Stream stream) {
  Add({.kind = Instruction::Kind::kRecord, .stream = stream, .event = next_event_});
  return next_event_++;
}

void StepWriter::Await(Stream stream, int32_t event) {
  Add({.kind = Instruction::Kind::kAwait, .stream = stream, .event = event});
}

void StepWriter::Then(Stream first, Stream second) { Await(second, Record(first)); }

int StepWriter::RankAtPosition(int position) const {
  Place place = place_;
  place.stage = position % world_.shape.pipeline;
  return layout_.RankAt(place);
}

}  // namespace lockstep::second
