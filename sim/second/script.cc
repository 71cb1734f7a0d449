#include "sim/second/script.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/second/step_writer.h"

namespace lockstep::second {
namespace {

constexpr uint64_t kLeastBytes = uint64_t{1} << 20;
constexpr uint64_t kMostBytes = uint64_t{16} << 30;

// So many bytes that the operation takes `nanos` when it is alone.
uint64_t BytesFor(double nanos, double nanos_per_byte) {
  if (nanos_per_byte <= 0) return kLeastBytes;
  const double bytes = nanos / nanos_per_byte;
  return std::clamp(static_cast<uint64_t>(std::min(bytes, 1e12)), kLeastBytes, kMostBytes) / 4096 * 4096;
}

class Sizing {
 public:
  Sizing(const Layout& layout, const Fabric& fabric) : layout_(layout), fabric_(fabric) {}

  uint64_t Bytes(Role role, OperationKind kind, double nanos) const {
    const int group = layout_.GroupOf(0, role);
    if (group < 0) return kLeastBytes;
    return BytesFor(nanos, fabric_.NanosPerByte(fabric_.LoadsOf(kind, layout_.group(group))));
  }

  uint64_t TransferBytes(int from, int to, double nanos) const {
    return BytesFor(nanos, fabric_.NanosPerByte(fabric_.LoadsBetween(from, to)));
  }

 private:
  const Layout& layout_;
  const Fabric& fabric_;
};

Sizes SizesOf(const World& world, const Layout& layout, const Fabric& fabric) {
  const Shape& shape = world.shape;
  const Traffic& traffic = world.traffic;
  const Sizing sizing(layout, fabric);
  const double layer_ns = world.work.forward_ns;
  const double layers = shape.layers * shape.chunks;
  Sizes sizes;
  const OperationKind inside = shape.sequence_parallel ? OperationKind::kAllGather : OperationKind::kAllReduce;
  sizes.tensor =
      sizing.Bytes(Role::kTensor, inside, traffic.tensor_share * layer_ns / (shape.sequence_parallel ? 4 : 2));
  sizes.context = sizing.Bytes(Role::kContext, OperationKind::kAllGather, traffic.context_share * layer_ns);
  sizes.expert = sizing.Bytes(Role::kExpert, OperationKind::kAllToAll, traffic.expert_share * layer_ns / 2);
  if (shape.pipeline > 1) {
    Place next = layout.PlaceOf(0);
    next.stage = 1;
    sizes.pipeline = sizing.TransferBytes(0, layout.RankAt(next), traffic.pipeline_share * layer_ns * shape.layers);
  }
  // Gradients of all layers take their share of one backward pass, however many microbatches they gather.
  const double gradient_ns = traffic.data_share * layer_ns * world.work.backward_ratio;
  const bool scattered = shape.sharded || traffic.sharded_optimizer;
  sizes.gradients =
      sizing.Bytes(Role::kData, scattered ? OperationKind::kReduceScatter : OperationKind::kAllReduce, gradient_ns);
  sizes.parameters =
      shape.sharded ? sizes.gradients / 2 : static_cast<uint64_t>(static_cast<double>(sizes.gradients) * layers / 2);
  return sizes;
}

}  // namespace

Script::Script(const World& world, const Layout& layout, const std::vector<Fault>& faults, const Fabric& fabric)
    : world_(world), layout_(layout), faults_(faults), sizes_(SizesOf(world, layout, fabric)) {}

std::vector<Instruction> Script::Step(int rank, int step, int32_t& first_event) const {
  return StepWriter(world_, layout_, faults_, sizes_, rank, step, first_event).Write();
}

}  // namespace lockstep::second
