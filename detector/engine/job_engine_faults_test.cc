// One kind of fault, or of damage to the data, per test.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "detector/engine/job_engine.h"
#include "detector/model/input.h"
#include "detector/testing/engine_driver.h"
#include "detector/testing/job_generator.h"
#include "detector/testing/job_player.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

RankView& RankOf(HostReport* report, int32_t rank) {
  return *std::find_if(report->ranks.begin(), report->ranks.end(),
                       [rank](const RankView& view) { return view.rank == rank; });
}

// The only cause of the run.
const SeenCause& TheOnly(const PlayedJob& run, const std::string& key) {
  static const SeenCause none{.oldest = Verdict::Abstention(NoRecords{}), .newest = Verdict::Abstention(NoRecords{})};
  EXPECT_EQ(run.causes.size(), 1u) << run.log;
  const auto found = run.causes.find(key);
  EXPECT_NE(found, run.causes.end()) << run.log;
  return found == run.causes.end() ? none : found->second;
}

JobGeneratorOptions SlowRankTwo(double factor = 1.5) {
  return {.noise = {.own_cv = 0.05}, .slow = {{2, 20, kForever, factor}}};
}

TEST(JobEngineFaultsTest, ARankThatDoesNotGetTheCpuIsAFaultOfTheHost) {
  const PlayedJob run = Play({.job = SlowRankTwo(1.6), .seconds = 40, .alter = [](double, HostReport* report) {
                                RankOf(report, 2).cpu_ns = RankOf(report, 1).cpu_ns;
                              }});
  const SeenCause& seen = TheOnly(run, "slow:node-0/rank2");
  EXPECT_EQ(seen.newest.verdict_class, VerdictClass::kHostSlow);
  EXPECT_NE(EvidenceText(seen.newest).find("it gets the CPU too rarely"), std::string::npos);
}

TEST(JobEngineFaultsTest, WithoutCpuTimesTheReasonIsLeftOpen) {
  const PlayedJob run = Play({.job = SlowRankTwo(), .seconds = 40, .alter = [](double, HostReport* report) {
                                for (RankView& rank : report->ranks) rank.cpu_ns = 0;
                              }});
  const SeenCause& seen = TheOnly(run, "slow:node-0/rank2");
  EXPECT_EQ(seen.newest.verdict_class, VerdictClass::kComputeSlow);
  EXPECT_EQ(EvidenceText(seen.newest).find("CPU"), std::string::npos);
  EXPECT_EQ(seen.newest.advice, Advice::kCordonAndReplace);
}

// The first verdict comes seconds after the onset: the healthy time before it must not dilute the CPU evidence.
TEST(JobEngineFaultsTest, CpuEvidenceIsOfTheTimeOfTheFault) {
  const PlayedJob run = Play({.job = SlowRankTwo(1.5), .seconds = 40});
  const SeenCause& seen = TheOnly(run, "slow:node-0/rank2");
  for (const Verdict* verdict : {&seen.oldest, &seen.newest}) {
    const std::string text = EvidenceText(*verdict);
    const size_t at = text.find("it uses ");
    ASSERT_NE(at, std::string::npos) << text;
    double own = 0, peers = 0;
    ASSERT_EQ(std::sscanf(text.c_str() + at, "it uses %lf ms of CPU time per step; its peers use %lf ms", &own, &peers),
              2)
        << text;
    EXPECT_NEAR(own / peers, 1.5, 0.12) << text;
    EXPECT_EQ(verdict->advice, Advice::kCheckSoftware) << "it may have more to do";
  }
}

TEST(JobEngineFaultsTest, TheEndOfAShortFaultIsSeenSoon) {
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].own_seconds = 0.4;
  for (const double seconds : {9.0, 11.0, 13.0, 15.0}) {
    const PlayedJob run = Play(
        {.job = {.program = program, .noise = {.own_cv = 0.05}, .slow = {{2, 40, 40 + seconds, 1.5}}}, .seconds = 80});
    EXPECT_LE(TheOnly(run, "slow:node-0/rank2").last, 40 + seconds + 6) << seconds;
  }
}

// What costs about as much as a cause has to cost would begin and end with the noise of every look.
TEST(JobEngineFaultsTest, WhatWasToldHoldsUntilItCostsClearlyLess) {
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].own_seconds = 0.1;
  const auto play = [&](double afterwards) {
    return Play({.job = {.program = program,
                         .noise = {.own_cv = 0.005},
                         .slow = {{2, 20, 60, 1.06}, {2, 60, kForever, afterwards}}},
                 .seconds = 240});
  };
  const PlayedJob mild = play(1.027);
  const SeenCause& held = TheOnly(mild, "slow:node-0/rank2");
  EXPECT_GE(held.last, 239);
  EXPECT_EQ(held.told, held.last - held.first + 1) << "it was over in between";
  EXPECT_LT(held.newest.cost.slowdown_fraction, 0.03) << "else this shows nothing";
  EXPECT_LE(TheOnly(play(1.002), "slow:node-0/rank2").last, 100);
}

TEST(JobEngineFaultsTest, WhatWasNeverToldHasToCostEnough) {
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].own_seconds = 0.1;
  const PlayedJob run = Play(
      {.job = {.program = program, .noise = {.own_cv = 0.005}, .slow = {{2, 20, kForever, 1.027}}}, .seconds = 120});
  EXPECT_TRUE(run.causes.empty()) << run.log;
}

TEST(JobEngineFaultsTest, AProcessThatKeepsWaitingForADeviceIsAStorageStall) {
  const PlayedJob run = Play({.job = SlowRankTwo(), .seconds = 40, .alter = [](double now, HostReport* report) {
                                if (now > 20) RankOf(report, 2).process_state = ProcessState::kUninterruptible;
                              }});
  const SeenCause& seen = TheOnly(run, "slow:node-0/rank2");
  EXPECT_EQ(seen.newest.verdict_class, VerdictClass::kStorageStall);
  EXPECT_NE(EvidenceText(seen.newest).find("state D"), std::string::npos);
}

// The excess lies at one place of the step, as that of a rank that waits for its input. CPU time tells them apart.
TEST(JobEngineFaultsTest, ARankThatComputesAtOnePlaceDoesNotWaitForInput) {
  JobGeneratorOptions job = SlowRankTwo(2);
  job.slow[0].operation = 0;
  const PlayedJob works = Play({.job = job, .seconds = 40});
  const SeenCause& working = TheOnly(works, "slow:node-0/rank2");
  EXPECT_EQ(working.newest.verdict_class, VerdictClass::kComputeSlow) << EvidenceText(working.newest);
  EXPECT_EQ(working.newest.advice, Advice::kCheckSoftware);
  EXPECT_EQ(EvidenceText(working.newest).find("input"), std::string::npos) << EvidenceText(working.newest);

  const PlayedJob waits = Play({.job = job, .seconds = 40, .alter = [](double, HostReport* report) {
                                  RankOf(report, 2).cpu_ns = RankOf(report, 1).cpu_ns;
                                }});
  const SeenCause& waiting = TheOnly(waits, "slow:node-0/rank2");
  EXPECT_EQ(waiting.newest.verdict_class, VerdictClass::kStorageStall) << EvidenceText(waiting.newest);
}

TEST(JobEngineFaultsTest, AWrongCallIsAMismatchOfSoftware) {
  for (const int rank : {0, 3}) {
    const PlayedJob run =
        Play({.job = {.program = WorldOnlyProgram(), .wrong_calls = {{.rank = rank, .from = 20}}}, .seconds = 35});
    ASSERT_EQ(run.causes.size(), 1u) << run.log;
    const SeenCause& seen = run.causes.begin()->second;
    EXPECT_EQ(seen.newest.verdict_class, VerdictClass::kCollectiveMismatch) << run.log;
    EXPECT_EQ(seen.newest.scope, VerdictScope::kSoftware);
    EXPECT_EQ(seen.newest.advice, Advice::kCheckSoftware);
    ASSERT_EQ(seen.newest.culprits.size(), 1u);
    EXPECT_EQ(seen.newest.culprits[0].rank, rank);
    EXPECT_LE(seen.first, 27);
  }
}

TEST(JobEngineFaultsTest, CallsInCrossedOrderAreADeadlockOfTheTwo) {
  std::vector<GeneratedOperation> program = DefaultProgram();
  program.insert(program.begin() + 1, program.front());  // each pair has two communicators
  const PlayedJob run =
      Play({.job = {.program = program, .wrong_calls = {{.rank = 1, .from = 20, .crossed = true}}}, .seconds = 35});
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const SeenCause& seen = run.causes.begin()->second;
  EXPECT_EQ(seen.newest.verdict_class, VerdictClass::kDeadlock) << run.log;
  EXPECT_EQ(seen.newest.scope, VerdictScope::kSoftware);
  ASSERT_EQ(seen.newest.culprits.size(), 2u);
  EXPECT_EQ(seen.newest.culprits[0].rank + seen.newest.culprits[1].rank, 1);
  EXPECT_LE(seen.first, 27);
}

// A rank stands still from 20.03 s on; at `second` the kernel of `host` says that a GPU is gone.
PlayedJob PlayHangWithXid(const std::string& host, double second) {
  return Play({.job = {.ranks_per_host = 2, .standstills = {{3, 20.03, kForever}}},
               .seconds = 35,
               .alter = [&](double now, HostReport* report) {
                 if (now != second || report->host != host) return;
                 report->kernel_events.push_back({.kind = KernelEventKind::kXid,
                                                  .code = 79,
                                                  .device = "0000:41:00",
                                                  .text = "GPU has fallen off the bus",
                                                  .host_ns = report->host_ns});
               }});
}

TEST(JobEngineFaultsTest, AHangAfterAHardErrorOfItsHostIsEvidenceOfThatError) {
  const PlayedJob run = PlayHangWithXid("node-1", 21);
  // First the host by its kernel log, then, as the same cause, the rank on it: one incident (incident_book.h).
  ASSERT_EQ(run.causes.size(), 2u) << run.log;
  ASSERT_TRUE(run.causes.contains("hang:node-1/0000:41:00")) << run.causes.begin()->first;
  ASSERT_TRUE(run.causes.contains("hang:node-1/rank3"));
  EXPECT_LT(run.causes.at("hang:node-1/0000:41:00").last, run.causes.at("hang:node-1/rank3").first);
  const Verdict& verdict = run.causes.at("hang:node-1/rank3").newest;
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  EXPECT_EQ(verdict.culprits.at(0).host, "node-1");
  EXPECT_EQ(verdict.advice, Advice::kCordonAndReplace);
  EXPECT_NE(EvidenceText(verdict).find("Xid 79"), std::string::npos) << EvidenceText(verdict);
  EXPECT_NE(EvidenceText(verdict).find("rank 3"), std::string::npos) << EvidenceText(verdict);
}

// Both ranks of a host are on GPUs that their agent has named, as it has that of the event.
TEST(JobEngineFaultsTest, AnEventOfAGpuIsOfTheRankOnIt) {
  for (const std::string device : {"gpu1", "gpu0"}) {
    const PlayedJob run = Play({.job = {.ranks_per_host = 2, .standstills = {{3, 20.03, kForever}}},
                                .seconds = 35,
                                .alter = [&](double now, HostReport* report) {
                                  for (RankView& rank : report->ranks) rank.gpu = rank.rank % 2;
                                  if (now != 21 || report->host != "node-1") return;
                                  report->kernel_events.push_back({.kind = KernelEventKind::kXid,
                                                                   .code = 79,
                                                                   .device = device,
                                                                   .text = "GPU has fallen off the bus",
                                                                   .host_ns = report->host_ns});
                                }});
    ASSERT_TRUE(run.causes.contains("hang:node-1/" + device)) << run.causes.begin()->first;
    const Culprit& gpu = run.causes.at("hang:node-1/" + device).newest.culprits.at(0);
    EXPECT_EQ(gpu.rank, device == "gpu1" ? 3 : 2);
    EXPECT_EQ(gpu.gpu, device == "gpu1" ? 1 : 0);
    ASSERT_TRUE(run.causes.contains("hang:node-1/rank3"));
    const Verdict& hang = run.causes.at("hang:node-1/rank3").newest;
    EXPECT_EQ(hang.verdict_class == VerdictClass::kGpuFault, device == "gpu1") << "rank 3 is on gpu1";
  }
}

// Its agent could not send it sooner.
TEST(JobEngineFaultsTest, AnEventInALateReportIsAsOldAsTheReport) {
  JobEngine engine({});
  engine.Observe({.host = "node-1",
                  .received_ns = 1'000 * kNanosPerSecond,
                  .waited_ns = 40 * kNanosPerSecond,
                  .kernel_events = {{.kind = KernelEventKind::kXid, .code = 79, .device = "0000:41:00"}}});
  const JobEngine::Conclusion conclusion = engine.Evaluate(1'002 * kNanosPerSecond);
  ASSERT_EQ(conclusion.verdicts.size(), 1u);
  EXPECT_NE(EvidenceText(conclusion.verdicts[0]).find("42 s ago"), std::string::npos)
      << EvidenceText(conclusion.verdicts[0]);
}

// NVML hangs on a host of a job, and calls a GPU of another one lost.
TEST(JobEngineFaultsTest, WhatAnAgentsSourcesSayOfThemselvesIsFound) {
  const PlayedJob run = Play({.job = {.ranks_per_host = 2}, .seconds = 35, .alter = [](double now, HostReport* report) {
                                if (report->host == "node-0" && now >= 20) {
                                  report->failing_sources.push_back(
                                      {.source = "nvml", .hangs = true, .failing_ns = 40 * kNanosPerSecond});
                                }
                                if (report->host == "node-1" && now == 21) {
                                  report->kernel_events.push_back({.kind = KernelEventKind::kNvml,
                                                                   .code = kNvmlGpuIsLost,
                                                                   .device = "0000:41:00",
                                                                   .text = "NVML: gpu1 is lost",
                                                                   .host_ns = report->host_ns});
                                }
                              }});
  bool hangs = false;
  bool lost = false;
  for (const auto& [cause, seen] : run.causes) {
    const std::string text = EvidenceText(seen.newest);
    if (text.find("the agent gets nothing from nvml") != std::string::npos) {
      hangs = true;
      EXPECT_EQ(seen.newest.type(), FindingType::kObservation) << cause;
      EXPECT_EQ(seen.newest.culprits.at(0).host, "node-0");
    }
    if (text.find("NVML says that the GPU is lost") != std::string::npos) {
      lost = true;
      EXPECT_EQ(seen.newest.scope, VerdictScope::kMachine) << cause;
      EXPECT_EQ(seen.newest.culprits.at(0).host, "node-1");
    }
  }
  EXPECT_TRUE(hangs) << run.log;
  EXPECT_TRUE(lost) << run.log;
}

// Its agent was away when the kernel said so.
TEST(JobEngineFaultsTest, AnEventOfAnHourAgoIsToldAndAsOldAsItIs) {
  constexpr int64_t kHour = 3600 * kNanosPerSecond;
  JobEngine engine({});
  engine.Observe(
      {.host = "node-1",
       .received_ns = 10 * kHour,
       .host_ns = 5 * kHour,
       .kernel_events = {{.kind = KernelEventKind::kXid, .code = 79, .device = "0000:41:00", .host_ns = 4 * kHour}}});
  const JobEngine::Conclusion conclusion = engine.Evaluate(10 * kHour + 2 * kNanosPerSecond);
  ASSERT_EQ(conclusion.verdicts.size(), 1u);
  EXPECT_EQ(conclusion.verdicts[0].first_seen_ns, 9 * kHour);
  EXPECT_NE(EvidenceText(conclusion.verdicts[0]).find("3602 s ago"), std::string::npos)
      << EvidenceText(conclusion.verdicts[0]);
}

TEST(JobEngineFaultsTest, AHardErrorAfterTheHangIsEvidenceOfTheHang) {
  const PlayedJob run = PlayHangWithXid("node-1", 30);
  const Verdict& verdict = TheOnly(run, "hang:node-1/rank3").newest;
  EXPECT_NE(EvidenceText(verdict).find("79"), std::string::npos) << EvidenceText(verdict);
  EXPECT_EQ(verdict.evidence.back().kind, EvidenceKind::kLog);
  EXPECT_EQ(verdict.advice, Advice::kCordonAndReplace);
}

TEST(JobEngineFaultsTest, AHardErrorOfAnotherHostIsACauseOfItsOwn) {
  const PlayedJob run = PlayHangWithXid("node-0", 21);
  ASSERT_EQ(run.causes.size(), 2u) << run.log;
  const Verdict& hang = run.causes.at("hang:node-1/rank3").newest;
  EXPECT_EQ(EvidenceText(hang).find("79"), std::string::npos) << EvidenceText(hang);
  EXPECT_EQ(hang.advice, Advice::kCheckSoftware);
}

TEST(JobEngineFaultsTest, ARestartedJobIsJudgedAfresh) {
  JobGenerator first(SlowRankTwo());
  JobGenerator second({.noise = {.own_cv = 0.05}, .slow = {{1, 20, kForever, 1.5}}, .seed = 5});
  EngineDriver driver({});
  const int64_t restart_ns = 60 * kNanosPerSecond;
  std::vector<Verdict> verdicts;
  while (first.NowSeconds() < 40) {
    const std::vector<HostReport> reports = first.NextReports();
    verdicts = driver.Hear(reports, first.NowNanos()).verdicts;
  }
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(CauseKey(verdicts[0]), "slow:node-0/rank2");
  while (second.NowSeconds() < 40) {
    std::vector<HostReport> reports = second.NextReports();
    for (HostReport& report : reports) {
      report.received_ns += restart_ns;
      for (RankView& rank : report.ranks) rank.process_start_ticks = 4000;
    }
    verdicts = driver.Hear(reports, second.NowNanos() + restart_ns).verdicts;
    EXPECT_TRUE(second.NowSeconds() >= 20 || verdicts.empty());
  }
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(CauseKey(verdicts[0]), "slow:node-0/rank1");
  EXPECT_GE(verdicts[0].first_seen_ns, second.NowNanos() + restart_ns - 22 * kNanosPerSecond);
}

TEST(JobEngineFaultsTest, ARankWhoseRecorderGaveUpIsNeverAccused) {
  for (const bool stopped : {true, false}) {
    JobGeneratorOptions job{.noise = {.own_cv = 0.05}};
    if (stopped) job.standstills = {{2, 20.03, kForever}};
    if (!stopped) job.slow = {{2, 20, kForever, 2}};
    const PlayedJob run = Play({.job = job, .seconds = 50, .alter = [](double now, HostReport* report) {
                                  RankView& rank = RankOf(report, 2);
                                  rank.disabled = now >= 15;
                                  if (now < 15) return;
                                  for (CommunicatorView& communicator : rank.communicators) {
                                    communicator.operations.clear();
                                    communicator.oldest_in_flight.reset();
                                  }
                                }});
    EXPECT_TRUE(run.causes.empty()) << run.log;
  }
}

// One record in twenty never arrives. The sequence numbers tell.
TEST(JobEngineFaultsTest, MissingRecordsHideNoGrossFaultAndMakeNone) {
  for (const bool faulty : {true, false}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Random random(seed);
      JobGeneratorOptions job = faulty ? SlowRankTwo() : JobGeneratorOptions{.noise = {.own_cv = 0.25}};
      job.seed = seed;
      const PlayedJob run =
          Play({.job = job, .seconds = 60, .alter = [&](double, HostReport* report) {
                  for (RankView& rank : report->ranks) {
                    for (CommunicatorView& communicator : rank.communicators) {
                      std::erase_if(communicator.operations, [&](const Operation&) { return random.Unit() < 0.05; });
                    }
                  }
                }});
      if (faulty) {
        EXPECT_LE(TheOnly(run, "slow:node-0/rank2").first, 35);
      } else {
        EXPECT_TRUE(run.causes.empty()) << run.log;
      }
    }
  }
}

// The same fault is found at the same time and with the same numbers when records come twice and in any order.
TEST(JobEngineFaultsTest, RepeatedAndShuffledRecordsChangeNothing) {
  const PlayedJob plain = Play({.job = SlowRankTwo(), .seconds = 40});
  Random random(3);
  std::vector<std::vector<Operation>> before(64);
  const PlayedJob run = Play({.job = SlowRankTwo(), .seconds = 40, .alter = [&](double, HostReport* report) {
                                size_t place = 0;
                                for (RankView& rank : report->ranks) {
                                  for (CommunicatorView& communicator : rank.communicators) {
                                    std::vector<Operation>& operations = communicator.operations;
                                    const std::vector<Operation> fresh = operations;
                                    operations.insert(operations.end(), fresh.begin(), fresh.end());
                                    operations.insert(operations.end(), before[place].begin(), before[place].end());
                                    for (size_t i = operations.size(); i > 1; --i) {
                                      std::swap(operations[i - 1], operations[random.Below(i)]);
                                    }
                                    before[place++] = fresh;
                                  }
                                }
                              }});
  const SeenCause& expected = TheOnly(plain, "slow:node-0/rank2");
  const SeenCause& seen = TheOnly(run, "slow:node-0/rank2");
  EXPECT_EQ(seen.first, expected.first);
  EXPECT_EQ(seen.newest.cost, expected.newest.cost);
  EXPECT_EQ(EvidenceText(seen.newest), EvidenceText(expected.newest));
}

// The collector is restarted while a rank is stopped: the new engine has never seen a step.
TEST(JobEngineFaultsTest, AColdEngineNamesAHangThatBeganBeforeIt) {
  for (const double late : {2.0, 25.0, 100.0}) {  // seconds from the onset to the start of the engine
    const double onset = 30.03;
    const auto started_at_boot = [](double, HostReport* report) {
      for (RankView& rank : report->ranks) rank.process_start_ticks = 360'000;  // an hour after boot, as the host clock
    };
    const PlayedJob run = Play({.job = {.standstills = {{3, onset, kForever}}},
                                .seconds = onset + late + 20,
                                .engine_begins = onset + late,
                                .alter = started_at_boot});
    const SeenCause& seen = TheOnly(run, "hang:node-0/rank3");
    EXPECT_LE(seen.first - onset, std::max(late + 4, 15.0)) << "engine " << late << " s after the onset";
    EXPECT_NE(EvidenceText(seen.newest).find("stopped by a signal"), std::string::npos);
  }
}

TEST(JobEngineFaultsTest, AColdEngineWaitsLongerWhenItCannotKnowTheStepTime) {
  // The processes are an hour older than the job: by its counters it may have had steps of ten seconds.
  const PlayedJob run = Play({.job = {.standstills = {{3, 30.03, kForever}}}, .seconds = 80, .engine_begins = 32});
  EXPECT_NEAR(TheOnly(run, "hang:node-0/rank3").first - 30.03, 31, 2);
}

TEST(JobEngineFaultsTest, AColdEngineAccusesNobodyInAHealthyJob) {
  const PlayedJob run = Play({.job = {.noise = {.own_cv = 0.25}}, .seconds = 60, .engine_begins = 30});
  EXPECT_TRUE(run.causes.empty()) << run.log;
}

}  // namespace
}  // namespace lockstep
