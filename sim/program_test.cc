// What the ranks of a stage do in a step: every transfer has two sides, every handle is waited for, and the order of
// actions never computes what depends on something that is not computed yet.

#include "sim/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/operation_kind.h"
#include "sim/fault_spec.h"
#include "sim/hang_site.h"
#include "sim/job_spec.h"
#include "sim/layout.h"

namespace lockstep {
namespace {

JobSpec SomeJob(Random& random) {
  const auto pick = [&random](std::vector<int32_t> choices) { return choices[random.Below(choices.size())]; };
  JobSpec job;
  Parallelism& cut = job.parallelism;
  cut.tensor = pick({1, 2, 4});
  cut.context = pick({1, 2});
  cut.data = pick({2, 4, 6});
  cut.pipeline = pick({1, 2, 3, 4});
  cut.expert = pick({1, 2});
  cut.virtual_stages = cut.pipeline > 1 ? pick({1, 2, 3}) : 1;
  cut.sequence_parallel = random.Below(2) == 0;
  cut.sharded_optimizer = random.Below(2) == 0;
  job.workload.microbatches = cut.pipeline * pick({1, 2, 4});
  job.workload.gradient_buckets = pick({1, 2, 5, 9});
  job.recording.tensor_operations = pick({0, 1, 2, 3});
  job.recording.expert_operations = pick({0, 1, 2, 3});
  job.schedule.evaluate_batches = pick({1, 3});
  return job;
}

enum class PlanKind { kTraining, kEvaluation, kCheckpoint };

Plan PlanOf(PlanKind kind, const JobSpec& job, const Layout& layout) {
  return kind == PlanKind::kTraining     ? MakeTrainingPlan(job, layout)
         : kind == PlanKind::kEvaluation ? MakeEvaluationPlan(job, layout)
                                         : MakeCheckpointPlan(job, layout);
}

class EveryPlanTest : public ::testing::TestWithParam<PlanKind> {
 protected:
  // Calls `check` with plans of jobs of many cuts.
  template <typename Check>
  void ForPlans(Check check) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      Random random(seed);
      const JobSpec job = SomeJob(random);
      ASSERT_TRUE(Validate(job).ok()) << Validate(job);
      const Layout layout(job);
      check(job, PlanOf(GetParam(), job, layout));
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
  }
};

TEST_P(EveryPlanTest, EveryTransferHasTwoSidesThatKnowOfIt) {
  ForPlans([](const JobSpec&, const Plan& plan) {
    const auto stages = static_cast<int32_t>(plan.stages.size());
    std::map<std::pair<int32_t, int32_t>, std::set<int32_t>> numbers;  // source and target stage
    for (size_t t = 0; t < plan.transfers.size(); ++t) {
      const Transfer& transfer = plan.transfers[t];
      ASSERT_NE(transfer.source_stage, transfer.target_stage);
      for (const auto& [stage, handle, record] :
           {std::tuple(transfer.source_stage, transfer.source_handle, transfer.source_record),
            std::tuple(transfer.target_stage, transfer.target_handle, transfer.target_record)}) {
        const StageProgram& program = plan.stages.at(static_cast<size_t>(stage));
        const std::vector<int32_t>& group = program.transfer_groups.at(static_cast<size_t>(handle)).transfers;
        EXPECT_EQ(std::count(group.begin(), group.end(), static_cast<int32_t>(t)), 1);
        EXPECT_TRUE(record >= 0 && record < program.records);
      }
      EXPECT_TRUE(
          numbers[std::pair(transfer.source_stage, transfer.target_stage)].insert(transfer.index_in_pair).second);
    }
    for (int32_t source = 0; source < stages; ++source) {
      for (int32_t target = 0; target < stages; ++target) {
        const std::set<int32_t>& found = numbers[std::pair(source, target)];
        const int32_t count = plan.transfers_of_pair[static_cast<size_t>(source * stages + target)];
        ASSERT_EQ(found.size(), static_cast<size_t>(count)) << "numbers have no holes";
        if (count > 0) {
          EXPECT_EQ(*found.rbegin(), count - 1);
        }
      }
    }
  });
}

TEST_P(EveryPlanTest, EveryHandleIsIssuedOnceAndWaitedForLater) {
  ForPlans([](const JobSpec&, const Plan& plan) {
    for (const StageProgram& stage : plan.stages) {
      std::map<int32_t, int> issued, awaited;
      for (const Instruction& instruction : stage.instructions) {
        if (instruction.kind == InstructionKind::kAwait) {
          EXPECT_EQ(issued[instruction.handle], 1) << "waited for before it was issued";
          ++awaited[instruction.handle];
        } else if (instruction.handle >= 0) {
          ++issued[instruction.handle];
        }
      }
      ASSERT_EQ(issued.size(), static_cast<size_t>(stage.handles));
      for (const auto& [handle, count] : issued) {
        EXPECT_EQ(count, 1) << handle;
        EXPECT_EQ(awaited[handle], 1) << handle;
      }
    }
  });
}

TEST_P(EveryPlanTest, RecordsAndNumbersOfAStageHaveNoHoles) {
  ForPlans([](const JobSpec&, const Plan& plan) {
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      const StageProgram& stage = plan.stages[s];
      std::set<int32_t> records;
      std::map<GroupKind, int32_t> next;
      for (const Instruction& instruction : stage.instructions) {
        const bool collective =
            instruction.kind == InstructionKind::kCollective || instruction.kind == InstructionKind::kJoinCollective;
        if (!collective) continue;
        EXPECT_EQ(instruction.index_in_kind, next[instruction.group]++);
        EXPECT_GT(instruction.bytes, 0u);
        EXPECT_NE(instruction.operation, OperationKind::kUnknown);
        if (instruction.record >= 0) records.insert(instruction.record);
      }
      for (const Transfer& transfer : plan.transfers) {
        if (transfer.source_stage == static_cast<int32_t>(s)) records.insert(transfer.source_record);
        if (transfer.target_stage == static_cast<int32_t>(s)) records.insert(transfer.target_record);
      }
      EXPECT_EQ(records.size(), static_cast<size_t>(stage.records));
      for (const auto& [kind, count] : next) EXPECT_EQ(stage.operations_of_kind[static_cast<size_t>(kind)], count);
    }
  });
}

TEST_P(EveryPlanTest, ActionsRunEveryInstructionInOrderAndAfterWhatItNeeds) {
  ForPlans([](const JobSpec&, const Plan& plan) {
    std::vector<size_t> next(plan.stages.size(), 0);
    std::set<std::pair<int32_t, int32_t>> issued, started, ended;  // stage and handle
    for (const Action& action : plan.actions) {
      const std::pair<int32_t, int32_t> handle(action.stage, action.index);
      switch (action.kind) {
        case ActionKind::kRun: {
          const auto stage = static_cast<size_t>(action.stage);
          ASSERT_EQ(static_cast<size_t>(action.index), next[stage]++);
          const Instruction& instruction = plan.stages[stage].instructions[static_cast<size_t>(action.index)];
          const std::pair<int32_t, int32_t> own(action.stage, instruction.handle);
          if (instruction.kind == InstructionKind::kAwait) {
            ASSERT_EQ(ended.count(own), 1u) << "waits for what has not ended";
          } else if (instruction.handle >= 0) {
            issued.insert(own);
            if (instruction.kind == InstructionKind::kCollective) ended.insert(own);
          }
          break;
        }
        case ActionKind::kStartTransfers: {
          ASSERT_EQ(issued.count(handle), 1u);
          const TransferGroup& group =
              plan.stages[static_cast<size_t>(action.stage)].transfer_groups[static_cast<size_t>(action.index)];
          if (group.previous_on_stream >= 0) {
            ASSERT_EQ(ended.count({action.stage, group.previous_on_stream}), 1u) << "streams keep their order";
          }
          started.insert(handle);
          break;
        }
        case ActionKind::kEndTransfers: {
          for (const int32_t t : plan.stages[static_cast<size_t>(action.stage)]
                                     .transfer_groups[static_cast<size_t>(action.index)]
                                     .transfers) {
            const Transfer& transfer = plan.transfers[static_cast<size_t>(t)];
            ASSERT_EQ(started.count({transfer.source_stage, transfer.source_handle}), 1u);
            ASSERT_EQ(started.count({transfer.target_stage, transfer.target_handle}), 1u);
          }
          ended.insert(handle);
          break;
        }
        case ActionKind::kEndCollective:
          for (const Join::Part& part : plan.joins[static_cast<size_t>(action.index)].parts) {
            ASSERT_EQ(issued.count({part.stage, part.handle}), 1u) << "all have entered";
            ended.insert({part.stage, part.handle});
          }
          break;
      }
    }
    for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
      EXPECT_EQ(next[stage], plan.stages[stage].instructions.size());
      EXPECT_EQ(static_cast<int32_t>(std::count_if(
                    ended.begin(), ended.end(), [&](const auto& e) { return e.first == static_cast<int32_t>(stage); })),
                plan.stages[stage].handles);
    }
  });
}

TEST_P(EveryPlanTest, AStepBeginsWithItsInputAndEndsWithEverybody) {
  ForPlans([](const JobSpec&, const Plan& plan) {
    for (const StageProgram& stage : plan.stages) {
      EXPECT_EQ(stage.instructions.front().kind, InstructionKind::kInput);
      EXPECT_EQ(stage.instructions.back().kind, InstructionKind::kSync);
      const auto join = std::find_if(stage.instructions.rbegin(), stage.instructions.rend(), [](const Instruction& i) {
        return i.kind == InstructionKind::kJoinCollective && i.group == GroupKind::kWorld;
      });
      EXPECT_NE(join, stage.instructions.rend());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryPlanTest,
                         ::testing::Values(PlanKind::kTraining, PlanKind::kEvaluation, PlanKind::kCheckpoint));

TEST(TrainingPlanTest, TheWorkOfAStepIsThatOfItsMicrobatches) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    JobSpec job = SomeJob(random);
    job.workload.last_stage_factor = 1.5;
    const Layout layout(job);
    const Plan plan = MakeTrainingPlan(job, layout);
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      std::map<int32_t, double> seconds;  // by microbatch; -1 = the optimizer
      for (const Instruction& i : plan.stages[s].instructions) {
        if (i.kind == InstructionKind::kCompute) seconds[i.microbatch] += static_cast<double>(i.base_ns) * 1e-9;
      }
      // Without operations of experts in the records their share of the block is simulated as dense compute.
      const double block = job.workload.forward_seconds * (s + 1 == plan.stages.size() ? 1.5 : 1.0);
      ASSERT_EQ(seconds.size(), static_cast<size_t>(job.workload.microbatches) + 1);
      for (const auto& [microbatch, sum] : seconds) {
        EXPECT_NEAR(sum, microbatch < 0 ? job.workload.optimizer_seconds : 3 * block, 1e-6) << seed;
      }
    }
  }
}

TEST(TrainingPlanTest, GradientsAreHandedOverInTheirBuckets) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const JobSpec job = SomeJob(random);
    const Layout layout(job);
    for (const StageProgram& stage : MakeTrainingPlan(job, layout).stages) {
      uint64_t bytes = 0;
      int32_t buckets = 0;
      for (const Instruction& i : stage.instructions) {
        if (!i.overlapped) continue;
        EXPECT_EQ(i.group, GroupKind::kData);
        EXPECT_EQ(i.operation,
                  job.parallelism.sharded_optimizer ? OperationKind::kReduceScatter : OperationKind::kAllReduce);
        bytes += i.bytes;
        ++buckets;
      }
      EXPECT_EQ(buckets, job.workload.gradient_buckets);
      EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(job.workload.gradient_bytes), 16);
    }
  }
}

TEST(TrainingPlanTest, EveryBoundaryIsCrossedByEveryMicrobatchBothWays) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const JobSpec job = SomeJob(random);
    const Layout layout(job);
    const Plan plan = MakeTrainingPlan(job, layout);
    const int32_t boundaries = job.parallelism.pipeline * job.parallelism.virtual_stages - 1;
    EXPECT_EQ(plan.transfers.size(), static_cast<size_t>(2 * boundaries * job.workload.microbatches)) << seed;
  }
}

TEST(TrainingPlanTest, InnerOperationsMayBeLeftOutOfTheRecordsButNotOfTheJob) {
  Random random(3);
  JobSpec job = SomeJob(random);
  job.parallelism = {.tensor = 4, .context = 2, .data = 4, .pipeline = 2, .expert = 2};
  job.recording.tensor_operations = 2;
  const Layout layout(job);
  const Plan all = MakeTrainingPlan(job, layout);
  job.recording.steps_only_data = true;
  const Plan data = MakeTrainingPlan(job, layout);
  for (size_t s = 0; s < all.stages.size(); ++s) {
    ASSERT_EQ(all.stages[s].instructions.size(), data.stages[s].instructions.size());
    EXPECT_LT(data.stages[s].records, all.stages[s].records / 2);
    EXPECT_EQ(all.stages[s].operations_of_kind, data.stages[s].operations_of_kind);
    for (const Instruction& i : data.stages[s].instructions) {
      const bool inner =
          i.kind == InstructionKind::kCollective &&
          (i.group == GroupKind::kTensor || i.group == GroupKind::kContext || i.group == GroupKind::kExpert);
      if (inner) {
        EXPECT_EQ(i.record, -1);
      }
    }
  }
}

TEST(HangSiteTest, IsAPlaceWhereThisCanHappen) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    JobSpec job = SomeJob(random);
    job.gpus_per_host = 4;
    const Layout layout(job);
    const Plan plan = MakeTrainingPlan(job, layout);
    const auto rank = static_cast<int32_t>(random.Below(static_cast<uint64_t>(layout.ranks())));
    const StageProgram& program = plan.stages[static_cast<size_t>(layout.StageOf(rank))];
    int32_t before = -1;
    for (const double when : {0.0, 0.25, 0.5, 0.75, 0.999}) {
      for (const FaultInfo& info : FaultTable()) {
        if (!info.hang) continue;
        const int32_t site = HangSite(info.kind, rank, layout, program, when);
        ASSERT_GE(site, 0) << info.name;
        const Instruction& instruction = program.instructions.at(static_cast<size_t>(site));
        const bool collective =
            instruction.kind == InstructionKind::kCollective || instruction.kind == InstructionKind::kJoinCollective;
        const bool operation = collective || instruction.kind == InstructionKind::kTransfers;
        if (info.kind == FaultKind::kTransferStuck) {
          EXPECT_TRUE(operation);
        } else if (info.kind == FaultKind::kMismatch) {
          EXPECT_TRUE(collective && instruction.record >= 0);
        } else if (info.kind == FaultKind::kDeadlock) {
          EXPECT_TRUE(instruction.overlapped);
        } else {
          EXPECT_TRUE(operation || instruction.kind == InstructionKind::kCompute);
        }
      }
      const int32_t site = HangSite(FaultKind::kNotEntered, rank, layout, program, when);
      EXPECT_GE(site, before) << "later in the step, later in the program";
      before = site;
    }
  }
}

}  // namespace
}  // namespace lockstep
