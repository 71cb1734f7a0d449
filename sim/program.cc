#include "sim/program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "sim/action_order.h"
#include "sim/schedule_order.h"

namespace lockstep {
namespace {

constexpr double kExpertShare = 0.4;  // of a block's compute, in jobs with experts
constexpr double kBackwardFactor = 2;
constexpr uint64_t kSmallBytes = 64;  // of a norm, a loss, a flag

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// One crossing of a boundary between two virtual stages.
using CrossingKey = std::tuple<bool, int32_t, int32_t>;  // forward, microbatch, virtual stage that sends

class PlanBuilder {
 public:
  PlanBuilder(const JobSpec& job, const Layout& layout) : job_(job), layout_(layout) {
    plan_.stages.resize(layout.stages());
    plan_.transfers_of_pair.assign(static_cast<size_t>(layout.stages()) * layout.stages(), 0);
    for (StageProgram& stage : plan_.stages) stage.operations_of_kind.assign(kGroupKinds, 0);
  }

  Plan Training() {
    for (int32_t stage = 0; stage < layout_.stages(); ++stage) BeginStage(stage).TrainingStep();
    return Finish();
  }

  Plan Evaluation() {
    for (int32_t stage = 0; stage < layout_.stages(); ++stage) BeginStage(stage).EvaluationPhase();
    return Finish();
  }

  Plan Checkpoint() {
    for (int32_t stage = 0; stage < layout_.stages(); ++stage) {
      BeginStage(stage);
      Add({.kind = InstructionKind::kInput});
      JoinAll(GroupKind::kWorld, OperationKind::kBarrier, kSmallBytes);
      Add({.kind = InstructionKind::kSync});
    }
    return Finish();
  }

 private:
  const Parallelism& cut() const { return job_.parallelism; }
  StageProgram& program() { return plan_.stages[stage_]; }
  int32_t chunks() const { return cut().virtual_stages; }

  PlanBuilder& BeginStage(int32_t stage) {
    stage_ = stage;
    last_on_stream_.fill(-1);
    return *this;
  }

  Plan Finish() {
    OrderActions(plan_);
    return std::move(plan_);
  }

  int32_t NewHandle() {
    program().transfer_groups.emplace_back();
    return program().handles++;
  }

  void Add(const Instruction& instruction) { program().instructions.push_back(instruction); }

  // --- one step ---

  void TrainingStep() {
    Add({.kind = InstructionKind::kInput});
    const bool replicated = layout_.Uses(GroupKind::kData);
    if (replicated && cut().sharded_optimizer) {
      Collective(GroupKind::kData, OperationKind::kAllGather, job_.workload.gradient_bytes / 2);
    }
    const PassOrder order = OrderOfPasses(stage_, layout_.stages(), job_.workload.microbatches, chunks());
    std::vector<int32_t> buckets;
    if (chunks() == 1) {
      GroupedPasses(order, buckets);
    } else {
      OverlappedPasses(order, buckets);
    }
    for (const int32_t handle : buckets) Add({.kind = InstructionKind::kAwait, .handle = handle});
    const bool embeds = stage_ == 0 || stage_ == layout_.stages() - 1;
    if (layout_.Uses(GroupKind::kEmbedding) && embeds) {
      JoinAll(GroupKind::kEmbedding, OperationKind::kAllReduce, job_.workload.gradient_bytes / 16);
    }
    JoinAll(GroupKind::kWorld, OperationKind::kAllReduce, kSmallBytes);
    Compute(Nanos(job_.workload.optimizer_seconds), -1, false);
    Add({.kind = InstructionKind::kSync});
  }

  void EvaluationPhase() {
    Add({.kind = InstructionKind::kInput});
    for (int32_t m = 0; m < job_.schedule.evaluate_batches; ++m) {
      for (int32_t chunk = 0; chunk < chunks(); ++chunk) {
        const Pass pass{.forward = true, .microbatch = m, .chunk = chunk};
        AwaitOwn(Receive(pass, kForwardReceive));
        Forward(pass);
        AwaitOwn(Send(pass, kForwardSend));
      }
    }
    JoinAll(GroupKind::kWorld, OperationKind::kAllReduce, kSmallBytes);
    Add({.kind = InstructionKind::kSync});
  }

  // Megatron's plain 1F1B: Send and Recv between two stages go as one group, and the compute waits for it.
  void GroupedPasses(const PassOrder& order, std::vector<int32_t>& buckets) {
    const std::vector<Pass>& passes = order.passes;
    for (size_t i = 0; i < passes.size(); ++i) {
      const Pass& pass = passes[i];
      if (!received_with_previous_) AwaitOwn(Receive(pass, kGrouped));
      received_with_previous_ = false;
      Run(pass, i + 1 == passes.size(), buckets);
      // In the steady phase what is sent over a boundary goes together with what comes back over it.
      const bool steady = i >= static_cast<size_t>(order.warmup) && i + 1 < passes.size();
      if (steady && pass.forward != passes[i + 1].forward) {
        AwaitOwn(Grouped(pass, passes[i + 1]));
        received_with_previous_ = true;
      } else {
        AwaitOwn(Send(pass, kGrouped));
      }
    }
    received_with_previous_ = false;
  }

  // Send and Recv on streams of their own; what the next pass needs is asked for before this one runs.
  void OverlappedPasses(const PassOrder& order, std::vector<int32_t>& buckets) {
    const std::vector<Pass>& passes = order.passes;
    const auto receive = [&](const Pass& pass) {
      return Receive(pass, pass.forward ? kForwardReceive : kBackwardReceive);
    };
    int32_t arriving = receive(passes[0]);
    std::vector<int32_t> sends;
    for (size_t i = 0; i < passes.size(); ++i) {
      const int32_t needed = arriving;
      arriving = i + 1 < passes.size() ? receive(passes[i + 1]) : -1;
      AwaitOwn(needed);
      Run(passes[i], i + 1 == passes.size(), buckets);
      const int32_t sent = Send(passes[i], passes[i].forward ? kForwardSend : kBackwardSend);
      if (sent >= 0) sends.push_back(sent);
    }
    for (const int32_t handle : sends) AwaitOwn(handle);
  }

  // --- compute ---

  void Compute(int64_t base_ns, int32_t microbatch, bool of_experts) {
    Add({.kind = InstructionKind::kCompute, .base_ns = base_ns, .microbatch = microbatch, .of_experts = of_experts});
  }

  void Run(const Pass& pass, bool last, std::vector<int32_t>& buckets) {
    if (pass.forward) {
      Forward(pass);
    } else {
      Backward(pass, last, buckets);
    }
  }

  int64_t BlockNanos() const {
    const double last = stage_ == layout_.stages() - 1 ? job_.workload.last_stage_factor : 1.0;
    return Nanos(job_.workload.forward_seconds * last / chunks());
  }

  int32_t InnerPieces() const { return std::max(1, job_.recording.tensor_operations); }
  int32_t ExpertSections() const {
    return layout_.Uses(GroupKind::kExpert) ? (job_.recording.expert_operations + 1) / 2 : 0;
  }
  double DenseShare() const { return ExpertSections() > 0 ? 1 - kExpertShare : 1.0; }

  void Forward(const Pass& pass) {
    const int64_t block = BlockNanos();
    for (int32_t piece = 0; piece < InnerPieces(); ++piece) {
      Compute(static_cast<int64_t>(block * DenseShare() / InnerPieces()), pass.microbatch, false);
      InnerOperations(piece, true);
    }
    Experts(block, pass.microbatch);
  }

  // The last backward pass of the step hands over its gradients bucket by bucket while it runs.
  void Backward(const Pass& pass, bool last, std::vector<int32_t>& buckets) {
    const auto block = static_cast<int64_t>(BlockNanos() * kBackwardFactor);
    Experts(block, pass.microbatch);
    const int32_t wanted = last && layout_.Uses(GroupKind::kData) ? job_.workload.gradient_buckets : 0;
    const int32_t pieces = std::max(InnerPieces(), std::min(wanted, 4));
    for (int32_t piece = 0; piece < pieces; ++piece) {
      Compute(static_cast<int64_t>(block * DenseShare() / pieces), pass.microbatch, false);
      if (piece < InnerPieces()) InnerOperations(piece, false);
      for (int32_t b = wanted * piece / pieces; b < wanted * (piece + 1) / pieces; ++b) buckets.push_back(Bucket());
    }
  }

  void Experts(int64_t block, int32_t microbatch) {
    for (int32_t section = 0; section < ExpertSections(); ++section) {
      Collective(GroupKind::kExpert, OperationKind::kAllToAll, job_.workload.expert_bytes);
      Compute(static_cast<int64_t>(block * kExpertShare / ExpertSections()), microbatch, true);
      if (section * 2 + 1 < job_.recording.expert_operations) {
        Collective(GroupKind::kExpert, OperationKind::kAllToAll, job_.workload.expert_bytes);
      }
    }
  }

  void InnerOperations(int32_t piece, bool forward) {
    if (job_.recording.tensor_operations == 0) return;
    if (layout_.Uses(GroupKind::kTensor)) {
      const OperationKind gathered = piece % 2 == 0 ? OperationKind::kAllGather : OperationKind::kReduceScatter;
      const OperationKind kind = cut().sequence_parallel ? gathered : OperationKind::kAllReduce;
      Collective(GroupKind::kTensor, kind, job_.workload.tensor_bytes);
    }
    if (layout_.Uses(GroupKind::kContext)) {
      const OperationKind kind = forward ? OperationKind::kAllGather : OperationKind::kReduceScatter;
      Collective(GroupKind::kContext, kind, job_.workload.context_bytes);
    }
  }

  // --- operations ---

  bool IsRecorded(GroupKind group) const {
    const bool inner = group == GroupKind::kTensor || group == GroupKind::kContext || group == GroupKind::kExpert;
    return !(inner && job_.recording.steps_only_data);
  }

  Instruction Operation(InstructionKind kind, GroupKind group, OperationKind operation, uint64_t bytes) {
    Instruction instruction{.kind = kind, .operation = operation, .group = group, .bytes = bytes};
    instruction.index_in_kind = program().operations_of_kind[static_cast<size_t>(group)]++;
    if (IsRecorded(group)) instruction.record = program().records++;
    return instruction;
  }

  void Collective(GroupKind group, OperationKind operation, uint64_t bytes) {
    Add(Operation(InstructionKind::kCollective, group, operation, bytes));
  }

  int32_t Bucket() {
    const bool sharded = cut().sharded_optimizer;
    Instruction instruction = Operation(InstructionKind::kCollective, GroupKind::kData,
                                        sharded ? OperationKind::kReduceScatter : OperationKind::kAllReduce,
                                        job_.workload.gradient_bytes / job_.workload.gradient_buckets);
    instruction.overlapped = true;
    instruction.handle = NewHandle();
    Add(instruction);
    return instruction.handle;
  }

  void JoinAll(GroupKind group, OperationKind operation, uint64_t bytes) {
    Instruction instruction = Operation(InstructionKind::kJoinCollective, group, operation, bytes);
    instruction.handle = NewHandle();
    Add(instruction);
    AwaitOwn(instruction.handle);
  }

  void AwaitOwn(int32_t handle) {
    if (handle >= 0) Add({.kind = InstructionKind::kAwait, .handle = handle});
  }

  // --- pipeline ---

  // Streams on which Send/Recv groups of a stage follow one another.
  enum Stream { kGrouped, kForwardSend, kForwardReceive, kBackwardSend, kBackwardReceive, kStreams };

  int32_t VirtualStage(const Pass& pass) const { return pass.chunk * layout_.stages() + stage_; }
  int32_t VirtualStages() const { return chunks() * layout_.stages(); }

  bool Sends(const Pass& pass) const {
    return pass.forward ? VirtualStage(pass) + 1 < VirtualStages() : VirtualStage(pass) > 0;
  }
  bool Receives(const Pass& pass) const {
    return pass.forward ? VirtualStage(pass) > 0 : VirtualStage(pass) + 1 < VirtualStages();
  }

  int32_t Send(const Pass& pass, Stream stream) {
    if (!Sends(pass)) return -1;
    const int32_t handle = Open(stream);
    AddSend(pass, handle);
    return handle;
  }

  int32_t Receive(const Pass& pass, Stream stream) {
    if (!Receives(pass)) return -1;
    const int32_t handle = Open(stream);
    AddReceive(pass, handle);
    return handle;
  }

  int32_t Grouped(const Pass& sent, const Pass& received) {
    if (!Sends(sent) && !Receives(received)) return -1;
    const int32_t handle = Open(kGrouped);
    if (Sends(sent)) AddSend(sent, handle);
    if (Receives(received)) AddReceive(received, handle);
    return handle;
  }

  int32_t Open(Stream stream) {
    const int32_t handle = NewHandle();
    program().transfer_groups[handle].previous_on_stream = last_on_stream_[stream];
    last_on_stream_[stream] = handle;
    Add({.kind = InstructionKind::kTransfers,
         .operation = OperationKind::kSend,
         .group = GroupKind::kPipeline,
         .bytes = job_.workload.activation_bytes,
         .handle = handle,
         .record = program().records});
    return handle;
  }

  // The transfer over one crossing, made by whichever side is built first.
  Transfer& TransferOf(bool forward, int32_t microbatch, int32_t sender, int32_t handle) {
    const auto [found, fresh] = crossings_.emplace(CrossingKey{forward, microbatch, sender}, plan_.transfers.size());
    if (fresh) plan_.transfers.emplace_back();
    program().transfer_groups[handle].transfers.push_back(static_cast<int32_t>(found->second));
    return plan_.transfers[found->second];
  }

  void AddSend(const Pass& pass, int32_t handle) {
    const int32_t sender = VirtualStage(pass);
    Transfer& transfer = TransferOf(pass.forward, pass.microbatch, sender, handle);
    const int32_t target = (sender + (pass.forward ? 1 : -1)) % layout_.stages();
    transfer.source_stage = stage_;
    transfer.source_handle = handle;
    transfer.source_record = program().records++;
    transfer.index_in_pair = plan_.transfers_of_pair[stage_ * layout_.stages() + target]++;
  }

  void AddReceive(const Pass& pass, int32_t handle) {
    const int32_t sender = VirtualStage(pass) - (pass.forward ? 1 : -1);
    Transfer& transfer = TransferOf(pass.forward, pass.microbatch, sender, handle);
    transfer.target_stage = stage_;
    transfer.target_handle = handle;
    transfer.target_record = program().records++;
  }

  const JobSpec& job_;
  const Layout& layout_;
  Plan plan_;
  int32_t stage_ = 0;
  bool received_with_previous_ = false;
  std::array<int32_t, kStreams> last_on_stream_;
  std::map<CrossingKey, size_t> crossings_;
};

}  // namespace

Plan MakeTrainingPlan(const JobSpec& job, const Layout& layout) { return PlanBuilder(job, layout).Training(); }

Plan MakeEvaluationPlan(const JobSpec& job, const Layout& layout) { return PlanBuilder(job, layout).Evaluation(); }

Plan MakeCheckpointPlan(const JobSpec& job, const Layout& layout) { return PlanBuilder(job, layout).Checkpoint(); }

}  // namespace lockstep
