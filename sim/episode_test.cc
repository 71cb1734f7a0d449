#include "sim/episode.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/model/metric_table.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"
#include "sim/fault_choice.h"
#include "sim/fault_text.h"
#include "sim/layout.h"
#include "sim/replay.h"
#include "sim/truth_json.h"

namespace lockstep {
namespace {

JobSpec SmallJob() {
  JobSpec job = TypicalJob(64, 4);
  job.schedule.steps = 10;
  job.workload.microbatches = 4;
  return job;
}

FaultSpec FaultAt(FaultKind kind, std::vector<int32_t> targets, int32_t onset, double severity = 0) {
  return {.kind = kind, .targets = std::move(targets), .onset_step = onset, .severity = severity};
}

bool SameOperation(const TraceOperation& a, const TraceOperation& b) {
  return a.enqueue_ns == b.enqueue_ns && a.start_ns == b.start_ns && a.end_ns == b.end_ns && a.sequence == b.sequence &&
         a.bytes == b.bytes && a.communicator == b.communicator && a.peer == b.peer && a.kind == b.kind;
}

bool SameTrace(const Trace& a, const Trace& b) {
  return a.first_operation == b.first_operation &&
         std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(), SameOperation);
}

// The shape that trace.h promises.
void ExpectWellFormed(const Trace& trace) {
  ASSERT_EQ(trace.first_operation.size(), trace.ranks.size() + 1);
  ASSERT_EQ(trace.first_operation.back(), trace.operations.size());
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    int64_t last_ns = std::numeric_limits<int64_t>::min();
    for (const TraceOperation& op : trace.OperationsOf(r)) {
      ASSERT_GE(op.enqueue_ns, last_ns);
      last_ns = op.enqueue_ns;
      if (op.started()) {
        ASSERT_GE(op.start_ns, op.enqueue_ns);
      } else {
        ASSERT_FALSE(op.finished());
      }
      if (op.finished()) {
        ASSERT_GE(op.end_ns, op.start_ns);
      }
      const std::vector<int32_t>& members = trace.communicators[op.communicator].members;
      ASSERT_NE(std::find(members.begin(), members.end(), static_cast<int32_t>(r)), members.end());
    }
  }
}

TEST(EpisodeTest, SameSeedSameBytesOtherSeedOthers) {
  const JobSpec job = SmallJob();
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kComputeSlow, {}, 4)};
  const Episode first = Simulate(job, faults, 11);
  const Episode second = Simulate(job, faults, 11);
  const Episode other = Simulate(job, faults, 12);
  EXPECT_TRUE(SameTrace(first.evidence.trace, second.evidence.trace));
  EXPECT_EQ(TruthJson(job, 11, first.truth), TruthJson(job, 11, second.truth));
  EXPECT_FALSE(SameTrace(first.evidence.trace, other.evidence.trace));
}

TEST(EpisodeTest, BeforeItsOnsetAFaultChangesNothing) {
  const JobSpec job = SmallJob();
  const Episode healthy = Simulate(job, {}, 5);
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kNicSendSlow, {9}, 6)};
  const Episode faulty = Simulate(job, faults, 5);
  const std::vector<int64_t>& with = faulty.truth.step_ns;
  const std::vector<int64_t>& without = healthy.truth.step_ns;
  EXPECT_EQ(faulty.truth.healthy_step_ns, without);
  EXPECT_TRUE(std::equal(with.begin(), with.begin() + 6, without.begin()));
  for (size_t step = 6; step < with.size(); ++step) EXPECT_GE(with[step], without[step]);
}

TEST(EpisodeTest, CostIsTheDifferenceOfTwoRuns) {
  const JobSpec job = SmallJob();
  const Layout layout(job);
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kComputeSlow, {3}, 4, 0.5)};
  const Episode episode = Simulate(job, faults, 21);
  const ReplayResult with = Replay(job, layout, 21, faults, nullptr);
  const ReplayResult without = Replay(job, layout, 21, {}, nullptr);
  const auto span = [](const ReplayResult& run) { return run.step_end_ns.back() - run.step_begin_ns[4]; };
  const Cost& cost = episode.truth.causes[0].cost;
  EXPECT_NEAR(cost.seconds_per_step, static_cast<double>(span(with) - span(without)) * 1e-9 / 6, 1e-9);
  EXPECT_GT(cost.slowdown_fraction, 0.05);
  EXPECT_EQ(cost.steps_affected_fraction, 1.0);
  EXPECT_EQ(cost, episode.truth.causes[0].marginal_cost);
}

TEST(EpisodeTest, OneOfTwoEqualFaultsHidesBehindTheOther) {
  const JobSpec job = SmallJob();
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kComputeSlow, {0}, 4, 0.5),
                                         FaultAt(FaultKind::kComputeSlow, {8}, 4, 0.5)};
  const Truth truth = Simulate(job, faults, 3).truth;
  for (const TrueCause& cause : truth.causes) {
    EXPECT_GT(cause.cost.slowdown_fraction, 0.05);
    EXPECT_LT(cause.marginal_cost.slowdown_fraction, cause.cost.slowdown_fraction / 2);
  }
  EXPECT_EQ(truth.state, JobState::kSlow);
}

class EveryFaultTest : public ::testing::TestWithParam<int> {};

TEST_P(EveryFaultTest, TakesEffectAndIsDescribed) {
  const FaultInfo& info = FaultTable()[GetParam()];
  JobSpec job = SmallJob();
  job.parallelism.pipeline = 2;
  job.parallelism.tensor = 4;
  job.parallelism.data = 8;
  job.parallelism.expert = 4;
  Random random(GetParam());
  FaultSpec fault = RandomFault(info.kind, 1, job, random);
  fault.onset_step = 4;
  const Episode episode = Simulate(job, {&fault, 1}, 77);
  const Truth& truth = episode.truth;
  ExpectWellFormed(episode.evidence.trace);
  ASSERT_EQ(truth.causes.size(), 1u);
  EXPECT_EQ(truth.causes[0].culprits.empty(), info.negative);
  EXPECT_EQ(truth.is_negative, info.negative);
  EXPECT_EQ(truth.state == JobState::kHung, info.hang);
  if (info.hang) {
    EXPECT_EQ(truth.step_ns.size(), 4u);
    EXPECT_GT(truth.hang_ns, 0);
  } else if (info.kind != FaultKind::kSilentCorruption) {
    EXPECT_NE(truth.step_ns, truth.healthy_step_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFaultTest, ::testing::Range(0, kFaultKinds),
                         [](const auto& param) { return std::string(FaultTable()[param.param].name); });

// Operations of the trace that began or waited and never ended, by rank.
std::map<int32_t, std::vector<TraceOperation>> Unfinished(const Trace& trace) {
  std::map<int32_t, std::vector<TraceOperation>> open;
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    for (const TraceOperation& op : trace.OperationsOf(r)) {
      if (!op.finished()) open[trace.ranks[r].rank].push_back(op);
    }
  }
  return open;
}

TEST(HangTest, TheRankThatDoesNotEnterIsTheOneThatWaitsForNobody) {
  const JobSpec job = SmallJob();
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kNotEntered, {13}, 5)};
  const Episode episode = Simulate(job, faults, 2);
  const auto open = Unfinished(episode.evidence.trace);
  const auto own = open.find(13);
  if (own != open.end()) {
    // What it issued before it stopped may wait for nothing but its own later work.
    for (const TraceOperation& op : own->second) EXPECT_TRUE(op.started());
  }
  EXPECT_GE(open.size(), static_cast<size_t>(job.parallelism.gpus() - 1));
  EXPECT_EQ(episode.truth.causes[0].culprits[0].rank, 13);
}

TEST(HangTest, AStuckGpuLeavesItsHostIssuing) {
  const JobSpec job = SmallJob();
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kGpuStuck, {13}, 5)};
  const auto open = Unfinished(Simulate(job, faults, 2).evidence.trace);
  const std::vector<TraceOperation>& own = open.at(13);
  EXPECT_TRUE(std::any_of(own.begin(), own.end(), [](const TraceOperation& op) { return !op.started(); }));
}

TEST(HangTest, AMismatchedRankEntersSomethingElse) {
  const JobSpec job = SmallJob();
  for (const int32_t rank : {12, 13}) {
    const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kMismatch, {rank}, 5)};
    const Trace trace = Simulate(job, faults, 2).evidence.trace;
    const auto open = Unfinished(trace);
    const auto begun = [](const TraceOperation& op) { return op.started(); };
    const TraceOperation own = *std::find_if(open.at(rank).begin(), open.at(rank).end(), begun);
    int32_t peers = 0;
    for (const auto& [other, operations] : open) {
      for (const TraceOperation& op : operations) {
        if (other == rank || op.communicator != own.communicator || op.sequence != own.sequence) continue;
        ++peers;
        EXPECT_TRUE(op.kind != own.kind || op.bytes != own.bytes);
      }
    }
    EXPECT_GT(peers, 0);
  }
}

TEST(HangTest, ADeadlockedRankIssuesInAnotherOrder) {
  const JobSpec job = SmallJob();
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kDeadlock, {13}, 5)};
  const Episode episode = Simulate(job, faults, 2);
  const auto open = Unfinished(episode.evidence.trace);
  // The last two that it issued: the world's, begun, and behind it the data group's that all others are in.
  const std::vector<TraceOperation>& own = open.at(13);
  ASSERT_GE(own.size(), 2u);
  const TraceOperation& world = own[own.size() - 2];
  const TraceOperation& data = own.back();
  EXPECT_TRUE(world.started());
  EXPECT_FALSE(data.started());
  EXPECT_EQ(episode.evidence.trace.communicators[world.communicator].members.size(), 64u);
  for (const auto& [rank, operations] : open) {
    if (rank == 13) continue;
    for (const TraceOperation& op : operations) {
      if (op.communicator == data.communicator && op.sequence == data.sequence) {
        EXPECT_TRUE(op.started());
      }
    }
  }
}

TEST(HangTest, OfTwoTargetsBothAreNamedOnlyIfBothGotStuck) {
  const JobSpec job = SmallJob();
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kNotEntered, {1, 42}, 5)};
  const Truth truth = Simulate(job, faults, 2).truth;
  EXPECT_GE(truth.causes[0].culprits.size(), 1u);
  const std::vector<FaultSpec> later = {FaultAt(FaultKind::kNotEntered, {1}, 5),
                                        FaultAt(FaultKind::kGpuStuck, {42}, 7)};
  const Truth first_only = Simulate(job, later, 2).truth;
  EXPECT_EQ(first_only.causes[0].culprits.size(), 1u);
  EXPECT_TRUE(first_only.causes[1].culprits.empty());
}

TEST(RecordingTest, LossGapsSilenceAndClocksAreAsAsked) {
  JobSpec job = SmallJob();
  const size_t all = Simulate(job, {}, 1).evidence.trace.operations.size();
  job.recording.lost_share = 0.02;
  job.recording.silent_ranks = 3;
  const Trace lossy = Simulate(job, {}, 1).evidence.trace;
  ExpectWellFormed(lossy);
  EXPECT_EQ(lossy.missing_ranks.size(), 3u);
  EXPECT_EQ(lossy.ranks.size(), 61u);
  EXPECT_NEAR(static_cast<double>(lossy.lost_records) / static_cast<double>(all), 0.02, 0.005);
  job.recording.gap_share = 0.1;
  EXPECT_GT(Simulate(job, {}, 1).evidence.trace.lost_records, 2 * lossy.lost_records);
}

TEST(RecordingTest, FirstRecordedStepKeepsTheEarlierOnesOut) {
  JobSpec job = SmallJob();
  const size_t all = Simulate(job, {}, 1).evidence.trace.operations.size();
  job.recording.first_recorded_step = 5;
  EXPECT_EQ(Simulate(job, {}, 1).evidence.trace.operations.size(), all / 2);
}

TEST(RecordingTest, CountersRunAlongWithTheJob) {
  JobSpec job = SmallJob();
  job.recording.counters = true;
  job.recording.counter_interval_ms = 200;
  const std::vector<FaultSpec> faults = {FaultAt(FaultKind::kClockThrottled, {19}, 5)};
  const Episode with = Simulate(job, faults, 4);
  const Episode without = Simulate(job, {}, 4);
  EXPECT_TRUE(Simulate(SmallJob(), {}, 4).evidence.metrics.series.empty());
  ASSERT_EQ(with.evidence.metrics.hosts, with.evidence.trace.hosts);
  ASSERT_EQ(with.evidence.metrics.series.size(), without.evidence.metrics.series.size());
  double before_and_after[2] = {0, 0};
  for (const MetricSeries& series : with.evidence.metrics.series) {
    if (series.host != 2 || series.device != "gpu3" || series.metric != Metric::kGpuSmClockHertz) continue;
    for (size_t i = 0; i < series.value.size(); ++i) {
      const bool after = series.time_ms[i] * 1'000'000 > with.truth.causes[0].onset_ns + 100'000'000;
      double& most = before_and_after[after ? 1 : 0];
      if (!std::isnan(series.value[i])) most = std::max(most, series.value[i]);
    }
  }
  EXPECT_GT(before_and_after[1], 0);
  EXPECT_LT(before_and_after[1], 0.9 * before_and_after[0]);
}

// Healthy machines do the same work in a longer step, and wait for the rest of it.
TEST(RecordingTest, CountersOfTheOthersShowThatTheyWait) {
  JobSpec job = SmallJob();
  job.schedule.steps = 40;
  job.recording.counters = true;
  job.recording.counter_interval_ms = 200;
  const Episode episode = Simulate(job, std::vector<FaultSpec>{FaultAt(FaultKind::kComputeSlow, {19}, 20)}, 4);
  double sum[2] = {0, 0};
  double count[2] = {0, 0};
  for (const MetricSeries& series : episode.evidence.metrics.series) {
    if (series.host == 2 || series.metric != Metric::kGpuTensorActiveRatio) continue;
    for (size_t i = 0; i < series.value.size(); ++i) {
      const double value = series.value[i];
      if (!(value >= 0 && value <= 1)) continue;
      const int64_t time_ns = series.time_ms[i] * 1'000'000;
      if (time_ns < episode.truth.causes[0].onset_ns / 2) continue;  // the job starts up
      const size_t after = time_ns > episode.truth.causes[0].onset_ns ? 1 : 0;
      sum[after] += value;
      ++count[after];
    }
  }
  ASSERT_GT(count[0], 100);
  ASSERT_GT(count[1], 100);
  const double before = sum[0] / count[0];
  EXPECT_LT(sum[1] / count[1], 0.97 * before);
  EXPECT_GT(sum[1] / count[1], 0.7 * before);
}

TEST(SizeTest, ALargeJobFitsItsGroups) {
  JobSpec job = TypicalJob(2048, 5);
  ASSERT_TRUE(Validate(job).ok());
  job.schedule.steps = 2;
  job.workload.microbatches = 2;
  const Trace trace = Simulate(job, {}, 1).evidence.trace;
  EXPECT_EQ(trace.ranks.size(), 2048u);
  EXPECT_EQ(trace.hosts.size(), 256u);
}

TEST(TypicalJobTest, EverySizeAndDimensionIsValid) {
  for (const int32_t gpus : {8, 16, 64, 72, 352, 1000, 2048, 3072, 8192, 16384, 80000, 131072}) {
    for (int32_t dimensions = 1; dimensions <= 6; ++dimensions) {
      const JobSpec job = TypicalJob(gpus, dimensions);
      EXPECT_TRUE(Validate(job).ok()) << gpus << " " << dimensions << " " << Validate(job);
      EXPECT_EQ(job.parallelism.gpus(), gpus);
    }
  }
}

TEST(FaultTextTest, SaysAllThatASpecHolds) {
  const JobSpec job = SmallJob();
  const auto faults = ParseFaults("compute_slow:5+6@8*0.3~2/1,host_slow#3,pause", job, 1);
  ASSERT_TRUE(faults.ok()) << faults.status();
  ASSERT_EQ(faults->size(), 3u);
  EXPECT_EQ((*faults)[0].targets, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ((*faults)[0].onset_step, 8);
  EXPECT_EQ((*faults)[0].severity, 0.3);
  EXPECT_EQ((*faults)[0].ramp_steps, 2);
  EXPECT_EQ((*faults)[0].duration_steps, 1);
  EXPECT_EQ(std::set<int32_t>((*faults)[1].targets.begin(), (*faults)[1].targets.end()).size(), 3u);
  EXPECT_TRUE((*faults)[2].targets.empty());
}

TEST(FaultTextTest, RefusesWhatItCannotRead) {
  const JobSpec job = SmallJob();
  for (const char* text : {"nonsense", "compute_slow:x", "compute_slow:64", "compute_slow@99", "compute_slow*",
                           "compute_slow:1:", "pause:3", "link_slow:1", "compute_slow#-1", "compute_slow#99999999",
                           "compute_slow*-1", ":", "@3"}) {
    EXPECT_FALSE(ParseFaults(text, job, 1).ok()) << text;
  }
  EXPECT_TRUE(ParseFaults("", job, 1)->empty());
}

}  // namespace
}  // namespace lockstep
