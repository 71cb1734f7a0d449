// Who is to blame, what it costs, what was recorded: the truth beside an episode.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "nlohmann/json.hpp"
#include "sim/culprits.h"
#include "sim/episode.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/program.h"
#include "sim/recorder.h"
#include "sim/step_conditions.h"
#include "sim/truth_json.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 64 ranks on 8 hosts under 4 leaves: 8 tensor, 2 stages, 4 replicas.
JobSpec SomeJob() {
  JobSpec job;
  job.parallelism = {.tensor = 8, .data = 4, .pipeline = 2};
  job.hosts_per_leaf = 2;
  job.workload.microbatches = 4;
  job.schedule.steps = 8;
  return job;
}

FaultSpec FaultOn(FaultKind kind, std::vector<int32_t> targets, double severity = 0) {
  return {.kind = kind, .targets = std::move(targets), .onset_step = 4, .severity = severity};
}

std::vector<std::string> HostsOf(const std::vector<Culprit>& culprits) {
  std::vector<std::string> hosts;
  for (const Culprit& culprit : culprits) hosts.push_back(culprit.host);
  return hosts;
}

TEST(CulpritTest, NamesWhatAFaultHits) {
  const Layout layout(SomeJob());
  const std::vector<Culprit> gpu = CulpritsOf(FaultOn(FaultKind::kComputeSlow, {3, 17}), layout);
  ASSERT_EQ(gpu.size(), 2u);
  EXPECT_EQ(gpu[0], (Culprit{.host = "node-00000", .rank = 3, .gpu = 3, .confidence = 1}));
  EXPECT_EQ(gpu[1], (Culprit{.host = "node-00002", .rank = 17, .gpu = 1, .confidence = 1}));
  const std::vector<Culprit> nic = CulpritsOf(FaultOn(FaultKind::kNicSendSlow, {10}), layout);
  ASSERT_EQ(nic.size(), 1u);
  EXPECT_EQ(nic[0].device, "mlx5_2/1");
  EXPECT_EQ(nic[0].rank, 10);
  const std::vector<Culprit> host = CulpritsOf(FaultOn(FaultKind::kHostSlow, {5}), layout);
  ASSERT_EQ(host.size(), 1u);
  EXPECT_EQ(host[0], (Culprit{.host = "node-00005", .confidence = 1}));
  const std::vector<Culprit> link = CulpritsOf(FaultOn(FaultKind::kLinkSlow, {1, 5, 1, 5, 0, 4}), layout);
  ASSERT_EQ(link.size(), 2u) << "a pair that is given twice is one link";
  EXPECT_EQ(link[0].host, "node-00001");
  EXPECT_EQ(link[0].peer_host, "node-00005");
  EXPECT_THAT(HostsOf(CulpritsOf(FaultOn(FaultKind::kSwitchCongested, {1}), layout)),
              ElementsAre("node-00002", "node-00003"));
  EXPECT_THAT(HostsOf(CulpritsOf(FaultOn(FaultKind::kNvlinkSlow, {8, 9, 16}), layout)),
              ElementsAre("node-00001", "node-00002"))
      << "the host, once";
}

TEST(CulpritTest, WhatIsNobodysFaultNamesNobody) {
  const JobSpec job = SomeJob();
  const Layout layout(job);
  Random random(1);
  for (const FaultInfo& info : FaultTable()) {
    if (!info.negative) continue;
    EXPECT_THAT(CulpritsOf(RandomFault(info.kind, 2, job, random), layout), IsEmpty()) << info.name;
  }
}

TEST(CulpritTest, OfAHangThoseThatTookEffectAreNamed) {
  const JobSpec job = SomeJob();
  const Layout layout(job);
  const Plan plan = MakeTrainingPlan(job, layout);
  const std::vector<InjectedHang> hung = {{.kind = FaultKind::kNotEntered, .rank = 9, .instruction = 2},
                                          {.kind = FaultKind::kGpuStuck, .rank = 30, .instruction = 2},
                                          {.kind = FaultKind::kMachineUnreachable, .rank = 16, .instruction = 2},
                                          {.kind = FaultKind::kMachineUnreachable, .rank = 17, .instruction = 2}};
  const auto culprits = [&](FaultKind kind) { return CulpritsOfHang(FaultOn(kind, {}), hung, layout, plan); };
  ASSERT_EQ(culprits(FaultKind::kNotEntered).size(), 1u);
  EXPECT_EQ(culprits(FaultKind::kNotEntered)[0].rank, 9);
  EXPECT_EQ(culprits(FaultKind::kGpuStuck)[0].rank, 30);
  EXPECT_THAT(HostsOf(culprits(FaultKind::kMachineUnreachable)), ElementsAre("node-00002"));
  EXPECT_THAT(culprits(FaultKind::kDeadlock), IsEmpty());
}

TEST(CulpritTest, AStuckTransferBetweenStagesIsALink) {
  const JobSpec job = SomeJob();
  const Layout layout(job);
  const Plan plan = MakeTrainingPlan(job, layout);
  const std::vector<Instruction>& program = plan.stages[0].instructions;
  const auto at = std::find_if(program.begin(), program.end(),
                               [](const Instruction& i) { return i.kind == InstructionKind::kTransfers; });
  ASSERT_NE(at, program.end());
  const std::vector<InjectedHang> hung = {
      {.kind = FaultKind::kTransferStuck, .rank = 3, .instruction = static_cast<int32_t>(at - program.begin())}};
  const std::vector<Culprit> culprits = CulpritsOfHang(FaultOn(FaultKind::kTransferStuck, {3}), hung, layout, plan);
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ((std::set<std::string>{culprits[0].host, culprits[0].peer_host}),
            (std::set<std::string>{"node-00000", "node-00004"}));
}

TEST(CulpritTest, GroupsThatAlwaysMeetCannotBeToldApart) {
  // Two hosts, one data group each way: the ring of both is all that either adapter carries.
  JobSpec job = TypicalJob(16, 1);
  const Layout layout(job);
  const Plan plan = MakeTrainingPlan(job, layout);
  EXPECT_THAT(IndistinguishableHosts(FaultOn(FaultKind::kNicSendSlow, {0}), {}, layout, plan),
              ElementsAre("node-00000", "node-00001"));
  EXPECT_THAT(IndistinguishableHosts(FaultOn(FaultKind::kComputeSlow, {0}), {}, layout, plan), IsEmpty());
  // With stages, the pairs between them and the data groups share one host only.
  const JobSpec pipelined = SomeJob();
  const Layout stages(pipelined);
  EXPECT_THAT(
      IndistinguishableHosts(FaultOn(FaultKind::kNicSendSlow, {3}), {}, stages, MakeTrainingPlan(pipelined, stages)),
      IsEmpty());
}

TEST(AcceptableTest, NothingIsListedTwiceAndDirectionsThatShowMustBeTold) {
  for (const FaultInfo& info : FaultTable()) {
    for (const bool distinguishable : {false, true}) {
      for (const int32_t dimensions : {1, 3}) {
        const std::vector<VerdictClass> classes =
            AcceptableClasses(FaultOn(info.kind, {}), Layout(TypicalJob(64, dimensions)), distinguishable);
        EXPECT_EQ(std::set<VerdictClass>(classes.begin(), classes.end()).size(), classes.size()) << info.name;
      }
    }
  }
  const Layout pipelined(TypicalJob(64, 3));
  ASSERT_GT(pipelined.stages(), 2);
  for (const FaultKind kind : {FaultKind::kNicSendSlow, FaultKind::kNicReceiveSlow, FaultKind::kLinkSlow}) {
    EXPECT_THAT(AcceptableClasses(FaultOn(kind, {}), pipelined, true), IsEmpty()) << InfoOf(kind).name;
    EXPECT_THAT(AcceptableClasses(FaultOn(kind, {}), pipelined, false), Contains(VerdictClass::kGroupSlow));
  }
}

TEST(TruthTest, AHealthyJobHasNoCauseAndCostsNothing) {
  const Truth truth = Simulate(SomeJob(), {}, 1).truth;
  EXPECT_EQ(truth.state, JobState::kHealthy);
  EXPECT_TRUE(truth.is_negative);
  EXPECT_THAT(truth.causes, IsEmpty());
  EXPECT_EQ(truth.step_ns, truth.healthy_step_ns);
  EXPECT_EQ(truth.step_ns.size(), 8u);
  EXPECT_EQ(truth.hang_ns, 0);
}

TEST(TruthTest, TheCostFollowsTheSeverityAndTheSteps) {
  double before = 0;
  for (const double severity : {0.1, 0.3, 1.0, 3.0}) {
    const std::vector<FaultSpec> faults = {FaultOn(FaultKind::kComputeSlow, {5}, severity)};
    const Truth truth = Simulate(SomeJob(), faults, 2).truth;
    const Cost& cost = truth.causes.at(0).cost;
    EXPECT_GT(cost.slowdown_fraction, before) << severity;
    before = cost.slowdown_fraction;
    EXPECT_LE(cost.slowdown_fraction, severity / (1 + severity)) << "one rank cannot cost more than its own slowness";
    EXPECT_EQ(truth.causes[0].first_step, 4);
    EXPECT_EQ(truth.causes[0].last_step, 7);
    EXPECT_EQ(truth.state, JobState::kSlow);
    EXPECT_FALSE(truth.is_negative);
  }
}

TEST(TruthTest, AFaultOfSomeStepsIsIrregular) {
  FaultSpec fault = FaultOn(FaultKind::kPause, {}, 10);
  fault.onset_step = 2;
  const Truth truth = Simulate(SomeJob(), {&fault, 1}, 3).truth;
  EXPECT_EQ(truth.state, JobState::kIrregular);
  EXPECT_TRUE(truth.is_negative);
  EXPECT_EQ(truth.causes.at(0).last_step, 2);
  EXPECT_NEAR(truth.causes[0].cost.seconds_per_step, 10.0 / 6, 0.2) << "ten seconds over the six steps from then on";
  EXPECT_NEAR(truth.causes[0].cost.steps_affected_fraction, 1.0 / 6, 1e-9);
}

TEST(TruthTest, TwoFaultsAreChargedApartAndTogether) {
  const std::vector<FaultSpec> faults = {FaultOn(FaultKind::kComputeSlow, {0}, 0.5), FaultOn(FaultKind::kPause, {}, 5)};
  const Truth both = Simulate(SomeJob(), faults, 4).truth;
  for (size_t i = 0; i < 2; ++i) {
    const Truth alone = Simulate(SomeJob(), {&faults[i], 1}, 4).truth;
    EXPECT_EQ(both.causes.at(i).cost, alone.causes.at(0).cost) << "alone, whatever else there is";
    EXPECT_EQ(both.healthy_step_ns, alone.healthy_step_ns);
  }
  EXPECT_NEAR(both.causes[1].marginal_cost.seconds_per_step, both.causes[1].cost.seconds_per_step, 0.1)
      << "nothing hides behind a pause of all";
}

TEST(TruthTest, NoSeedMakesAHealthyStepLongerByAFaultThatIsNotThere) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<FaultSpec> faults = {FaultOn(FaultKind::kSilentCorruption, {7})};
    const Truth truth = Simulate(SomeJob(), faults, seed).truth;
    EXPECT_EQ(truth.step_ns, truth.healthy_step_ns) << seed;
    EXPECT_EQ(truth.state, JobState::kHealthy);
    EXPECT_EQ(truth.causes.at(0).cost.slowdown_fraction, 0);
  }
}

TEST(TruthJsonTest, HoldsWhatTheTruthHolds) {
  const JobSpec job = SomeJob();
  const std::vector<FaultSpec> faults = {FaultOn(FaultKind::kNicSendSlow, {10}, 4),
                                         FaultOn(FaultKind::kLinkSlow, {1, 5}, 4)};
  const Truth truth = Simulate(job, faults, 5).truth;
  const std::string text = TruthJson(job, 5, truth);
  EXPECT_EQ(text.back(), '\n');
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["job"], "job-1");
  EXPECT_EQ(json["seed"], 5);
  EXPECT_EQ(json["gpus"], 64);
  EXPECT_EQ(json["pipeline"], 2);
  EXPECT_EQ(json["negative"], false);
  EXPECT_EQ(json["step_seconds"].size(), 8u);
  ASSERT_EQ(json["causes"].size(), 2u);
  const nlohmann::json& nic = json["causes"][0];
  EXPECT_EQ(nic["fault"], "nic_send_slow");
  EXPECT_EQ(nic["scope"], Name(VerdictScope::kNetwork));
  EXPECT_EQ(nic["class"], Name(VerdictClass::kCommSlowTx));
  EXPECT_EQ(nic["culprits"][0]["host"], "node-00001");
  EXPECT_EQ(nic["culprits"][0]["rank"], 10);
  EXPECT_EQ(nic["culprits"][0]["device"], "mlx5_2/1");
  EXPECT_EQ(nic["first_step"], 4);
  EXPECT_NEAR(nic["cost"]["seconds_per_step"], truth.causes[0].cost.seconds_per_step, 1e-12);
  EXPECT_EQ(json["causes"][1]["culprits"][0]["peer_host"], "node-00005");
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(json["step_seconds"][i], truth.step_ns[i] * 1e-9, 1e-12);
}

TEST(ClockTest, OffsetsAndRatesAreOfTheHostAndAsWideAsAsked) {
  JobSpec job = SomeJob();
  job.recording.clock_offset_seconds = 0.5;
  job.recording.clock_drift = 50e-6;
  double offset = 0, drift = 0;
  constexpr int kHosts = 4'000;
  for (int32_t host = 0; host < kHosts; ++host) {
    const HostClock clock = ClockOf(job, host, 1);
    EXPECT_EQ(clock.offset_ns, ClockOf(job, host, 1).offset_ns);
    offset += std::pow(clock.offset_ns * 1e-9, 2);
    drift += clock.drift * clock.drift;
  }
  EXPECT_NEAR(std::sqrt(offset / kHosts), 0.5, 0.03);
  EXPECT_NEAR(std::sqrt(drift / kHosts), 50e-6, 3e-6);
  EXPECT_NE(ClockOf(job, 0, 1).offset_ns, ClockOf(job, 1, 1).offset_ns);
  EXPECT_NE(ClockOf(job, 0, 1).offset_ns, ClockOf(job, 0, 2).offset_ns);
  EXPECT_EQ((HostClock{.offset_ns = 5, .drift = 0.01}).At(1'000), 1'015);
}

TEST(RecorderTest, ClocksShiftTheTimesOfTheirHostsAndNothingElse) {
  JobSpec job = SomeJob();
  job.recording.clock_offset_seconds = 0;
  job.recording.clock_drift = 0;
  const Trace exact = Simulate(job, {}, 6).evidence.trace;
  job.recording.clock_offset_seconds = 10;
  job.recording.clock_drift = 1e-4;
  const Trace shifted = Simulate(job, {}, 6).evidence.trace;
  ASSERT_EQ(shifted.operations.size(), exact.operations.size());
  for (size_t rank = 0; rank < exact.ranks.size(); ++rank) {
    const HostClock clock = ClockOf(job, exact.ranks[rank].host, 6);
    for (size_t i = exact.first_operation[rank]; i < exact.first_operation[rank + 1]; ++i) {
      ASSERT_EQ(shifted.operations[i].start_ns, clock.At(exact.operations[i].start_ns));
      ASSERT_EQ(shifted.operations[i].end_ns, clock.At(exact.operations[i].end_ns));
      ASSERT_EQ(shifted.operations[i].sequence, exact.operations[i].sequence);
    }
  }
}

TEST(RecorderTest, WhatIsLostIsCountedAndTheRestIsAsItWas) {
  JobSpec job = SomeJob();
  const Trace whole = Simulate(job, {}, 7).evidence.trace;
  for (const double share : {0.01, 0.1, 0.5}) {
    job.recording.lost_share = share;
    const Trace lossy = Simulate(job, {}, 7).evidence.trace;
    EXPECT_EQ(lossy.operations.size() + lossy.lost_records, whole.operations.size());
    const double expected = share * static_cast<double>(whole.operations.size());
    EXPECT_NEAR(static_cast<double>(lossy.lost_records), expected, 6 * std::sqrt(expected));
    for (size_t rank = 0; rank < lossy.ranks.size(); ++rank) {
      std::set<std::pair<int64_t, int64_t>> times;
      for (const TraceOperation& op : whole.OperationsOf(rank)) times.emplace(op.start_ns, op.end_ns);
      for (const TraceOperation& op : lossy.OperationsOf(rank)) ASSERT_EQ(times.count({op.start_ns, op.end_ns}), 1u);
    }
  }
}

TEST(RecorderTest, GapsTakeWholeStepsOfARank) {
  JobSpec job = SomeJob();
  job.recording.gap_share = 0.3;
  const Episode episode = Simulate(job, {}, 8);
  job.recording.gap_share = 0;
  const Trace whole = Simulate(job, {}, 8).evidence.trace;
  const Trace& trace = episode.evidence.trace;
  int whole_steps = 0, no_steps = 0, parts = 0;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto all_index = static_cast<size_t>(trace.ranks[rank].rank);
    const size_t per_step = whole.OperationsOf(all_index).size() / 8;
    std::map<size_t, size_t> kept;  // by step, of the records that are still there
    std::map<int64_t, size_t> step_of;
    for (size_t i = 0; i < whole.OperationsOf(all_index).size(); ++i) {
      step_of[whole.OperationsOf(all_index)[i].start_ns] = i / per_step;
    }
    for (const TraceOperation& op : trace.OperationsOf(rank)) ++kept[step_of.at(op.start_ns)];
    for (size_t step = 0; step < 8; ++step) {
      whole_steps += kept[step] == per_step ? 1 : 0;
      no_steps += kept[step] == 0 ? 1 : 0;
      parts += kept[step] != 0 && kept[step] != per_step ? 1 : 0;
    }
  }
  // The host runs ahead: records that it enqueued before the step began belong to the gap of the step before.
  EXPECT_NEAR(no_steps, 0.3 * 64 * 8, 50);
  EXPECT_GT(whole_steps, 200);
  EXPECT_LT(parts, 64 * 8 / 3);
}

TEST(RecorderTest, AnUnreachableMachineTakesItsLastSecondsWithIt) {
  const std::vector<FaultSpec> faults = {FaultOn(FaultKind::kMachineUnreachable, {2})};
  const Episode episode = Simulate(SomeJob(), faults, 9);
  const Trace& trace = episode.evidence.trace;
  int64_t last_of_host = std::numeric_limits<int64_t>::min(), last_of_others = last_of_host;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const HostClock clock = ClockOf(SomeJob(), trace.ranks[rank].host, 9);
    for (const TraceOperation& op : trace.OperationsOf(rank)) {
      int64_t& last = trace.ranks[rank].host == 2 ? last_of_host : last_of_others;
      last = std::max(last, op.enqueue_ns - clock.offset_ns);
    }
  }
  EXPECT_LE(last_of_host, episode.truth.hang_ns + 1'000'000);
  EXPECT_GE(last_of_host, episode.truth.hang_ns - 3'000'000'000);
  EXPECT_GT(last_of_others, last_of_host);
  EXPECT_THAT(HostsOf(episode.truth.causes.at(0).culprits), ElementsAre("node-00002"));
}

TEST(RecorderTest, ADeadProcessIsKnownToBeGoneAndALostGpuIsInTheKernelLog) {
  const std::vector<FaultSpec> dead = {FaultOn(FaultKind::kProcessDead, {11})};
  const Episode process = Simulate(SomeJob(), dead, 10);
  for (const TraceRank& rank : process.evidence.trace.ranks) {
    EXPECT_EQ(rank.process_state == ProcessState::kGone, rank.rank == 11) << rank.rank;
  }
  EXPECT_THAT(process.evidence.events, IsEmpty());
  const std::vector<FaultSpec> lost = {FaultOn(FaultKind::kGpuLost, {11})};
  const Episode gpu = Simulate(SomeJob(), lost, 10);
  ASSERT_EQ(gpu.evidence.events.size(), 1u);
  EXPECT_EQ(gpu.evidence.events[0].host, "node-00001");
  EXPECT_EQ(gpu.evidence.events[0].event.kind, KernelEventKind::kXid);
  EXPECT_EQ(gpu.evidence.events[0].event.code, 79);
  EXPECT_EQ(gpu.evidence.events[0].event.device, "gpu3");
}

TEST(RecorderTest, CommunicatorsAreNamedLikeNcclsAndLikeTheFrameworksWhereAsked) {
  JobSpec job = SomeJob();
  const Trace plain = Simulate(job, {}, 11).evidence.trace;
  job.recording.names_groups = true;
  const Trace named = Simulate(job, {}, 11).evidence.trace;
  std::set<std::string> names, hints;
  for (size_t i = 0; i < plain.communicators.size(); ++i) {
    EXPECT_EQ(plain.communicators[i].hint, "");
    EXPECT_EQ(plain.communicators[i].name.size(), 18u);
    EXPECT_EQ(plain.communicators[i].name, named.communicators[i].name);
    EXPECT_EQ(plain.communicators[i].members, named.communicators[i].members);
    names.insert(plain.communicators[i].name);
    hints.insert(named.communicators[i].hint);
  }
  EXPECT_EQ(names.size(), plain.communicators.size());
  EXPECT_EQ(hints.size(), plain.communicators.size());
  EXPECT_THAT(hints, Contains("tp_0"));
  EXPECT_THAT(hints, Contains("pp_31"));
  EXPECT_THAT(hints, Contains("world_0"));
}

TEST(RecorderTest, SilentRanksAreMissedAndKeepTheirPlaceInTheirGroups) {
  JobSpec job = SomeJob();
  job.recording.silent_ranks = 5;
  const Trace trace = Simulate(job, {}, 12).evidence.trace;
  EXPECT_EQ(trace.missing_ranks.size(), 5u);
  EXPECT_EQ(trace.ranks.size(), 59u);
  const auto world = std::find_if(trace.communicators.begin(), trace.communicators.end(),
                                  [](const TraceCommunicator& c) { return c.members.size() == 64; });
  ASSERT_NE(world, trace.communicators.end());
  for (int32_t rank = 0; rank < 64; ++rank) {
    const bool silent = std::count(trace.missing_ranks.begin(), trace.missing_ranks.end(), rank) > 0;
    const int32_t member = world->members[static_cast<size_t>(rank)];
    ASSERT_EQ(member < 0, silent) << rank;
    if (!silent) {
      EXPECT_EQ(trace.ranks[static_cast<size_t>(member)].rank, rank);
    }
  }
}

}  // namespace
}  // namespace lockstep
