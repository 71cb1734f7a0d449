// The state of the world in each phase: noise that no fault shifts, and faults that hurt nobody but their targets.

#include "sim/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "sim/chance.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/network_cost.h"
#include "sim/program.h"
#include "sim/step_conditions.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(ChanceTest, IsAFunctionOfWhatItIsDrawnFor) {
  const Chance one(1, ChanceUse::kCompute, 3, 4);
  EXPECT_EQ(one.At(5), Chance(1, ChanceUse::kCompute, 3, 4).At(5));
  std::set<uint64_t> distinct = {one.At(5),
                                 one.At(6),
                                 Chance(2, ChanceUse::kCompute, 3, 4).At(5),
                                 Chance(1, ChanceUse::kTransfer, 3, 4).At(5),
                                 Chance(1, ChanceUse::kCompute, 4, 3).At(5),
                                 Chance(1, ChanceUse::kCompute, 3, 5).At(5)};
  EXPECT_EQ(distinct.size(), 6u);
}

TEST(ChanceTest, DrawsHaveTheMomentsThatTheirNamesPromise) {
  constexpr int kDraws = 200'000;
  const Chance chance(7, ChanceUse::kStep);
  double unit = 0, bell = 0, square = 0, blow = 0, most = 0;
  int hits = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t bits = chance.At(i);
    const double u = Chance::UnitOf(bits), b = Chance::BellOf(bits), w = Chance::BlowOf(bits);
    ASSERT_TRUE(u >= 0 && u < 1 && b >= -3 && b <= 3 && w >= 0 && w <= 3);
    unit += u;
    bell += b;
    square += b * b;
    blow += w;
    most = std::max(most, w);
    hits += Chance::HitOf(bits, 0.03) ? 1 : 0;
  }
  EXPECT_NEAR(unit / kDraws, 0.5, 0.004);
  EXPECT_NEAR(bell / kDraws, 0, 0.012);
  EXPECT_NEAR(square / kDraws, 1, 0.02);
  EXPECT_NEAR(blow / kDraws, 1, 0.012);
  EXPECT_GT(most, 2.9);
  EXPECT_NEAR(hits, 0.03 * kDraws, 400);
  EXPECT_FALSE(Chance::HitOf(0, 0));
  EXPECT_TRUE(Chance::HitOf(~uint64_t{0}, 1));
}

TEST(PhaseTest, BreaksFollowTheirStepsAndNeverTheLast) {
  const auto text = [](const Schedule& schedule) {
    std::string phases;
    int32_t number = 0;
    for (const Phase& phase : PhasesOf(schedule)) {
      EXPECT_EQ(phase.number, number++);
      phases += std::string(phase.kind == PhaseKind::kStep         ? "s"
                            : phase.kind == PhaseKind::kEvaluation ? "e"
                                                                   : "c") +
                std::to_string(phase.step);
    }
    return phases;
  };
  EXPECT_EQ(text({.steps = 3}), "s0s1s2");
  EXPECT_EQ(text({.steps = 4, .checkpoint_every = 2}), "s0s1c1s2s3");
  EXPECT_EQ(text({.steps = 5, .checkpoint_every = 2, .evaluate_every = 2}), "s0s1e1c1s2s3e3c3s4");
  EXPECT_EQ(text({.steps = 3, .checkpoint_every = 1}), "s0c0s1c1s2");
  EXPECT_EQ(text({.steps = 1, .checkpoint_every = 1, .evaluate_every = 1}), "s0");
}

TEST(SeverityTest, GrowsOverTheRampAndEndsWithTheFault) {
  const auto at = [](const FaultSpec& fault) {
    std::vector<double> severities;
    for (int32_t step = 0; step < 8; ++step) severities.push_back(SeverityAt(fault, step));
    return severities;
  };
  const FaultSpec slow = {.kind = FaultKind::kComputeSlow, .onset_step = 2, .severity = 0.4};
  FaultSpec ramp = slow, brief = slow, both = slow, typical = slow;
  ramp.ramp_steps = 3;
  brief.duration_steps = 2;
  both.ramp_steps = 3;
  both.duration_steps = 2;
  typical.severity = 0;
  EXPECT_THAT(at(slow), ElementsAre(0, 0, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4));
  EXPECT_THAT(at(ramp), ElementsAre(0, 0, 0.1, 0.2, 0.4 * 3 / 4, 0.4, 0.4, 0.4));
  EXPECT_THAT(at(brief), ElementsAre(0, 0, 0.4, 0.4, 0, 0, 0, 0));
  EXPECT_THAT(at(both), ElementsAre(0, 0, 0.1, 0.2, 0, 0, 0, 0));
  EXPECT_EQ(at(typical)[7], InfoOf(FaultKind::kComputeSlow).typical_severity);
  for (const FaultKind once : {FaultKind::kPause, FaultKind::kSwitchReboot}) {
    EXPECT_THAT(at({.kind = once, .onset_step = 2, .severity = 3}), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0));
    EXPECT_EQ(LastStepOf({.kind = once, .onset_step = 2}, 8), 2);
  }
  EXPECT_EQ(LastStepOf(slow, 8), 7);
  EXPECT_EQ(LastStepOf(brief, 8), 3);
  EXPECT_EQ(LastStepOf(brief, 3), 2) << "the job ends before the fault";
}

// 32 ranks on 4 hosts under 2 leaves: 2 tensor, 2 stages, 8 replicas, 4 experts.
JobSpec SomeJob() {
  JobSpec job;
  job.parallelism = {.tensor = 2, .data = 8, .pipeline = 2, .expert = 4};
  job.hosts_per_leaf = 2;
  job.schedule.steps = 12;
  return job;
}

bool SameNetwork(const NetworkConditions& a, const NetworkConditions& b) {
  return a.any == b.any && a.send == b.send && a.receive == b.receive && a.nvlink == b.nvlink && a.leaf == b.leaf &&
         a.pairs.size() == b.pairs.size() && a.freezes.size() == b.freezes.size();
}

bool Same(const StepConditions& a, const StepConditions& b) {
  return a.common == b.common && a.compute == b.compute && a.issue == b.issue && a.input_ns == b.input_ns &&
         a.stage == b.stage && a.sequence == b.sequence && a.expert == b.expert &&
         a.expert_traffic == b.expert_traffic && a.stalls.size() == b.stalls.size() &&
         a.hangs.size() == b.hangs.size() && SameNetwork(a.network, b.network);
}

class WorldTest : public ::testing::Test {
 protected:
  StepConditions At(const std::vector<FaultSpec>& faults, int32_t step, PhaseKind kind = PhaseKind::kStep) {
    World world(job_, layout_, /*seed=*/9);
    return world.At({.kind = kind, .step = step, .number = step}, faults, plan_);
  }

  // Ranks whose value is `factor` times that of the healthy world.
  template <typename Value>
  std::vector<int32_t> Changed(const std::vector<Value>& with, const std::vector<Value>& without, double factor) {
    std::vector<int32_t> changed;
    for (size_t i = 0; i < with.size(); ++i) {
      if (with[i] == without[i]) continue;
      EXPECT_NEAR(static_cast<double>(with[i]) / static_cast<double>(without[i]), factor, 1e-5);
      changed.push_back(static_cast<int32_t>(i));
    }
    return changed;
  }

  JobSpec job_ = SomeJob();
  const Layout layout_{job_};
  const Plan plan_ = MakeTrainingPlan(job_, layout_);
};

TEST_F(WorldTest, OutsideOfItsStepsAFaultLeavesNoMark) {
  Random random(1);
  for (const FaultInfo& info : FaultTable()) {
    FaultSpec fault = RandomFault(info.kind, 2, job_, random);
    fault.onset_step = 5;
    fault.duration_steps = 2;
    for (const int32_t step : {0, 4, 7, 11}) EXPECT_TRUE(Same(At({fault}, step), At({}, step))) << info.name << step;
    const bool silent = info.kind == FaultKind::kSilentCorruption || info.kind == FaultKind::kDrift;  // a wave at 0
    EXPECT_EQ(Same(At({fault}, 5), At({}, 5)), silent) << info.name;
  }
}

TEST_F(WorldTest, AFaultHurtsItsTargetsAndNobodyElse) {
  const StepConditions healthy = At({}, 6);
  const auto fault = [](FaultKind kind, std::vector<int32_t> targets, double severity) {
    return FaultSpec{.kind = kind, .targets = std::move(targets), .onset_step = 6, .severity = severity};
  };
  for (const FaultKind kind : {FaultKind::kComputeSlow, FaultKind::kClockThrottled}) {
    const StepConditions slow = At({fault(kind, {3, 17}, 0.5)}, 6);
    EXPECT_THAT(Changed(slow.compute, healthy.compute, 1.5), ElementsAre(3, 17));
    EXPECT_FALSE(slow.network.any);
  }
  const StepConditions host = At({fault(FaultKind::kHostSlow, {1}, 4)}, 6);
  EXPECT_THAT(Changed(host.issue, healthy.issue, 5), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(host.compute, healthy.compute);
  const StepConditions pcie = At({fault(FaultKind::kPcieDegraded, {4}, 1)}, 6);
  EXPECT_THAT(Changed(pcie.compute, healthy.compute, 1.2), ElementsAre(4)) << "a fifth of it";
  EXPECT_EQ(pcie.network.send[4], 2);
  EXPECT_EQ(pcie.network.receive[4], 2);
  EXPECT_EQ(std::count(pcie.network.send.begin(), pcie.network.send.end(), 1.0f), 31);
  const StepConditions stall = At({fault(FaultKind::kStorageStall, {0}, 2)}, 6);
  for (int32_t rank = 0; rank < 32; ++rank) {
    EXPECT_EQ(stall.input_ns[rank] - healthy.input_ns[rank], rank < 8 ? 2'000'000'000 : 0);
  }
  const StepConditions pause = At({fault(FaultKind::kPause, {}, 3)}, 6);
  for (int32_t rank = 0; rank < 32; ++rank) EXPECT_EQ(pause.input_ns[rank] - healthy.input_ns[rank], 3'000'000'000);
  const StepConditions regression = At({fault(FaultKind::kJobRegression, {}, 0.2)}, 6);
  EXPECT_NEAR(regression.common / healthy.common, 1.2, 1e-9);
  const StepConditions stage = At({fault(FaultKind::kStageImbalance, {}, 0.4)}, 6);
  EXPECT_THAT(Changed(stage.stage, healthy.stage, 1.4), ElementsAre(1)) << "the last one";
}

TEST_F(WorldTest, TwoFaultsMultiply) {
  const FaultSpec half = {.kind = FaultKind::kComputeSlow, .targets = {3}, .onset_step = 6, .severity = 0.5};
  FaultSpec other = half;
  other.targets = {3, 4};
  const StepConditions both = At({half, other}, 6), healthy = At({}, 6);
  EXPECT_NEAR(both.compute[3] / healthy.compute[3], 2.25, 1e-5);
  EXPECT_NEAR(both.compute[4] / healthy.compute[4], 1.5, 1e-5);
}

TEST_F(WorldTest, HotExpertsStayHotAndTheOthersAsTheyWere) {
  const FaultSpec fault = {.kind = FaultKind::kExpertImbalance, .onset_step = 2, .severity = 0.6};
  std::set<size_t> hot;
  for (int32_t step = 2; step < 12; ++step) {
    const StepConditions c = At({fault}, step);
    ASSERT_EQ(c.expert.size(), 4u);
    for (size_t e = 0; e < 4; ++e) {
      if (c.expert[e] != 1) hot.insert(e);
    }
    EXPECT_NEAR(*std::max_element(c.expert.begin(), c.expert.end()), 1.6, 0.2);
    EXPECT_NEAR(c.expert_traffic, 1.6, 1e-9);
  }
  EXPECT_EQ(hot.size(), 1u);
}

TEST_F(WorldTest, AHangStopsItsTargetsInTheStepOfItsOnsetOnly) {
  for (const FaultInfo& info : FaultTable()) {
    if (!info.hang) continue;
    const bool by_host = info.target == TargetKind::kHost;
    const FaultSpec fault = {.kind = info.kind, .targets = {by_host ? 1 : 13}, .onset_step = 6};
    const StepConditions c = At({fault}, 6);
    EXPECT_EQ(c.hangs.size(), by_host ? 8u : 1u) << info.name;
    for (const InjectedHang& hang : c.hangs) {
      EXPECT_EQ(layout_.HostOf(hang.rank), 1) << info.name;
      const auto& program = plan_.stages[static_cast<size_t>(layout_.StageOf(hang.rank))].instructions;
      ASSERT_LT(static_cast<size_t>(hang.instruction), program.size());
      const InstructionKind kind = program[static_cast<size_t>(hang.instruction)].kind;
      EXPECT_TRUE(kind == InstructionKind::kCompute || kind == InstructionKind::kCollective ||
                  kind == InstructionKind::kJoinCollective || kind == InstructionKind::kTransfers)
          << info.name;
    }
    EXPECT_TRUE(At({fault}, 7).hangs.empty());
    EXPECT_TRUE(At({fault}, 6, PhaseKind::kEvaluation).hangs.empty());
  }
}

TEST_F(WorldTest, NoiseHasTheSizeThatWasAskedFor) {
  job_.noise.gpu_binning = 0.02;
  job_.noise.step_cv = 0.01;
  job_.noise.hiccup_per_step = 0.25;
  double binning = 0, common = 0;
  int hiccups = 0;
  constexpr int kSteps = 600;
  World world(job_, layout_, 3);
  for (int32_t step = 1; step <= kSteps; ++step) {
    const StepConditions& c = world.At({.kind = PhaseKind::kStep, .step = step, .number = step}, {}, plan_);
    common += (c.common - 1) * (c.common - 1);
    hiccups += c.stalls.empty() ? 0 : 1;
    if (step == 1) {
      for (const float factor : c.compute) binning += (factor - 1) * (factor - 1);
    }
  }
  EXPECT_NEAR(std::sqrt(common / kSteps), 0.01, 0.001);
  EXPECT_NEAR(std::sqrt(binning / 32), 0.02, 0.008);
  EXPECT_NEAR(hiccups, 0.25 * kSteps, 5 * std::sqrt(0.25 * 0.75 * kSteps));
}

TEST_F(WorldTest, TheFirstStepWarmsUpAndCheckpointsWrite) {
  EXPECT_NEAR(At({}, 0).common, job_.noise.warmup_factor, 0.5);
  EXPECT_NEAR(At({}, 1).common, 1, 0.1);
  for (const int64_t input_ns : At({}, 3, PhaseKind::kCheckpoint).input_ns)
    EXPECT_NEAR(input_ns * 1e-9, 12, 12 * 0.051);
  for (const int64_t input_ns : At({}, 3).input_ns) EXPECT_NEAR(input_ns * 1e-9, 0.002, 0.002 * 0.31);
}

class NetworkCostTest : public WorldTest {
 protected:
  NetworkCostTest() {
    job_.workload.latency_seconds = 1e-5;
    job_.workload.nic_bytes_per_second = 1e9;
    job_.workload.nvlink_bytes_per_second = 1e10;
  }

  int64_t Collective(const StepConditions& conditions, GroupKind group, OperationKind kind, uint64_t bytes,
                     int32_t number = 0) const {
    NetworkCost cost(job_, layout_);
    cost.Use(conditions, 0, 0);
    return cost.CollectiveNanos({.operation = kind, .group = group, .bytes = bytes}, number);
  }

  int64_t Transfer(const StepConditions& conditions, uint64_t bytes, int32_t source, int32_t target) const {
    NetworkCost cost(job_, layout_);
    cost.Use(conditions, 0, 0);
    return cost.TransferNanos(bytes, source, target);
  }

  StepConditions With(FaultKind kind, std::vector<int32_t> targets, double severity) {
    return At({{.kind = kind, .targets = std::move(targets), .onset_step = 6, .severity = severity}}, 6);
  }
};

TEST_F(NetworkCostTest, ARingMovesItsShareOverTheSlowestLink) {
  const StepConditions healthy = At({}, 6);
  // Tensor group 0: ranks 0 and 1, by NVLink. One hop of latency.
  EXPECT_EQ(Collective(healthy, GroupKind::kTensor, OperationKind::kAllReduce, 1'000'000), 100'000 + 10'000);
  EXPECT_EQ(Collective(healthy, GroupKind::kTensor, OperationKind::kAllGather, 1'000'000), 50'000 + 10'000);
  // Data group 0: 8 ranks on two hosts, by NIC: 7/8 of the bytes, twice for AllReduce, three hops.
  EXPECT_EQ(Collective(healthy, GroupKind::kData, OperationKind::kReduceScatter, 8'000'000), 7'000'000 + 30'000);
  EXPECT_EQ(Collective(healthy, GroupKind::kData, OperationKind::kAllReduce, 8'000'000), 14'000'000 + 30'000);
  EXPECT_EQ(Transfer(healthy, 1'000'000, 0, 1), 100'000 + 10'000);
  EXPECT_EQ(Transfer(healthy, 1'000'000, 0, 16), 1'000'000 + 10'000);
}

TEST_F(NetworkCostTest, ASlowNicSlowsItsGroupsAndItsOwnDirection) {
  const StepConditions send = With(FaultKind::kNicSendSlow, {2}, 2);  // rank 2: tensor index 0, data group 0
  EXPECT_EQ(Collective(send, GroupKind::kData, OperationKind::kReduceScatter, 8'000'000, 0), 21'000'000 + 30'000);
  EXPECT_EQ(Collective(send, GroupKind::kData, OperationKind::kReduceScatter, 8'000'000, 1), 7'000'000 + 30'000);
  EXPECT_EQ(Collective(send, GroupKind::kTensor, OperationKind::kAllGather, 1'000'000, 1), 50'000 + 10'000);
  EXPECT_EQ(Transfer(send, 1'000'000, 2, 18), 3'000'000 + 10'000);
  EXPECT_EQ(Transfer(send, 1'000'000, 18, 2), 1'000'000 + 10'000) << "receives as ever";
  const StepConditions receive = With(FaultKind::kNicReceiveSlow, {2}, 2);
  EXPECT_EQ(Transfer(receive, 1'000'000, 2, 18), 1'000'000 + 10'000);
  EXPECT_EQ(Transfer(receive, 1'000'000, 18, 2), 3'000'000 + 10'000);
}

TEST_F(NetworkCostTest, ASlowNvlinkStaysInsideItsHost) {
  const StepConditions slow = With(FaultKind::kNvlinkSlow, {0}, 9);
  EXPECT_EQ(Collective(slow, GroupKind::kTensor, OperationKind::kAllGather, 1'000'000, 0), 500'000 + 10'000);
  EXPECT_EQ(Collective(slow, GroupKind::kTensor, OperationKind::kAllGather, 1'000'000, 1), 50'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 0, 1), 1'000'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 0, 16), 1'000'000 + 10'000);
}

TEST_F(NetworkCostTest, ASlowPathIsSlowBothWaysAndForNobodyElse) {
  const StepConditions slow = With(FaultKind::kLinkSlow, {0, 2}, 4);
  EXPECT_EQ(Transfer(slow, 1'000'000, 0, 16), 5'000'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 16, 0), 5'000'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 8, 24), 1'000'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 0, 24), 1'000'000 + 10'000);
  EXPECT_EQ(Collective(slow, GroupKind::kData, OperationKind::kReduceScatter, 8'000'000, 0), 7'000'000 + 30'000)
      << "hosts 0 and 1";
}

TEST_F(NetworkCostTest, ACongestedLeafSlowsWhatLeavesItOnly) {
  const StepConditions slow = With(FaultKind::kSwitchCongested, {0}, 4);
  EXPECT_EQ(Transfer(slow, 1'000'000, 0, 8), 1'000'000 + 10'000) << "two hosts of one leaf";
  EXPECT_EQ(Transfer(slow, 1'000'000, 0, 16), 5'000'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 16, 0), 5'000'000 + 10'000);
  EXPECT_EQ(Transfer(slow, 1'000'000, 16, 24), 1'000'000 + 10'000);
}

TEST_F(NetworkCostTest, HotExpertsSlowTheirExchangesAlone) {
  const StepConditions hot = At({{.kind = FaultKind::kExpertImbalance, .onset_step = 6, .severity = 1}}, 6);
  const StepConditions healthy = At({}, 6);
  const auto exchange = [&](const StepConditions& conditions) {
    return Collective(conditions, GroupKind::kExpert, OperationKind::kAllToAll, 4'000'000) - 20'000;
  };
  EXPECT_EQ(exchange(hot), 2 * exchange(healthy));
  EXPECT_EQ(Collective(hot, GroupKind::kData, OperationKind::kAllReduce, 8'000'000),
            Collective(healthy, GroupKind::kData, OperationKind::kAllReduce, 8'000'000));
}

TEST_F(NetworkCostTest, TransfersThroughAFrozenLeafWaitUntilItGoesOn) {
  StepConditions conditions = At({}, 6);
  conditions.network.freezes.push_back({.leaf = 1, .begin_share = 0.5, .length_ns = 1'000});
  NetworkCost cost(job_, layout_);
  EXPECT_FALSE(cost.has_freezes());
  cost.Use(conditions, /*step_begin_ns=*/10'000, /*usual_step_ns=*/4'000);  // stands still in [12,000, 13,000)
  EXPECT_TRUE(cost.has_freezes());
  const struct {
    int64_t begin_ns, end_ns, after_ns;
  } cases[] = {
      {10'000, 11'000, 11'000}, {10'000, 12'000, 12'000}, {13'000, 14'000, 14'000}, {11'000, 12'500, 13'500},
      {12'400, 12'500, 13'100}, {11'000, 15'000, 16'000}, {12'000, 12'001, 13'001},
  };
  for (const auto& [begin_ns, end_ns, after_ns] : cases) {
    EXPECT_EQ(cost.AfterFreezes(/*source=*/0, /*target=*/16, begin_ns, end_ns), after_ns) << begin_ns;
    EXPECT_EQ(cost.AfterFreezes(16, 0, begin_ns, end_ns), after_ns) << begin_ns;
    EXPECT_EQ(cost.AfterFreezes(0, 8, begin_ns, end_ns), end_ns) << "inside another leaf";
    EXPECT_EQ(cost.AfterFreezes(16, 24, begin_ns, end_ns), end_ns) << "inside the leaf itself";
    EXPECT_EQ(cost.AfterFreezes(GroupKind::kWorld, 0, begin_ns, end_ns), after_ns) << begin_ns;
    EXPECT_EQ(cost.AfterFreezes(GroupKind::kData, 0, begin_ns, end_ns), end_ns) << begin_ns;
  }
}

}  // namespace
}  // namespace lockstep
