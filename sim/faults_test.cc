// Faults as they are listed, typed, checked and drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "detector/verdict/verdict.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/fault_text.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/targets.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 64 ranks on 8 hosts under 4 leaves.
JobSpec SomeJob() {
  JobSpec job = TypicalJob(64, 4);
  job.hosts_per_leaf = 2;
  job.schedule.steps = 20;
  return job;
}

TEST(FaultTableTest, RowsStandAtTheirKindAndAreFoundByName) {
  ASSERT_EQ(FaultTable().size(), static_cast<size_t>(kFaultKinds));
  std::set<std::string> names;
  std::set<int32_t> rows;
  for (int kind = 0; kind < kFaultKinds; ++kind) {
    const FaultInfo& info = InfoOf(static_cast<FaultKind>(kind));
    EXPECT_EQ(static_cast<int>(info.kind), kind);
    EXPECT_EQ(FindFault(info.name), &info);
    EXPECT_TRUE(names.insert(std::string(info.name)).second) << info.name;
    EXPECT_GT(info.typical_severity, 0) << info.name;
    rows.insert(info.table_row);
  }
  EXPECT_EQ(rows.size(), 24u) << "every row of the table of classes has a fault";
  EXPECT_EQ(*rows.begin(), 1);
  EXPECT_EQ(*rows.rbegin(), 24);
  for (const char* unknown : {"", "compute", "Compute_slow", "compute_slow "}) EXPECT_EQ(FindFault(unknown), nullptr);
}

TEST(FaultTableTest, WhatBlamesNobodyIsNoHangAndBlamesNoMachine) {
  for (const FaultInfo& info : FaultTable()) {
    const bool blames = info.scope == VerdictScope::kMachine || info.scope == VerdictScope::kNetwork;
    if (info.negative) {
      EXPECT_FALSE(info.hang) << info.name;
      EXPECT_FALSE(blames) << info.name;
    }
    if (info.target == TargetKind::kJob) {
      EXPECT_TRUE(info.negative) << info.name << " has no target to blame";
    }
  }
}

TEST(FaultCheckTest, SaysWhatIsWrong) {
  const JobSpec job = SomeJob();
  const struct {
    FaultSpec fault;
    const char* message;  // nullptr = valid
  } cases[] = {
      {{.kind = FaultKind::kComputeSlow, .targets = {0}}, nullptr},
      {{.kind = FaultKind::kComputeSlow, .targets = {63, 0, 63}}, nullptr},
      {{.kind = FaultKind::kComputeSlow, .targets = {64}}, "compute_slow: target 64 is not in [0, 64)"},
      {{.kind = FaultKind::kComputeSlow, .targets = {-1}}, "compute_slow: target -1 is not in [0, 64)"},
      {{.kind = FaultKind::kHostSlow, .targets = {7}}, nullptr},
      {{.kind = FaultKind::kHostSlow, .targets = {8}}, "host_slow: target 8 is not in [0, 8)"},
      {{.kind = FaultKind::kSwitchCongested, .targets = {3}}, nullptr},
      {{.kind = FaultKind::kSwitchCongested, .targets = {4}}, "switch_congested: target 4 is not in [0, 4)"},
      {{.kind = FaultKind::kNicSendSlow, .targets = {63}}, nullptr},
      {{.kind = FaultKind::kLinkSlow, .targets = {0, 1, 2, 3}}, nullptr},
      {{.kind = FaultKind::kLinkSlow, .targets = {0, 1, 2}}, "link_slow: needs pairs of hosts"},
      {{.kind = FaultKind::kLinkSlow, .targets = {0, 8}}, "link_slow: target 8 is not in [0, 8)"},
      {{.kind = FaultKind::kPause, .targets = {0}}, "pause: concerns the whole job: no target"},
      {{.kind = FaultKind::kPause, .onset_step = 19}, nullptr},
      {{.kind = FaultKind::kPause, .onset_step = 20}, "pause: the onset is not a step of the job"},
      {{.kind = FaultKind::kPause, .onset_step = -1}, "pause: the onset is not a step of the job"},
      {{.kind = FaultKind::kDrift, .ramp_steps = -1}, "drift: negative ramp, duration or severity"},
      {{.kind = FaultKind::kDrift, .duration_steps = -1}, "drift: negative ramp, duration or severity"},
      {{.kind = FaultKind::kDrift, .severity = -0.1}, "drift: negative ramp, duration or severity"},
      {{.kind = FaultKind::kStorageStall}, nullptr},
  };
  for (const auto& [fault, message] : cases) {
    if (message == nullptr) {
      EXPECT_OK(Validate(fault, job));
    } else {
      EXPECT_THAT(Validate(fault, job), StatusIs(absl::StatusCode::kInvalidArgument, message));
    }
  }
  JobSpec one_host = TypicalJob(8, 2);
  EXPECT_THAT(Validate({.kind = FaultKind::kLinkSlow, .targets = {0, 0}}, one_host),
              StatusIs(absl::StatusCode::kInvalidArgument, "link_slow: needs pairs of hosts"));
}

TEST(FaultDrawTest, WhatIsDrawnIsValidAndOfAsManyTargets) {
  Random random(1);
  for (const int32_t gpus : {8, 16, 64, 512}) {
    for (int32_t dimensions = 1; dimensions <= 5; ++dimensions) {
      JobSpec job = TypicalJob(gpus, dimensions);
      job.recording.first_recorded_step = 3;
      const Layout layout(job);
      for (const FaultInfo& info : FaultTable()) {
        for (const int32_t wanted : {1, 2, 5, 1000}) {
          const FaultSpec fault = RandomFault(info.kind, wanted, job, random);
          if (info.target == TargetKind::kHostPair && layout.hosts() < 2) continue;
          ASSERT_OK(Validate(fault, job));
          EXPECT_GE(fault.onset_step, 4) << "after the first recorded step, which warms up";
          EXPECT_LT(fault.onset_step, 4 + (job.schedule.steps - 4) / 2);
          if (info.target == TargetKind::kHostPair) continue;
          const int32_t there = TargetCount(info.target, layout);
          EXPECT_EQ(fault.targets.size(), static_cast<size_t>(std::min(wanted, there))) << info.name;
          EXPECT_EQ(std::set<int32_t>(fault.targets.begin(), fault.targets.end()).size(), fault.targets.size());
        }
      }
    }
  }
}

TEST(FaultDrawTest, AJobOfFewStepsStillHasAnOnset) {
  Random random(2);
  for (const int32_t steps : {1, 2, 3}) {
    JobSpec job = TypicalJob(16, 2);
    job.schedule.steps = steps;
    for (int i = 0; i < 20; ++i) EXPECT_OK(Validate(RandomFault(FaultKind::kComputeSlow, 1, job, random), job));
  }
}

TEST(TargetDrawTest, EveryTargetHasTheSameChance) {
  const Layout layout(SomeJob());
  for (const TargetKind kind : {TargetKind::kRank, TargetKind::kNic, TargetKind::kHost, TargetKind::kLeaf}) {
    Random random(3);
    const int32_t there = TargetCount(kind, layout);
    std::map<int32_t, int> drawn;
    const int rounds = 400 * there;
    for (int i = 0; i < rounds; ++i) ++drawn[RandomTargets(kind, 1, layout, random).at(0)];
    EXPECT_EQ(drawn.size(), static_cast<size_t>(there));
    for (const auto& [target, count] : drawn) {
      EXPECT_NEAR(count, 400, 100) << target;  // five standard deviations
    }
  }
  EXPECT_EQ(TargetCount(TargetKind::kJob, layout), 0);
  Random random(4);
  EXPECT_THAT(RandomTargets(TargetKind::kJob, 3, layout, random), IsEmpty());
}

TEST(TargetDrawTest, PairsAreHostsBetweenWhichTheJobSends) {
  for (const int32_t dimensions : {1, 2, 3, 4, 5}) {
    const JobSpec job = TypicalJob(256, dimensions);
    const Layout layout(job);
    std::set<std::pair<int32_t, int32_t>> neighbours;
    for (const GroupKind kind : {GroupKind::kPipeline, GroupKind::kData}) {
      for (int32_t rank = 0; rank < layout.ranks(); ++rank) {
        const int32_t next = (layout.IndexInGroup(kind, rank) + 1) % layout.GroupSize(kind);
        neighbours.emplace(layout.HostOf(rank), layout.HostOf(layout.Member(kind, layout.GroupOf(kind, rank), next)));
      }
    }
    Random random(5);
    for (int i = 0; i < 200; ++i) {
      const std::vector<int32_t> pair = RandomTargets(TargetKind::kHostPair, 1, layout, random);
      ASSERT_EQ(pair.size(), 2u);
      EXPECT_NE(pair[0], pair[1]);
      EXPECT_EQ(neighbours.count({pair[0], pair[1]}), 1u) << pair[0] << " " << pair[1];
    }
  }
}

TEST(TargetDrawTest, AJobOnOneHostHasNoPairs) {
  Random random(6);
  EXPECT_THAT(RandomTargets(TargetKind::kHostPair, 2, Layout(TypicalJob(8, 2)), random), IsEmpty());
}

TEST(FaultGrammarTest, PartsMayStandInAnyOrder) {
  const JobSpec job = SomeJob();
  for (const char* text : {"compute_slow:5+6@8*0.3~2/4", "compute_slow/4~2*0.3@8:5+6", " compute_slow~2:5+6/4@8*0.3",
                           "compute_slow:5:6@8*0.3~2/4"}) {
    const auto faults = ParseFaults(text, job, 1);
    if (text[0] == ' ') {  // a name with a space is none
      EXPECT_FALSE(faults.ok());
      continue;
    }
    ASSERT_OK(faults);
    ASSERT_EQ(faults->size(), 1u) << text;
    EXPECT_THAT((*faults)[0].targets, ElementsAre(5, 6)) << text;
    EXPECT_EQ((*faults)[0].onset_step, 8) << text;
    EXPECT_EQ((*faults)[0].severity, 0.3) << text;
    EXPECT_EQ((*faults)[0].ramp_steps, 2) << text;
    EXPECT_EQ((*faults)[0].duration_steps, 4) << text;
  }
}

TEST(FaultGrammarTest, WhatIsLeftOutIsDrawnFromTheSeedAlone) {
  const JobSpec job = SomeJob();
  std::set<std::vector<int32_t>> targets;
  std::set<int32_t> onsets;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto faults = ParseFaults("compute_slow#2,link_slow", job, seed);
    ASSERT_OK(faults);
    const auto again = ParseFaults("compute_slow#2,link_slow", job, seed);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ((*faults)[i].targets, (*again)[i].targets);
      EXPECT_EQ((*faults)[i].onset_step, (*again)[i].onset_step);
      EXPECT_EQ((*faults)[i].targets.size(), 2u);
      EXPECT_EQ((*faults)[i].severity, 0) << "typical";
    }
    targets.insert((*faults)[0].targets);
    onsets.insert((*faults)[0].onset_step);
  }
  EXPECT_GT(targets.size(), 40u);
  EXPECT_GT(onsets.size(), 4u);
}

TEST(FaultGrammarTest, AStallOfTheInputHitsAllUnlessSomebodyIsNamedOrCounted) {
  const JobSpec job = SomeJob();
  EXPECT_THAT(ParseFaults("storage_stall", job, 1)->at(0).targets, IsEmpty());
  EXPECT_THAT(ParseFaults("storage_stall:3", job, 1)->at(0).targets, ElementsAre(3));
  EXPECT_EQ(ParseFaults("storage_stall#3", job, 1)->at(0).targets.size(), 3u);
}

TEST(FaultGrammarTest, TheNameOfEveryFaultIsEnough) {
  const JobSpec job = SomeJob();
  std::string all;
  for (const FaultInfo& info : FaultTable()) {
    const auto faults = ParseFaults(info.name, job, 7);
    ASSERT_OK(faults);
    EXPECT_EQ(faults->at(0).kind, info.kind);
    absl::StrAppend(&all, all.empty() ? "" : ",", info.name);
  }
  EXPECT_EQ(ParseFaults(all, job, 7)->size(), static_cast<size_t>(kFaultKinds));
  EXPECT_EQ(ParseFaults(absl::StrCat(",", all, ", ,"), job, 7)->size(), static_cast<size_t>(kFaultKinds));
}

TEST(FaultGrammarTest, ErrorsNameThePart) {
  const JobSpec job = SomeJob();
  const std::pair<std::string, const char*> cases[] = {
      {"nonsense:3", "no fault is called 'nonsense': lockstep sim --list-faults lists them"},
      {":3", "no fault is called ''"},
      {"pause,nonsense", "no fault is called 'nonsense'"},
      {"compute_slow:x", "cannot read ':x' in fault 'compute_slow:x'"},
      {"compute_slow:1+", "cannot read ':1+' in fault"},
      {"compute_slow*much@3", "cannot read '*much' in fault 'compute_slow*much@3'"},
      {"compute_slow@-3", "cannot read '@-3'"},
      {"compute_slow~", "cannot read '~'"},
      {"compute_slow/1.5", "cannot read '/1.5'"},
      {"compute_slow#20001", "cannot read '#20001'"},
      {"compute_slow@20", "compute_slow: the onset is not a step of the job"},
      {"host_slow:8", "host_slow: target 8 is not in [0, 8)"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ParseFaults(text, job, 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message))) << text;
  }
  std::string many;
  for (size_t i = 0; i <= kMaxFaults; ++i) many += "pause,";
  EXPECT_THAT(ParseFaults(many, job, 1), StatusIs(absl::StatusCode::kInvalidArgument, "more than 64 faults"));
}

TEST(JobCheckTest, EveryFieldHasItsLimits) {
  const struct {
    const char* name;
    std::function<void(JobSpec&)> change;
  } cases[] = {
      {"tensor", [](JobSpec& job) { job.parallelism.tensor = 0; }},
      {"tensor", [](JobSpec& job) { job.parallelism.tensor = 65; }},
      {"data", [](JobSpec& job) { job.parallelism.data = -1; }},
      {"gpus", [](JobSpec& job) { job.parallelism = {}; }},
      {"gpus", [](JobSpec& job) { job.parallelism.data = kMaxSimulatedGpus; }},
      {"virtual_stages", [](JobSpec& job) { job.parallelism.virtual_stages = 9; }},
      {"gpus_per_host", [](JobSpec& job) { job.gpus_per_host = 0; }},
      {"hosts_per_leaf", [](JobSpec& job) { job.hosts_per_leaf = 4097; }},
      {"microbatches", [](JobSpec& job) { job.workload.microbatches = 1025; }},
      {"gradient_buckets", [](JobSpec& job) { job.workload.gradient_buckets = 0; }},
      {"steps", [](JobSpec& job) { job.schedule.steps = kMaxSimulatedSteps + 1; }},
      {"first_recorded_step", [](JobSpec& job) { job.recording.first_recorded_step = job.schedule.steps; }},
      {"silent_ranks", [](JobSpec& job) { job.recording.silent_ranks = 65; }},
      {"counter_interval_ms", [](JobSpec& job) { job.recording.counter_interval_ms = 9; }},
      {"forward_seconds", [](JobSpec& job) { job.workload.forward_seconds = 0; }},
      {"forward_seconds",
       [](JobSpec& job) { job.workload.forward_seconds = std::numeric_limits<double>::quiet_NaN(); }},
      {"nic_bytes_per_second", [](JobSpec& job) { job.workload.nic_bytes_per_second = 0; }},
      {"gpu_binning", [](JobSpec& job) { job.noise.gpu_binning = 0.21; }},
      {"hiccup_per_step", [](JobSpec& job) { job.noise.hiccup_per_step = 1.1; }},
      {"warmup_factor", [](JobSpec& job) { job.noise.warmup_factor = 0.5; }},
      {"lost_share", [](JobSpec& job) { job.recording.lost_share = -0.1; }},
      {"clock_drift", [](JobSpec& job) { job.recording.clock_drift = 0.02; }},
      {"checkpoint_seconds", [](JobSpec& job) { job.schedule.checkpoint_seconds = 3601; }},
  };
  ASSERT_OK(Validate(SomeJob()));
  for (const auto& [name, change] : cases) {
    JobSpec job = SomeJob();
    change(job);
    EXPECT_THAT(Validate(job), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(absl::StrCat(name, " = "))))
        << name;
  }
}

TEST(JobCheckTest, TheCutHasToFit) {
  JobSpec job = SomeJob();
  job.parallelism.expert = 3;
  EXPECT_THAT(Validate(job), StatusIs(absl::StatusCode::kInvalidArgument, "expert must divide data"));
  job = SomeJob();
  job.parallelism.virtual_stages = 2;
  job.workload.microbatches = job.parallelism.pipeline + 1;
  EXPECT_THAT(Validate(job), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("microbatches a multiple of")));
  job = TypicalJob(64, 2);
  job.parallelism.virtual_stages = 2;
  EXPECT_THAT(Validate(job), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs pipeline > 1")));
  job = SomeJob();
  job.gpus_per_host = 3;
  EXPECT_THAT(Validate(job), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("divide one another")));
}

TEST(JobCheckTest, TypicalJobsUseTheDimensionsThatWereAskedFor) {
  for (const int32_t gpus : {256, 512, 2048, 16384}) {
    for (int32_t dimensions = 1; dimensions <= 6; ++dimensions) {
      const Parallelism cut = TypicalJob(gpus, dimensions).parallelism;
      EXPECT_EQ(cut.tensor > 1, dimensions >= 2) << gpus << " " << dimensions;
      EXPECT_EQ(cut.pipeline > 1, dimensions >= 3) << gpus << " " << dimensions;
      EXPECT_EQ(cut.expert > 1, dimensions >= 4) << gpus << " " << dimensions;
      EXPECT_EQ(cut.context > 1, dimensions >= 5) << gpus << " " << dimensions;
      EXPECT_EQ(cut.sequence_parallel, dimensions >= 6) << gpus << " " << dimensions;
      EXPECT_GE(cut.data, 2) << gpus << " " << dimensions;
      EXPECT_LE(cut.tensor, 8) << "a tensor group stays inside a host";
    }
  }
}

}  // namespace
}  // namespace lockstep
