#include "sim/replay.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "sim/fault_choice.h"
#include "sim/phase_runner.h"
#include "sim/program.h"
#include "sim/record_rows.h"
#include "sim/schedule_order.h"
#include "sim/testing/reference_replay.h"
#include "sim/world.h"

namespace lockstep {
namespace {

int32_t Pick(Random& random, std::vector<int32_t> choices) { return choices[random.Below(choices.size())]; }

// Any cut of a small job, the odd ones included.
JobSpec RandomJob(Random& random) {
  JobSpec job;
  Parallelism& p = job.parallelism;
  p.tensor = Pick(random, {1, 2, 4});
  p.context = Pick(random, {1, 1, 2});
  p.data = Pick(random, {1, 2, 3, 4});
  p.pipeline = Pick(random, {1, 2, 3, 4});
  if (p.gpus() < 2) p.data = 2;
  p.expert = p.data % 2 == 0 ? Pick(random, {1, 2}) : 1;
  p.virtual_stages = p.pipeline > 1 ? Pick(random, {1, 1, 2, 3}) : 1;
  p.sequence_parallel = random.Below(2) == 0;
  p.sharded_optimizer = random.Below(2) == 0;
  job.gpus_per_host = 4;
  job.hosts_per_leaf = 2;
  job.workload.microbatches = p.pipeline * Pick(random, {1, 2, 3});
  job.workload.gradient_buckets = Pick(random, {1, 3, 5});
  job.recording.tensor_operations = Pick(random, {0, 1, 2});
  job.schedule.steps = 3;
  return job;
}

void Silence(JobSpec& job) {
  job.noise.compute_cv = 0;
  job.noise.transfer_cv = 0;
  job.noise.heavy_tail_share = 0;
  job.workload.latency_seconds = 0;  // also how far apart members leave
}

TEST(LayoutTest, GroupsCutAllRanks) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const JobSpec job = RandomJob(random);
    ASSERT_TRUE(Validate(job).ok()) << Validate(job);
    const Layout layout(job);
    std::set<int32_t> communicators;
    for (int k = 0; k < kGroupKinds; ++k) {
      const auto kind = static_cast<GroupKind>(k);
      if (!layout.Uses(kind)) continue;
      for (int32_t g = 0; g < layout.GroupCount(kind); ++g) {
        EXPECT_TRUE(communicators.insert(layout.Communicator(kind, g)).second);
        for (int32_t m = 0; m < layout.GroupSize(kind); ++m) {
          const int32_t rank = layout.Member(kind, g, m);
          ASSERT_EQ(layout.GroupOf(kind, rank), g) << ShortName(kind);
          ASSERT_EQ(layout.IndexInGroup(kind, rank), m) << ShortName(kind);
        }
      }
    }
    EXPECT_EQ(communicators.size(), static_cast<size_t>(layout.communicators()));
  }
}

TEST(ScheduleOrderTest, EveryPassOnceAndBackwardAfterForward) {
  for (const auto& [stages, chunks] : std::vector<std::pair<int32_t, int32_t>>{{1, 1}, {4, 1}, {4, 2}, {3, 3}}) {
    for (int32_t stage = 0; stage < stages; ++stage) {
      const int32_t microbatches = stages * 2;
      std::set<std::pair<int32_t, int32_t>> forward;
      std::set<std::pair<int32_t, int32_t>> backward;
      for (const Pass& pass : OrderOfPasses(stage, stages, microbatches, chunks).passes) {
        const std::pair<int32_t, int32_t> block(pass.microbatch, pass.chunk);
        if (!pass.forward) {
          EXPECT_TRUE(forward.contains(block));
        }
        EXPECT_TRUE((pass.forward ? forward : backward).insert(block).second);
      }
      EXPECT_EQ(forward.size(), static_cast<size_t>(microbatches * chunks));
      EXPECT_EQ(forward, backward);
    }
  }
}

TEST(ScheduleOrderTest, OneForwardOneBackwardKeepsFewMicrobatchesInFlight) {
  const PassOrder order = OrderOfPasses(1, 4, 12, 1);
  int32_t in_flight = 0;
  for (const Pass& pass : order.passes) {
    in_flight += pass.forward ? 1 : -1;
    EXPECT_LE(in_flight, 3);  // stages - stage
  }
}

void ExpectSame(const TraceOperation& fast, const TraceOperation& slow) {
  EXPECT_EQ(fast.kind, slow.kind);
  EXPECT_EQ(fast.enqueue_ns, slow.enqueue_ns);
  EXPECT_EQ(fast.start_ns, slow.start_ns);
  EXPECT_EQ(fast.end_ns, slow.end_ns);
}

TEST(ReplayTest, AgreesWithRankAfterRank) {
  constexpr FaultKind kSlowKinds[] = {FaultKind::kComputeSlow,       FaultKind::kHostSlow,
                                      FaultKind::kNicSendSlow,       FaultKind::kStorageStall,
                                      FaultKind::kSequenceImbalance, FaultKind::kGarbageCollection,
                                      FaultKind::kNvlinkSlow,        FaultKind::kStageImbalance};
  Random random(2);
  for (int i = 0; i < 80; ++i) {
    JobSpec job = RandomJob(random);
    Silence(job);
    const Layout layout(job);
    FaultSpec fault = RandomFault(kSlowKinds[i % std::size(kSlowKinds)], 1, job, random);
    fault.onset_step = 1;
    const Plan plan = MakeTrainingPlan(job, layout);
    World world(job, layout, 7);
    const StepConditions& conditions = world.At({.kind = PhaseKind::kStep, .step = 1, .number = 1}, {&fault, 1}, plan);
    RecordTable table;
    std::vector<size_t> per_stage;
    for (const StageProgram& stage : plan.stages) per_stage.push_back(stage.records);
    RecordRows rows(layout, per_stage, &table);
    PhaseRunner runner(job, layout, 7);
    runner.Run(plan, conditions, 1, 0, &rows);
    const std::vector<std::vector<TraceOperation>> slow = ReferencePhase(job, layout, plan, conditions);
    for (int32_t r = 0; r < layout.ranks(); ++r) {
      ASSERT_EQ(slow[r].size(), table.first[r + 1] - table.first[r]);
      for (size_t k = 0; k < slow[r].size(); ++k) ExpectSame(table.operations[table.first[r] + k], slow[r][k]);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "job " << i << " rank " << r;
    }
  }
}

// What holds of any run: nobody leaves a synchronous operation before the last has entered, and sequence numbers have
// no holes.
TEST(ReplayTest, OperationsKeepTheirPromises) {
  Random random(3);
  for (int i = 0; i < 30; ++i) {
    JobSpec job = RandomJob(random);
    job.schedule.evaluate_every = 2;
    job.schedule.checkpoint_every = 2;
    const Layout layout(job);
    RecordTable table;
    const ReplayResult result = Replay(job, layout, i, {}, &table);
    ASSERT_FALSE(result.hung);
    ASSERT_EQ(result.step_end_ns.size(), 3u);
    using Key = std::tuple<int32_t, int32_t, int32_t, uint64_t>;  // communicator, source, destination, sequence
    std::map<Key, std::vector<const TraceOperation*>> meetings;
    for (int32_t r = 0; r < layout.ranks(); ++r) {
      int64_t last_enqueue_ns = 0;
      std::map<int32_t, uint64_t> next;
      for (size_t k = table.first[r]; k < table.first[r + 1]; ++k) {
        const TraceOperation& op = table.operations[k];
        ASSERT_LE(op.enqueue_ns, op.start_ns);
        ASSERT_LE(op.start_ns, op.end_ns);
        ASSERT_LE(last_enqueue_ns, op.enqueue_ns);
        last_enqueue_ns = op.enqueue_ns;
        const int32_t stage = layout.StageOf(r);
        const int32_t source = op.kind == OperationKind::kRecv ? op.peer : op.kind == OperationKind::kSend ? stage : -1;
        const int32_t target = op.kind == OperationKind::kSend ? op.peer : op.kind == OperationKind::kRecv ? stage : -1;
        meetings[{op.communicator, source, target, op.sequence}].push_back(&op);
        if (op.peer < 0) {
          ASSERT_EQ(op.sequence, ++next[op.communicator]);
        }
      }
    }
    std::map<int32_t, size_t> sizes;
    for (int k = 0; k < kGroupKinds; ++k) {
      const auto kind = static_cast<GroupKind>(k);
      for (int32_t g = 0; layout.Uses(kind) && g < layout.GroupCount(kind); ++g) {
        sizes[layout.Communicator(kind, g)] = layout.GroupSize(kind);
      }
    }
    for (const auto& [key, members] : meetings) {
      const bool pair = std::get<1>(key) >= 0;
      ASSERT_EQ(members.size(), pair ? 2 : sizes[std::get<0>(key)]);
      for (const TraceOperation* one : members) {
        for (const TraceOperation* other : members) ASSERT_GE(one->end_ns, other->start_ns);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
