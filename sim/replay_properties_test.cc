// What must hold of any replay: more work never takes less time, everything twice as long takes twice as long, and the
// bubbles of a pipeline are those of the literature (Narayanan et al., SC'21, section 2.2).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/record_rows.h"
#include "sim/replay.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

JobSpec QuietJob(const Parallelism& cut) {
  JobSpec job;
  job.parallelism = cut;
  job.gpus_per_host = 4;
  job.hosts_per_leaf = 2;
  job.workload.microbatches = 8;
  job.schedule.steps = 4;
  JobNoise& noise = job.noise;
  noise.gpu_binning = noise.compute_cv = noise.step_cv = noise.heavy_tail_share = noise.transfer_cv = 0;
  noise.hiccup_per_step = noise.input_cv = 0;
  noise.warmup_factor = 1;
  return job;
}

JobSpec AnyJob(Random& random) {
  const auto pick = [&random](std::vector<int32_t> choices) { return choices[random.Below(choices.size())]; };
  Parallelism cut;
  cut.tensor = pick({1, 2, 4});
  cut.context = pick({1, 2});
  cut.data = pick({2, 4});
  cut.pipeline = pick({1, 2, 4});
  cut.expert = pick({1, 2});
  cut.virtual_stages = cut.pipeline > 1 ? pick({1, 2}) : 1;
  JobSpec job = QuietJob(cut);
  job.workload.gradient_buckets = pick({1, 4});
  return job;
}

std::vector<int64_t> StepNanos(const JobSpec& job, const std::vector<FaultSpec>& faults = {}, uint64_t seed = 1) {
  const Layout layout(job);
  const ReplayResult replay = Replay(job, layout, seed, faults, nullptr);
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < replay.step_end_ns.size(); ++i) {
    lengths.push_back(replay.step_end_ns[i] - replay.step_begin_ns[i]);
  }
  return lengths;
}

int64_t TotalNanos(const JobSpec& job, const std::vector<FaultSpec>& faults = {}, uint64_t seed = 1) {
  const Layout layout(job);
  return Replay(job, layout, seed, faults, nullptr).step_end_ns.back();
}

TEST(ReplayPropertyTest, MoreToDoNeverTakesLessTime) {
  const std::pair<const char*, std::function<void(JobSpec&)>> changes[] = {
      {"compute", [](JobSpec& job) { job.workload.forward_seconds *= 1.3; }},
      {"microbatches", [](JobSpec& job) { job.workload.microbatches *= 2; }},
      {"optimizer", [](JobSpec& job) { job.workload.optimizer_seconds *= 3; }},
      {"input", [](JobSpec& job) { job.workload.input_seconds += 0.1; }},
      {"last stage", [](JobSpec& job) { job.workload.last_stage_factor = 1.5; }},
      {"gradients", [](JobSpec& job) { job.workload.gradient_bytes *= 8; }},
      {"activations", [](JobSpec& job) { job.workload.activation_bytes *= 8; }},
      {"tensors", [](JobSpec& job) { job.workload.tensor_bytes *= 8; }},
      {"NICs", [](JobSpec& job) { job.workload.nic_bytes_per_second /= 8; }},
      {"NVLink", [](JobSpec& job) { job.workload.nvlink_bytes_per_second /= 8; }},
      {"latency", [](JobSpec& job) { job.workload.latency_seconds += 0.001; }},
  };
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const JobSpec job = AnyJob(random);
    const int64_t usual = TotalNanos(job);
    for (const auto& [name, change] : changes) {
      JobSpec more = job;
      change(more);
      ASSERT_TRUE(Validate(more).ok()) << name;
      EXPECT_GE(TotalNanos(more), usual) << name << " seed " << seed;
    }
  }
}

TEST(ReplayPropertyTest, EverythingTwiceAsLongTakesTwiceAsLong) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const JobSpec job = AnyJob(random);
    JobSpec twice = job;
    for (double Workload::*seconds :
         {&Workload::forward_seconds, &Workload::optimizer_seconds, &Workload::input_seconds,
          &Workload::latency_seconds, &Workload::launch_seconds, &Workload::host_lead_seconds}) {
      twice.workload.*seconds *= 2;
    }
    twice.workload.nic_bytes_per_second /= 2;
    twice.workload.nvlink_bytes_per_second /= 2;
    EXPECT_NEAR(static_cast<double>(TotalNanos(twice)) / static_cast<double>(TotalNanos(job)), 2, 1e-4) << seed;
  }
}

TEST(ReplayPropertyTest, NoFaultThatIsToBlameMakesTheJobQuicker) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    JobSpec job = AnyJob(random);
    job.noise = JobNoise();  // as untidy as usual
    const int64_t usual = TotalNanos(job, {}, seed);
    for (const FaultInfo& info : FaultTable()) {
      if (info.hang || info.negative) continue;
      FaultSpec fault = RandomFault(info.kind, 1, job, random);
      if (info.target == TargetKind::kHostPair && fault.targets.empty()) continue;
      int64_t before = usual;
      for (const double severity : {0.2, 1.0, 4.0}) {
        fault.severity = severity;
        const int64_t with = TotalNanos(job, {fault}, seed);
        EXPECT_GE(with, before - usual / 1000) << info.name << " " << severity << " seed " << seed;
        before = with;
      }
    }
  }
}

TEST(ReplayPropertyTest, AStepIsNoShorterThanTheWorkOfAnyRank) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const JobSpec job = AnyJob(random);
    const double work = 3 * job.workload.forward_seconds * job.workload.microbatches + job.workload.optimizer_seconds;
    for (const int64_t step_ns : StepNanos(job)) EXPECT_GE(static_cast<double>(step_ns) * 1e-9, work) << seed;
  }
}

// (p - 1) / (v m + p - 1) of the pipelined part is idle when transfers cost nothing.
TEST(PipelineTest, BubblesAreThoseOfTheSchedule) {
  for (const auto& [stages, microbatches, chunks] : std::vector<std::tuple<int32_t, int32_t, int32_t>>{
           {2, 4, 1}, {4, 4, 1}, {4, 16, 1}, {8, 8, 1}, {4, 8, 2}, {4, 8, 4}}) {
    JobSpec job = QuietJob({.data = 1, .pipeline = stages, .virtual_stages = chunks});
    job.workload.microbatches = microbatches;
    job.workload.optimizer_seconds = job.workload.input_seconds = job.workload.latency_seconds = 0;
    job.workload.launch_seconds = job.workload.launch_share = 0;
    job.workload.nic_bytes_per_second = job.workload.nvlink_bytes_per_second = 1e15;
    ASSERT_TRUE(Validate(job).ok()) << Validate(job);
    const double block = 3 * job.workload.forward_seconds;  // forward and backward of one microbatch
    const double ideal = block * microbatches;
    const double expected = ideal + block * (stages - 1) / chunks;
    EXPECT_NEAR(static_cast<double>(StepNanos(job)[1]) * 1e-9, expected, 0.03 * expected)
        << stages << " stages, " << microbatches << " microbatches, " << chunks << " chunks";
  }
}

TEST(ScheduleTest, BreaksLieBetweenStepsAndLeaveTheStepsAsTheyWere) {
  const JobSpec plain = QuietJob({.tensor = 2, .data = 4, .pipeline = 2});
  JobSpec broken = plain;
  broken.schedule.checkpoint_every = 2;
  broken.schedule.checkpoint_seconds = 5;
  broken.schedule.evaluate_every = 2;
  broken.schedule.evaluate_batches = 3;
  const Layout layout(plain);
  const ReplayResult with = Replay(broken, layout, 1, {}, nullptr), without = Replay(plain, layout, 1, {}, nullptr);
  ASSERT_EQ(with.step_end_ns.size(), 4u);
  std::vector<double> breaks;
  for (size_t s = 0; s < 4; ++s) {
    const double length = static_cast<double>(with.step_end_ns[s] - with.step_begin_ns[s]);
    EXPECT_NEAR(length, static_cast<double>(without.step_end_ns[s] - without.step_begin_ns[s]), 0.02 * length) << s;
    if (s > 0) breaks.push_back(static_cast<double>(with.step_begin_ns[s] - with.step_end_ns[s - 1]) * 1e-9);
  }
  EXPECT_EQ(breaks[0], 0);
  EXPECT_GT(breaks[1], 5 * 0.95 + 3 * plain.workload.forward_seconds) << "three batches forward, and the checkpoint";
  EXPECT_LT(breaks[1], 5 * 1.05 + 20 * plain.workload.forward_seconds);
  EXPECT_EQ(breaks[2], 0);
}

TEST(RecordPropertyTest, WhetherAndFromWhenRecordsAreKeptChangesNoTime) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    JobSpec job = AnyJob(random);
    job.noise = JobNoise();
    const Layout layout(job);
    RecordTable all, late;
    const ReplayResult with = Replay(job, layout, seed, {}, &all);
    const ReplayResult without = Replay(job, layout, seed, {}, nullptr);
    EXPECT_EQ(with.step_end_ns, without.step_end_ns);
    job.recording.first_recorded_step = 2;
    EXPECT_EQ(Replay(job, layout, seed, {}, &late).step_end_ns, with.step_end_ns);
    EXPECT_EQ(2 * late.operations.size(), all.operations.size());
    for (int32_t rank = 0; rank < layout.ranks(); ++rank) {
      const size_t kept = late.first[rank + 1] - late.first[rank];
      for (size_t i = 0; i < kept; ++i) {
        const TraceOperation& a = late.operations[late.first[rank] + i];
        const TraceOperation& b = all.operations[all.first[rank + 1] - kept + i];
        ASSERT_EQ(a.start_ns, b.start_ns);
        ASSERT_EQ(a.sequence, b.sequence) << "numbers count what happened before, too";
      }
    }
  }
}

TEST(RecordPropertyTest, TheStepEndsWithItsLastOperationAndTheOptimizer) {
  const JobSpec job = QuietJob({.tensor = 2, .data = 4});
  const Layout layout(job);
  RecordTable table;
  const ReplayResult replay = Replay(job, layout, 1, {}, &table);
  int64_t last_ns = 0;
  for (const TraceOperation& op : table.operations) last_ns = std::max(last_ns, op.end_ns);
  EXPECT_NEAR(static_cast<double>(replay.step_end_ns.back() - last_ns) * 1e-9, job.workload.optimizer_seconds, 0.001);
}

TEST(RecordPropertyTest, TheHostRunsAheadByNoMoreThanItMay) {
  for (const double lead : {0.0, 0.005, 0.05}) {
    JobSpec job = QuietJob({.tensor = 4, .data = 4});
    job.workload.host_lead_seconds = lead;
    job.workload.launch_share = 0.1;
    const Layout layout(job);
    RecordTable table;
    Replay(job, layout, 1, {}, &table);
    double most = 0;
    for (const TraceOperation& op : table.operations) {
      if (op.kind != OperationKind::kAllReduce || op.peer >= 0) continue;
      most = std::max(most, static_cast<double>(op.start_ns - op.enqueue_ns) * 1e-9);
    }
    // A call is issued at most so long before the GPU gets to it; one block of compute may lie in between.
    EXPECT_LE(most, lead + 2.1 * job.workload.forward_seconds + job.workload.optimizer_seconds) << lead;
    if (lead > 0) {
      EXPECT_GT(most, lead / 2) << lead;
    }
  }
}

TEST(LayoutExampleTest, RanksAreNumberedAsMegatronDoes) {
  JobSpec job;
  job.parallelism = {.tensor = 2, .context = 2, .data = 2, .pipeline = 2, .expert = 2};
  job.gpus_per_host = 4;
  job.hosts_per_leaf = 2;
  const Layout layout(job);
  EXPECT_EQ(layout.ranks(), 16);
  EXPECT_EQ(layout.hosts(), 4);
  EXPECT_EQ(layout.leaves(), 2);
  EXPECT_THAT(layout.Members(GroupKind::kTensor, 0), ElementsAre(0, 1));
  EXPECT_THAT(layout.Members(GroupKind::kTensor, 7), ElementsAre(14, 15));
  EXPECT_THAT(layout.Members(GroupKind::kContext, 0), ElementsAre(0, 2));
  EXPECT_THAT(layout.Members(GroupKind::kContext, 1), ElementsAre(1, 3));
  EXPECT_THAT(layout.Members(GroupKind::kData, 0), ElementsAre(0, 2, 4, 6)) << "data and context together";
  EXPECT_THAT(layout.Members(GroupKind::kData, 1), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(layout.Members(GroupKind::kData, 2), ElementsAre(8, 10, 12, 14));
  EXPECT_THAT(layout.Members(GroupKind::kExpert, 0), ElementsAre(0, 4));
  EXPECT_THAT(layout.Members(GroupKind::kPipeline, 3), ElementsAre(3, 11));
  EXPECT_THAT(layout.Members(GroupKind::kEmbedding, 5), ElementsAre(5, 13));
  EXPECT_EQ(layout.Members(GroupKind::kWorld, 0).size(), 16u);
  EXPECT_EQ(layout.HostName(3), "node-00003");
  EXPECT_EQ(layout.HostOf(13), 3);
  EXPECT_EQ(layout.GpuOf(13), 1);
  EXPECT_EQ(layout.LeafOf(13), 1);
  EXPECT_EQ(layout.StageOf(13), 1);
  EXPECT_EQ(layout.InStage(13, 0), 5);
  EXPECT_EQ(layout.DataIndexOf(13), 1);
  std::set<std::string> names;
  for (int kind = 0; kind < kGroupKinds; ++kind) names.insert(ShortName(static_cast<GroupKind>(kind)));
  EXPECT_THAT(names, ElementsAre("cp", "dp", "emb", "ep", "pp", "tp", "world"));
}

TEST(LayoutExampleTest, KindsOfOneMemberTakeNoCommunicator) {
  JobSpec job;
  job.parallelism = {.data = 16};
  const Layout layout(job);
  for (const GroupKind unused :
       {GroupKind::kTensor, GroupKind::kContext, GroupKind::kExpert, GroupKind::kEmbedding, GroupKind::kPipeline}) {
    EXPECT_FALSE(layout.Uses(unused)) << ShortName(unused);
  }
  EXPECT_EQ(layout.communicators(), 2) << "the data group and the world";
  EXPECT_EQ(layout.hosts(), 2);
}

}  // namespace
}  // namespace lockstep
