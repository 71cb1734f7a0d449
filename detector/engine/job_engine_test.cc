#include "detector/engine/job_engine.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/model/place_table.h"
#include "detector/testing/engine_driver.h"
#include "detector/testing/job_generator.h"
#include "detector/testing/job_player.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/remedy.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

PlayedJob Play(const JobGeneratorOptions& options, double seconds, bool reversed = false) {
  PlayedJob run = lockstep::Play({.job = options, .seconds = seconds, .reversed = reversed});
  EXPECT_TRUE(run.always_conclusive);
  return run;
}

TEST(JobEngineTest, NamesTheSlowRankAndNoVictim) {
  const PlayedJob run = Play({.noise = {.own_cv = 0.05}, .slow = {{2, 20, 40, 1.5}}}, 60);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const auto& [key, seen] = *run.causes.begin();
  EXPECT_EQ(key, "slow:node-0/rank2");
  EXPECT_LE(seen.first - 20, 8);
  EXPECT_LE(seen.last - 40, 8);
  const Verdict& verdict = seen.newest;
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kComputeSlow);
  EXPECT_EQ(verdict.culprits[0].pid, 1002);
  EXPECT_NE(run.log.find("Rank 2 (host node-0) spends"), std::string::npos);
  EXPECT_NE(run.log.find("Replayed with the own time of its peers"), std::string::npos);
  EXPECT_EQ(run.states[29], JobState::kSlow);
  EXPECT_EQ(run.states[58], JobState::kHealthy);
}

TEST(JobEngineTest, RanksOfEqualDutyAreToldApartFromOthers) {
  const auto first_stage = [](int rank) { return rank < 4 ? 0 : -1; };
  const auto second_stage = [](int rank) { return rank < 4 ? -1 : 0; };
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program.push_back({.kind = OperationKind::kAllGather, .group_of_rank = first_stage});
  program.push_back({.kind = OperationKind::kReduceScatter, .group_of_rank = second_stage});
  const PlayedJob run = Play({.ranks = 8, .program = program}, 60);
  ASSERT_EQ(run.ranks.size(), 8u);
  EXPECT_GE(run.ranks[0].duty, 0);
  EXPECT_GE(run.ranks[4].duty, 0);
  EXPECT_NE(run.ranks[0].duty, run.ranks[4].duty);
  for (const RankSummary& rank : run.ranks) EXPECT_EQ(rank.duty, run.ranks[rank.rank < 4 ? 0 : 4].duty) << rank.rank;
}

// Two stages of a pipeline draw the same power until the second one gets less to do. One host of the first falls with
// it: only against the hosts of its stage is it odd, and only looks tell who these are.
TEST(JobEngineTest, CountersCompareHostsOfOneStageWithEachOther) {
  constexpr int kHosts = 16;
  constexpr double kOnset = 150;
  constexpr int kOddHost = 3;
  const auto first_stage = [](int rank) { return rank < kHosts / 2 ? 0 : -1; };
  const auto second_stage = [](int rank) { return rank < kHosts / 2 ? -1 : 0; };
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].own_seconds = 0.2;
  program.push_back({.kind = OperationKind::kAllGather, .group_of_rank = first_stage});
  program.push_back({.kind = OperationKind::kReduceScatter, .group_of_rank = second_stage});
  Random random(5);
  const auto draw_power = [&random](double now, HostReport* report) {
    const int32_t rank = report->ranks.at(0).rank;
    const bool draws_less = now >= kOnset && (rank >= kHosts / 2 || rank == kOddHost);
    const double watts = (draws_less ? 420 : 600) + 6 * random.Gaussian();
    report->samples.push_back({"gpu0", Metric::kGpuPowerWatts, report->host_ns, watts});
  };
  const PlayedJob run = lockstep::Play(
      {.job = {.ranks = kHosts, .ranks_per_host = 1, .program = program}, .seconds = kOnset + 60, .alter = draw_power});
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const auto& [key, seen] = *run.causes.begin();
  EXPECT_EQ(key, absl::StrCat("counter_outlier:node-", kOddHost));
  EXPECT_GE(seen.first, kOnset);
  EXPECT_EQ(seen.newest.type(), FindingType::kObservation);
}

TEST(JobEngineTest, PlacesOfTooManyHostsAreCountedAndThoseThatAreForgottenMakeRoom) {
  JobEngine engine({});
  const Places somewhere = {"r1", "", "", ""};
  for (size_t host = 0; host < kMaxPlacedHosts; ++host) engine.ObservePlaces("node-" + std::to_string(host), somewhere);
  engine.ObservePlaces("node-0", {"r2", "", "", ""});
  EXPECT_EQ(engine.summary().records_discarded, 0u);
  engine.ObservePlaces("one-more", somewhere);
  EXPECT_EQ(engine.summary().records_discarded, 1u);
  engine.ObservePlaces("node-0", {});
  engine.ObservePlaces("one-more", somewhere);
  EXPECT_EQ(engine.summary().records_discarded, 1u);
}

TEST(JobEngineTest, CostIsWhatRemovalGivesBack) {
  const PlayedJob run = Play({.noise = {.own_cv = 0.02}, .slow = {{2, 10, kForever, 1.5}}}, 40);
  ASSERT_EQ(run.causes.size(), 1u);
  // 80 ms of work become 120 ms.
  EXPECT_NEAR(run.causes.begin()->second.newest.cost.seconds_per_step, 0.040, 0.004);
  EXPECT_NEAR(run.causes.begin()->second.newest.cost.slowdown_fraction, 0.33, 0.04);
}

TEST(JobEngineTest, NamesTwoCulpritsAtOnce) {
  const PlayedJob run = Play(
      {.ranks_per_host = 1, .noise = {.own_cv = 0.05}, .slow = {{2, 15, kForever, 1.5}, {1, 15, kForever, 1.5}}}, 40);
  EXPECT_EQ(run.causes.size(), 2u) << run.log;
  EXPECT_TRUE(run.causes.contains("slow:node-1/rank1"));
  EXPECT_TRUE(run.causes.contains("slow:node-2/rank2"));
}

// Each hides behind the other: alone it gives back what noise leaves of it.
TEST(JobEngineTest, SaysWhatRemovingCausesGivesBackAloneAndTogether) {
  const PlayedJob run = Play(
      {.ranks_per_host = 1, .noise = {.own_cv = 0.02}, .slow = {{2, 10, kForever, 1.5}, {1, 10, kForever, 1.5}}}, 60);
  const TimeLedger& ledger = run.ledger.ledger;
  double sum = ledger.reference_seconds + ledger.unexplained_seconds;
  for (const LedgerLine& line : ledger.lines) sum += line.seconds;
  EXPECT_GT(run.ledger.seen_ns, 0);
  EXPECT_NEAR(sum, ledger.measured_seconds, 1e-9);
  ASSERT_EQ(run.ledger.remedies.size(), 2u);
  const Remedy &first = run.ledger.remedies[0], &second = run.ledger.remedies[1];
  EXPECT_TRUE(first.replayed && second.replayed);
  EXPECT_NE(ActionText(first), ActionText(second));
  EXPECT_LT(first.alone_seconds, 0.008);
  EXPECT_LT(second.alone_seconds, 0.008);
  EXPECT_DOUBLE_EQ(first.alone_seconds, first.together_seconds);
  EXPECT_NEAR(second.together_seconds, 0.040, 0.006);
}

TEST(JobEngineTest, AJobOfWhichNoLookCouldTellHasNoLedger) { EXPECT_TRUE(Play({}, 1).ledger.ledger.empty()); }

TEST(JobEngineTest, LargerJobOverManyHosts) {
  const PlayedJob run =
      Play({.ranks = 32, .ranks_per_host = 2, .noise = {.own_cv = 0.1}, .slow = {{17, 20, kForever, 1.3}}}, 45);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_EQ(run.causes.begin()->first, "slow:node-8/rank17");
  EXPECT_EQ(run.ranks.size(), 32u);
  EXPECT_EQ(run.summary.world_size, 32);
  EXPECT_GT(run.ranks[17].own_seconds_per_step, 1.2 * run.ranks[5].own_seconds_per_step);
}

TEST(JobEngineTest, SlowStepsOfSeveralSecondsAreJudgedToo) {
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].own_seconds = 2;
  const PlayedJob run = Play({.program = program, .noise = {.own_cv = 0.02}, .slow = {{1, 60, kForever, 1.3}}}, 150);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_EQ(run.causes.begin()->first, "slow:node-0/rank1");
}

// The long version of this, with rates, is in docs/detection.md.
TEST(JobEngineTest, UglyNoiseAccusesNobody) {
  for (uint64_t seed = 1000; seed < 1010; ++seed) {
    const PlayedJob run = Play({.noise = UglyNoise(), .seed = seed}, 300);
    EXPECT_TRUE(run.causes.empty()) << "seed " << seed << "\n" << run.log;
    EXPECT_GT(run.summary.steps, 1500);
  }
}

TEST(JobEngineTest, NaturalDifferencesAreNoFault) {
  const PlayedJob run =
      Play({.noise = {.own_cv = 0.01}, .slow = {{0, 0, kForever, 1.03}, {3, 0, kForever, 0.97}}}, 120);
  EXPECT_TRUE(run.causes.empty()) << run.log;
}

TEST(JobEngineTest, FindsAGrossFaultInUglyNoise) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const PlayedJob run = Play({.noise = UglyNoise(), .slow = {{2, 20, kForever, 1.5}}, .seed = seed}, 45);
    found += run.causes.contains("slow:node-0/rank2") ? 1 : 0;
    EXPECT_LE(run.causes.size(), 1u) << run.log;
  }
  EXPECT_GE(found, 19);
}

TEST(JobEngineTest, NamesAStoppedRankWhereverItWasStopped) {
  for (int i = 0; i < 24; ++i) {  // onsets all over the step
    const double onset = 20 + 0.0047 * i;
    const PlayedJob run = Play({.standstills = {{3, onset, onset + 10}}, .seed = static_cast<uint64_t>(i)}, 60);
    ASSERT_EQ(run.causes.size(), 1u) << "onset " << onset << "\n" << run.log;
    const auto& [key, seen] = *run.causes.begin();
    EXPECT_EQ(key, "hang:node-0/rank3");
    EXPECT_LE(seen.first - onset, 7);
    EXPECT_LE(seen.last, onset + 11);
    EXPECT_EQ(seen.newest.culprits.size(), 1u);
    EXPECT_NE(run.log.find("stopped by a signal"), std::string::npos);
    EXPECT_EQ(run.states[26], JobState::kHung);
    EXPECT_EQ(run.states[58], JobState::kHealthy);
  }
}

TEST(JobEngineTest, ARunningRankThatNeverEntersIsNamedToo) {
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].transfer_seconds = 0;
  const PlayedJob run = Play({.program = program, .standstills = {{1, 20.03, 40, ProcessState::kRunning}}}, 45);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_EQ(run.causes.begin()->first, "hang:node-0/rank1");
  EXPECT_EQ(run.causes.begin()->second.newest.verdict_class, VerdictClass::kHangNotEntered);
}

TEST(JobEngineTest, ADeadProcessIsNamed) {
  const PlayedJob run = Play({.standstills = {{1, 20.03, kForever, ProcessState::kGone}}}, 40);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_EQ(run.causes.begin()->first, "hang:node-0/rank1");
  EXPECT_EQ(run.causes.begin()->second.newest.verdict_class, VerdictClass::kProcessDead);
  EXPECT_LE(run.causes.begin()->second.first - 20.03, 3);
}

TEST(JobEngineTest, AJobThatEndsInOrderIsEndedAndNobodyIsAccused) {
  const PlayedJob run = Play({.ends_at = 20}, 40);
  EXPECT_TRUE(run.causes.empty()) << run.log;
  EXPECT_EQ(run.summary.state, JobState::kEnded);
}

TEST(JobEngineTest, StartUpAccusesNobody) {
  const PlayedJob run = Play({.standstills = {{2, 0, 30, ProcessState::kRunning}}}, 29);
  EXPECT_TRUE(run.causes.empty()) << run.log;
}

TEST(JobEngineTest, APauseOfAllRanksIsAPause) {
  std::vector<Standstill> all;
  for (int rank = 0; rank < 4; ++rank) all.push_back({rank, 20, 32, ProcessState::kRunning});
  std::vector<GeneratedOperation> program = WorldOnlyProgram();
  program[0].transfer_seconds = 0;
  const PlayedJob run = Play({.program = program, .noise = {.own_cv = 0}, .standstills = all}, 60);
  EXPECT_TRUE(run.causes.empty()) << run.log;
  EXPECT_EQ(run.states[29], JobState::kIrregular);
  EXPECT_EQ(run.states[58], JobState::kHealthy);
}

TEST(JobEngineTest, ASilentHostIsUnreachableOnlyIfTheJobStandsStill) {
  for (const bool dead : {true, false}) {
    JobGeneratorOptions options{.ranks_per_host = 1};
    if (dead) options.standstills = {{2, 20, kForever}};
    JobGenerator generator(options);
    JobEngine engine({});
    std::set<std::string> causes;
    while (generator.NowSeconds() < 50) {
      for (const HostReport& report : generator.NextReports()) {
        if (report.host != "node-2" || generator.NowSeconds() < 20) engine.Observe(report);
      }
      for (const Verdict& verdict : engine.Evaluate(generator.NowNanos()).verdicts) {
        causes.insert(CauseKey(verdict) + " " + Name(verdict.verdict_class));
      }
    }
    if (dead) {
      EXPECT_EQ(causes, std::set<std::string>{"hang:node-2 machine_unreachable"});
    } else {
      EXPECT_TRUE(causes.empty()) << *causes.begin();
    }
  }
}

TEST(JobEngineTest, AHostThatIsSilentWhileNobodyWaitsForItIsNotAccused) {
  JobGeneratorOptions options{.ranks_per_host = 1, .program = WorldOnlyProgram(), .noise = {.own_cv = 0}};
  options.program[0].transfer_seconds = 0;
  for (int rank = 0; rank < 4; ++rank) options.standstills.push_back({rank, 20, 40, ProcessState::kRunning});
  JobGenerator generator(options);
  JobEngine engine({});
  while (generator.NowSeconds() < 50) {
    const bool silent = generator.NowSeconds() > 20 && generator.NowSeconds() < 40;
    for (const HostReport& report : generator.NextReports()) {
      if (report.host != "node-2" || !silent) engine.Observe(report);
    }
    for (const Verdict& verdict : engine.Evaluate(generator.NowNanos()).verdicts) {
      EXPECT_FALSE(AccusesNode(verdict)) << CauseKey(verdict) << " at " << generator.NowSeconds();
    }
  }
}

TEST(JobEngineTest, WithoutReportsThereIsNothingToConclude) {
  JobGenerator generator({});
  JobEngine engine({});
  EXPECT_FALSE(engine.Evaluate(1).can_conclude);
  for (const HostReport& report : generator.NextReports()) engine.Observe(report);
  EXPECT_TRUE(engine.Evaluate(generator.NowNanos()).can_conclude);
  EXPECT_FALSE(engine.Evaluate(generator.NowNanos() + 10 * kNanosPerSecond).can_conclude);
}

TEST(JobEngineTest, SameInputSameBytesAndHostsMayReportInAnyOrder) {
  const JobGeneratorOptions options{
      .ranks_per_host = 1, .noise = UglyNoise(), .slow = {{2, 15, 30, 1.6}}, .standstills = {{1, 40, 50}}, .seed = 3};
  const PlayedJob run = Play(options, 60);
  EXPECT_EQ(run.causes.size(), 2u);
  EXPECT_EQ(run.log, Play(options, 60).log);
  const PlayedJob reversed = Play(options, 60, /*reversed=*/true);
  ASSERT_EQ(run.causes.size(), reversed.causes.size());
  for (const auto& [key, seen] : run.causes) {
    ASSERT_TRUE(reversed.causes.contains(key)) << key;
    EXPECT_NEAR(seen.first, reversed.causes.at(key).first, 2) << key;
  }
}

TEST(JobEngineTest, ANewProcessBeginsANewIncarnation) {
  JobGenerator first({.slow = {{2, 0, kForever, 2}}});
  EngineDriver driver({});
  while (first.NowSeconds() < 20) {
    const std::vector<HostReport> reports = first.NextReports();
    driver.Hear(reports, first.NowNanos());
  }
  EXPECT_EQ(driver.Evaluate(first.NowNanos()).verdicts.size(), 1u);
  std::vector<HostReport> old = first.NextReports();
  JobGenerator second({.seed = 9});
  while (second.NowSeconds() < 30) {
    for (HostReport report : second.NextReports()) {
      report.received_ns += 100 * kNanosPerSecond;
      for (RankView& rank : report.ranks) rank.process_start_ticks = 500;
      driver.Record(report);
      driver.Deliver(report);
      for (const RankView& rank : old[0].ranks) report.ranks = {rank};  // a straggling report of the old one
      driver.Deliver(report);
    }
    EXPECT_TRUE(driver.Evaluate(second.NowNanos() + 100 * kNanosPerSecond).verdicts.empty());
  }
  EXPECT_EQ(driver.engine().summary().state, JobState::kHealthy);
  EXPECT_LT(driver.engine().summary().steps, 700);
}

// Both report, the newer from `later` seconds on and ahead of the other: from hosts of its own, or else from the same.
void TellOfBoth(EngineDriver& driver, JobGenerator& older, JobGenerator& newer, const std::string& host_prefix,
                double later) {
  std::vector<HostReport> reports = older.NextReports();
  std::vector<HostReport> ahead;
  for (HostReport other : newer.NextReports()) {
    if (older.NowSeconds() < later) continue;
    other.host = absl::StrCat(host_prefix, other.host);
    for (RankView& rank : other.ranks) {
      rank.pid += 10'000;
      rank.process_start_ticks = 500;
      for (CommunicatorView& communicator : rank.communicators) communicator.id += 1'000;
    }
    if (host_prefix.empty()) {
      const auto same =
          std::find_if(reports.begin(), reports.end(), [&](const auto& r) { return r.host == other.host; });
      same->ranks.insert(same->ranks.begin(), other.ranks.begin(), other.ranks.end());
    } else {
      ahead.push_back(std::move(other));
    }
  }
  reports.insert(reports.begin(), ahead.begin(), ahead.end());
  driver.Hear(reports, older.NowNanos());
}

// The older has a slow rank, which the newer has not.
TEST(JobEngineTest, OfTwoJobsUnderOneNameTheOlderIsJudgedAndTheOtherIsTold) {
  for (const std::string prefix : {"other-", ""}) {
    JobGenerator older({.slow = {{2, 0, kForever, 2}}});
    JobGenerator newer({.seed = 9});
    EngineDriver driver({});
    while (older.NowSeconds() < 20) TellOfBoth(driver, older, newer, prefix, 10);
    EXPECT_GT(driver.engine().summary().name_conflicts, 0u) << "'" << prefix << "'";
    while (older.NowSeconds() < 40) TellOfBoth(driver, older, newer, prefix, 10);
    const JobEngine::Conclusion conclusion = driver.Evaluate(older.NowNanos());
    ASSERT_EQ(conclusion.verdicts.size(), 1u) << "'" << prefix << "'";
    EXPECT_EQ(CauseKey(conclusion.verdicts[0]), "slow:node-0/rank2");
    const JobSummary summary = driver.engine().summary();
    EXPECT_EQ(summary.world_size, 4);
    ASSERT_TRUE(summary.name_conflict.has_value());
    EXPECT_EQ(summary.name_conflict->kept_host, "node-0");
    EXPECT_EQ(summary.name_conflict->other_host, absl::StrCat(prefix, "node-0"));
    EXPECT_EQ(summary.name_conflict->other_pid, summary.name_conflict->kept_pid + 10'000);
  }
}

TEST(JobEngineTest, RanksThatTheOlderJobHasNotAreNotAddedToIt) {
  JobGenerator older({});
  JobGenerator newer({.ranks = 8, .seed = 9});
  EngineDriver driver({});
  while (older.NowSeconds() < 20) TellOfBoth(driver, older, newer, "other-", 10);
  EXPECT_EQ(driver.engine().summary().world_size, 4);
  EXPECT_EQ(driver.engine().ranks().size(), 4u);
}

TEST(JobEngineTest, AJobThatIsStartedElsewhereIsNoConflict) {
  JobGenerator older({});
  JobGenerator newer({.seed = 9});
  EngineDriver driver({});
  while (older.NowSeconds() < 20) TellOfBoth(driver, older, newer, "other-", 100);
  while (newer.NowSeconds() < 60) {
    std::vector<HostReport> reports = newer.NextReports();
    for (HostReport& report : reports) {
      report.host = absl::StrCat("other-", report.host);
      for (RankView& rank : report.ranks) rank.process_start_ticks = 500;
    }
    driver.Hear(reports, newer.NowNanos());
  }
  EXPECT_EQ(driver.engine().summary().name_conflicts, 0u);
  EXPECT_EQ(driver.engine().summary().state, JobState::kHealthy) << driver.engine().summary().note;
  for (const RankSummary& rank : driver.engine().ranks()) EXPECT_EQ(rank.host, "other-node-0");
}

TEST(JobEngineTest, LostRecordsAbstainInsteadOfAccusing) {
  JobGenerator generator({.slow = {{2, 0, kForever, 2}}});
  JobEngine engine({});
  while (generator.NowSeconds() < 30) {
    for (HostReport& report : generator.NextReports()) {
      report.dropped_records = 5;
      engine.Observe(report);
    }
    EXPECT_TRUE(engine.Evaluate(generator.NowNanos()).verdicts.empty());
  }
  EXPECT_EQ(engine.summary().state, JobState::kUnknown) << engine.summary().note;
  EXPECT_EQ(engine.summary().records_lost, 150u);
}

// Whatever is in a report, the engine neither crashes nor grows without bound.
TEST(JobEngineTest, SurvivesContradictoryReports) {
  Random random(21);
  JobEngineOptions options;
  options.max_ranks = 16;
  options.max_communicators = 8;
  options.max_series = 4;
  JobEngine engine(options);
  const auto any = [&](int64_t bound) { return static_cast<int32_t>(random.Below(static_cast<uint64_t>(bound))) - 2; };
  for (int i = 0; i < 3000; ++i) {
    HostReport report{.host = "h" + std::to_string(random.Below(4)), .received_ns = i * 100'000'000ll};
    for (uint64_t r = 0; r < random.Below(4); ++r) {
      RankView rank{.rank = any(24), .world_size = any(1 << 20), .pid = any(4), .process_start_ticks = random.Below(2)};
      rank.process_state = static_cast<ProcessState>(random.Below(6));
      rank.finalized = random.Below(40) == 0;
      for (uint64_t c = 0; c < random.Below(4); ++c) {
        CommunicatorView view{.id = random.Below(12), .size = any(9), .communicator_rank = any(9)};
        view.enqueued = random.Next() >> random.Below(64);
        view.finished = random.Next() >> random.Below(64);
        view.idle_ns = static_cast<int64_t>(random.Next() >> 20);
        if (random.Below(2) == 0) {
          view.oldest_in_flight = InFlightOperation{.kind = static_cast<OperationKind>(random.Below(14)),
                                                    .sequence = random.Below(9),
                                                    .age_ns = static_cast<int64_t>(random.Next() >> 24),
                                                    .peer = any(12)};
        }
        for (uint64_t o = 0; o < random.Below(6); ++o) {
          view.operations.push_back({.kind = static_cast<OperationKind>(random.Below(14)),
                                     .sequence = random.Below(3) == 0 ? random.Next() : random.Below(30),
                                     .start_ns = static_cast<int64_t>(random.Below(1'000'000)),
                                     .end_ns = static_cast<int64_t>(random.Below(2'000'000))});
        }
        rank.communicators.push_back(view);
      }
      report.ranks.push_back(rank);
    }
    report.samples.push_back(
        {.metric = Metric::kHostLoad1, .host_ns = i, .value = std::numeric_limits<double>::infinity()});
    engine.Observe(report);
    for (const Verdict& verdict : engine.Evaluate(report.received_ns).verdicts)
      EXPECT_FALSE(ToJsonLine(verdict).empty());
  }
  EXPECT_GT(engine.summary().records_discarded, 0u);
  EXPECT_LE(engine.ranks().size(), 16u);
}

}  // namespace
}  // namespace lockstep
