#include "sim/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/action_order.h"
#include "sim/schedule_order.h"
#include "sim/stage_transfers.h"
#include "sim/stage_writer.h"

namespace lockstep {
namespace {

constexpr double kExpertShare = 0.4;  // of a block's compute, in jobs with experts
constexpr double kBackwardFactor = 2;
constexpr uint64_t kSmallBytes = 64;  // of a norm, a loss, a flag

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// What the ranks of one stage do.
class StageBuilder {
 public:
  StageBuilder(const JobSpec& job, const Layout& layout, int32_t stage, StageProgram* program, PipelineTransfers* all)
      : job_(job),
        layout_(layout),
        stage_(stage),
        writer_(!job.recording.steps_only_data, program),
        transfers_(stage, job.workload.activation_bytes, &writer_, all) {}

  void TrainingStep() {
    writer_.AwaitInput();
    const bool replicated = layout_.Uses(GroupKind::kData);
    if (replicated && cut().sharded_optimizer) {
      writer_.Collective(GroupKind::kData, OperationKind::kAllGather, job_.workload.gradient_bytes / 2);
    }
    const PassOrder order = OrderOfPasses(stage_, layout_.stages(), job_.workload.microbatches, chunks());
    std::vector<int32_t> buckets;
    if (chunks() == 1) {
      GroupedPasses(order, buckets);
    } else {
      OverlappedPasses(order, buckets);
    }
    for (const int32_t handle : buckets) writer_.Await(handle);
    const bool embeds = stage_ == 0 || stage_ == layout_.stages() - 1;
    if (layout_.Uses(GroupKind::kEmbedding) && embeds) {
      writer_.Join(GroupKind::kEmbedding, OperationKind::kAllReduce, job_.workload.gradient_bytes / 16);
    }
    writer_.Join(GroupKind::kWorld, OperationKind::kAllReduce, kSmallBytes);
    writer_.Compute(Nanos(job_.workload.optimizer_seconds), -1, false);
    writer_.Sync();
  }

  void EvaluationPhase() {
    writer_.AwaitInput();
    for (int32_t m = 0; m < job_.schedule.evaluate_batches; ++m) {
      for (int32_t chunk = 0; chunk < chunks(); ++chunk) {
        const Pass pass{.forward = true, .microbatch = m, .chunk = chunk};
        writer_.Await(transfers_.Receive(pass, StageTransfers::kForwardReceive));
        Forward(pass);
        writer_.Await(transfers_.Send(pass, StageTransfers::kForwardSend));
      }
    }
    writer_.Join(GroupKind::kWorld, OperationKind::kAllReduce, kSmallBytes);
    writer_.Sync();
  }

  void Checkpoint() {
    writer_.AwaitInput();
    writer_.Join(GroupKind::kWorld, OperationKind::kBarrier, kSmallBytes);
    writer_.Sync();
  }

 private:
  const Parallelism& cut() const { return job_.parallelism; }
  int32_t chunks() const { return cut().virtual_stages; }

  // Megatron's plain 1F1B: Send and Recv between two stages go as one group, and the compute waits for it.
  void GroupedPasses(const PassOrder& order, std::vector<int32_t>& buckets) {
    const std::vector<Pass>& passes = order.passes;
    bool received_with_previous = false;
    for (size_t i = 0; i < passes.size(); ++i) {
      const Pass& pass = passes[i];
      if (!received_with_previous) writer_.Await(transfers_.Receive(pass, StageTransfers::kGrouped));
      received_with_previous = false;
      Run(pass, i + 1 == passes.size(), buckets);
      // In the steady phase what is sent over a boundary goes together with what comes back over it.
      const bool steady = i >= static_cast<size_t>(order.warmup) && i + 1 < passes.size();
      if (steady && pass.forward != passes[i + 1].forward) {
        writer_.Await(transfers_.Exchange(pass, passes[i + 1]));
        received_with_previous = true;
      } else {
        writer_.Await(transfers_.Send(pass, StageTransfers::kGrouped));
      }
    }
  }

  // Send and Recv on streams of their own; what the next pass needs is asked for before this one runs.
  void OverlappedPasses(const PassOrder& order, std::vector<int32_t>& buckets) {
    const std::vector<Pass>& passes = order.passes;
    const auto receive = [&](const Pass& pass) {
      return transfers_.Receive(pass,
                                pass.forward ? StageTransfers::kForwardReceive : StageTransfers::kBackwardReceive);
    };
    int32_t arriving = receive(passes[0]);
    std::vector<int32_t> sends;
    for (size_t i = 0; i < passes.size(); ++i) {
      const int32_t needed = arriving;
      arriving = i + 1 < passes.size() ? receive(passes[i + 1]) : -1;
      writer_.Await(needed);
      Run(passes[i], i + 1 == passes.size(), buckets);
      const int32_t sent =
          transfers_.Send(passes[i], passes[i].forward ? StageTransfers::kForwardSend : StageTransfers::kBackwardSend);
      if (sent >= 0) sends.push_back(sent);
    }
    for (const int32_t handle : sends) writer_.Await(handle);
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
      writer_.Compute(static_cast<int64_t>(block * DenseShare() / InnerPieces()), pass.microbatch, false);
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
      writer_.Compute(static_cast<int64_t>(block * DenseShare() / pieces), pass.microbatch, false);
      if (piece < InnerPieces()) InnerOperations(piece, false);
      for (int32_t b = wanted * piece / pieces; b < wanted * (piece + 1) / pieces; ++b) buckets.push_back(Bucket());
    }
  }

  void Experts(int64_t block, int32_t microbatch) {
    for (int32_t section = 0; section < ExpertSections(); ++section) {
      writer_.Collective(GroupKind::kExpert, OperationKind::kAllToAll, job_.workload.expert_bytes);
      writer_.Compute(static_cast<int64_t>(block * kExpertShare / ExpertSections()), microbatch, true);
      if (section * 2 + 1 < job_.recording.expert_operations) {
        writer_.Collective(GroupKind::kExpert, OperationKind::kAllToAll, job_.workload.expert_bytes);
      }
    }
  }

  void InnerOperations(int32_t piece, bool forward) {
    if (job_.recording.tensor_operations == 0) return;
    if (layout_.Uses(GroupKind::kTensor)) {
      const OperationKind gathered = piece % 2 == 0 ? OperationKind::kAllGather : OperationKind::kReduceScatter;
      const OperationKind kind = cut().sequence_parallel ? gathered : OperationKind::kAllReduce;
      writer_.Collective(GroupKind::kTensor, kind, job_.workload.tensor_bytes);
    }
    if (layout_.Uses(GroupKind::kContext)) {
      const OperationKind kind = forward ? OperationKind::kAllGather : OperationKind::kReduceScatter;
      writer_.Collective(GroupKind::kContext, kind, job_.workload.context_bytes);
    }
  }

  int32_t Bucket() {
    return writer_.OverlappedCollective(
        GroupKind::kData, cut().sharded_optimizer ? OperationKind::kReduceScatter : OperationKind::kAllReduce,
        job_.workload.gradient_bytes / job_.workload.gradient_buckets);
  }

  const JobSpec& job_;
  const Layout& layout_;
  const int32_t stage_;
  StageWriter writer_;
  StageTransfers transfers_;
};

Plan MakePlan(const JobSpec& job, const Layout& layout, void (StageBuilder::*build)()) {
  Plan plan;
  plan.stages.resize(static_cast<size_t>(layout.stages()));
  PipelineTransfers transfers(layout.stages(), job.parallelism.virtual_stages);
  for (int32_t stage = 0; stage < layout.stages(); ++stage) {
    StageBuilder builder(job, layout, stage, &plan.stages[static_cast<size_t>(stage)], &transfers);
    (builder.*build)();
  }
  plan.transfers = transfers.transfers();
  plan.transfers_of_pair = transfers.of_pair();
  OrderActions(plan);
  return plan;
}

}  // namespace

Plan MakeTrainingPlan(const JobSpec& job, const Layout& layout) {
  return MakePlan(job, layout, &StageBuilder::TrainingStep);
}

Plan MakeEvaluationPlan(const JobSpec& job, const Layout& layout) {
  return MakePlan(job, layout, &StageBuilder::EvaluationPhase);
}

Plan MakeCheckpointPlan(const JobSpec& job, const Layout& layout) {
  return MakePlan(job, layout, &StageBuilder::Checkpoint);
}

}  // namespace lockstep
