#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/input.h"
#include "detector/progress/trace_hang_verdict.h"
#include "detector/testing/scripted_job.h"
#include "detector/trace/trace.h"
#include "detector/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr ScriptedRecords kAllRecords[] = {ScriptedRecords::kFull, ScriptedRecords::kOneTime,
                                           ScriptedRecords::kActiveOnly};

ScriptedJob JobFrom(Random& random) {
  const auto two_or_four = [&] { return static_cast<int32_t>(2 << random.Below(2)); };
  ScriptedJob job = RandomJob(two_or_four(), two_or_four(), two_or_four(), 3, random);
  job.host_lead = 1 + random.Below(12);
  return job;
}

size_t SomeCall(const ScriptedJob& job, size_t rank, Random& random) {
  return 1 + random.Below(job.programs[rank].size() - 1);
}

std::string Told(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) text += ToJsonLine(verdict) + "\n";
  return text;
}

std::set<int32_t> Accused(const std::vector<Verdict>& verdicts) {
  std::set<int32_t> ranks;
  for (const Verdict& verdict : verdicts) {
    for (const Culprit& culprit : verdict.culprits) ranks.insert(culprit.rank);
  }
  return ranks;
}

TEST(TraceHang, NamesExactlyTheRanksWhoseProgramStopped) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    std::set<int32_t> truth;
    const uint64_t culprits = 1 + random.Below(2);
    const size_t call = SomeCall(job, 0, random);
    for (uint64_t i = 0; i < culprits; ++i) {
      const size_t rank = random.Below(job.programs.size());
      job.host_stops_at[rank] = std::min(call, job.programs[rank].size() - 1);
      truth.insert(static_cast<int32_t>(rank));
    }
    for (const ScriptedRecords records : kAllRecords) {
      const ScriptedRun run = RunScript(job, records, random);
      const std::vector<Verdict> verdicts = FindTraceHangs(run.trace, {}, false);
      ASSERT_FALSE(verdicts.empty()) << "seed " << seed;
      // Of two that stop at different places, one may itself be kept from coming to its place by the other.
      const std::set<int32_t> accused = Accused(verdicts);
      ASSERT_TRUE(std::includes(truth.begin(), truth.end(), accused.begin(), accused.end()))
          << "seed " << seed << " records " << static_cast<int>(records) << "\n"
          << Told(verdicts);
      if (truth.size() == 1) {
        ASSERT_EQ(accused, truth) << "seed " << seed << "\n" << Told(verdicts);
      }
      for (const Verdict& verdict : verdicts) {
        ASSERT_EQ(verdict.verdict_class, VerdictClass::kHangNotEntered) << "seed " << seed << "\n" << Told(verdicts);
      }
    }
  }
}

TEST(TraceHang, NamesTheGpuThatNeverBegan) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    job.gpu_stops_at[rank] = SomeCall(job, rank, random);
    const ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
    const std::vector<Verdict> verdicts = FindTraceHangs(run.trace, {}, false);
    ASSERT_EQ(Accused(verdicts), std::set<int32_t>{static_cast<int32_t>(rank)}) << "seed " << seed << "\n"
                                                                                << Told(verdicts);
    EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
  }
}

TEST(TraceHang, AStuckTransferListsItsMembersAndNobodyElse) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    const size_t call = SomeCall(job, rank, random);
    ScriptedCall& stuck = job.programs[rank][call];
    stuck.never_ends = true;
    const std::vector<int32_t>& members = job.communicators[static_cast<size_t>(stuck.communicator)];
    std::set<int32_t> truth(members.begin(), members.end());
    if (stuck.peer >= 0) truth = {static_cast<int32_t>(rank), members[static_cast<size_t>(stuck.peer)]};
    for (const ScriptedRecords records : kAllRecords) {
      const ScriptedRun run = RunScript(job, records, random);
      const std::vector<Verdict> verdicts = FindTraceHangs(run.trace, {}, false);
      ASSERT_EQ(verdicts.size(), 1u) << "seed " << seed << "\n" << Told(verdicts);
      ASSERT_EQ(Accused(verdicts), truth) << "seed " << seed << " records " << static_cast<int>(records) << "\n"
                                          << Told(verdicts);
      EXPECT_EQ(verdicts[0].scope, VerdictScope::kNetwork);
      EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
    }
  }
}

TEST(TraceHang, AnotherCallAtTheSamePlaceIsSoftware) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    size_t call = SomeCall(job, rank, random);
    while (job.programs[rank][call].peer >= 0) call = (call + 1) % job.programs[rank].size();
    ScriptedCall& wrong = job.programs[rank][call];
    if (random.Below(2) == 0) {
      wrong.bytes *= 2;
    } else {
      wrong.kind = OperationKind::kBarrier;
    }
    for (const ScriptedRecords records : kAllRecords) {
      const ScriptedRun run = RunScript(job, records, random);
      const std::vector<Verdict> verdicts = FindTraceHangs(run.trace, {}, false);
      ASSERT_EQ(verdicts.size(), 1u) << "seed " << seed << "\n" << Told(verdicts);
      EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCollectiveMismatch) << Told(verdicts);
      EXPECT_EQ(verdicts[0].scope, VerdictScope::kSoftware);
      ASSERT_TRUE(Accused(verdicts).contains(static_cast<int32_t>(rank))) << "seed " << seed << "\n" << Told(verdicts);
    }
  }
}

TEST(TraceHang, TwoGroupsEnteredInAnotherOrderAreADeadlock) {
  int deadlocks = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    const size_t call = random.Below(job.programs[rank].size() - 1);
    std::vector<ScriptedCall>& program = job.programs[rank];
    if (program[call].communicator == program[call + 1].communicator) continue;
    if (program[call].peer >= 0 || program[call + 1].peer >= 0) continue;
    std::swap(program[call], program[call + 1]);
    const ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
    if (run.finished) continue;
    ++deadlocks;
    const std::vector<Verdict> verdicts = FindTraceHangs(run.trace, {}, false);
    ASSERT_EQ(verdicts.size(), 1u) << "seed " << seed << "\n" << Told(verdicts);
    EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock) << "seed " << seed << Told(verdicts);
    EXPECT_EQ(Told(FindTraceHangs(run.trace, {}, true)), Told(verdicts)) << "no stall looks like that";
    EXPECT_TRUE(Accused(verdicts).contains(static_cast<int32_t>(rank))) << "seed " << seed << "\n" << Told(verdicts);
  }
  EXPECT_GT(deadlocks, 15);
}

TEST(TraceHang, RecordsThatMerelyEndAreNoHang) {
  int accused = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const ScriptedJob job = JobFrom(random);
    const ScriptedRun whole = RunScript(job, ScriptedRecords::kFull, random);
    ASSERT_TRUE(whole.finished);
    EXPECT_TRUE(FindTraceHangs(whole.trace, {}, false).empty());
    const auto cut_ns = static_cast<int64_t>(random.Below(static_cast<uint64_t>(whole.end_ns)));
    const ScriptedRun cut = RunScript(job, ScriptedRecords::kFull, random, cut_ns);
    if (!FindTraceHangs(cut.trace, {}, false).empty()) ++accused;
  }
  // A snapshot in which all but the last one wait cannot be told from a hang without a clock; it must be rare (10
  // here).
  EXPECT_LE(accused, 10);
}

TEST(TraceHang, ALookThatIsFreshTellsAJobUnderWay) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    job.host_stops_at[rank] = SomeCall(job, rank, random);
    ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
    Trace& trace = run.trace;
    const auto look = [&](int64_t after_ns) {
      for (size_t r = 0; r < trace.ranks.size(); ++r) {
        int64_t newest = 0;
        for (const TraceOperation& operation : trace.OperationsOf(r)) {
          newest = std::max({newest, operation.enqueue_ns, operation.start_ns, operation.end_ns});
        }
        trace.ranks[r].last_seen_ns = newest + after_ns;
      }
    };
    look(1'000'000);
    EXPECT_TRUE(FindTraceHangs(trace, {}, false).empty()) << "seed " << seed;
    look(60'000'000'000);
    EXPECT_EQ(Accused(FindTraceHangs(trace, {}, false)), std::set<int32_t>{static_cast<int32_t>(rank)})
        << "seed " << seed;
  }
}

class FourRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int call = 0; call < 4; ++call) {
      for (auto& program : job_.programs) program.push_back({.communicator = 0});
    }
  }
  std::vector<Verdict> Find() { return FindTraceHangs(trace_, events_, false); }
  void Play() { trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace; }

  Random random_{1};
  ScriptedJob job_{.gpus_per_host = 2,
                   .communicators = {{0, 1, 2, 3}},
                   .programs = std::vector<std::vector<ScriptedCall>>(4),
                   .host_stops_at = std::vector<size_t>(4, ScriptedJob::kNever),
                   .gpu_stops_at = std::vector<size_t>(4, ScriptedJob::kNever)};
  Trace trace_;
  std::vector<HostEvent> events_;
};

TEST_F(FourRanks, ADeadProcessIsNamedAsDead) {
  job_.host_stops_at[2] = 2;
  Play();
  trace_.ranks[2].process_state = ProcessState::kGone;
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{2});
}

TEST_F(FourRanks, ADeadProcessThatNobodyWaitsForIsNamedUnlessAllHaveEnded) {
  Play();
  trace_.ranks[1].process_state = ProcessState::kGone;
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{1});
  for (TraceRank& rank : trace_.ranks) rank.process_state = ProcessState::kGone;
  EXPECT_TRUE(Find().empty());
}

TEST_F(FourRanks, WhoIsMissingBesideADeadProcessIsNotNamed) {
  job_.host_stops_at[1] = job_.host_stops_at[2] = 2;
  Play();
  trace_.ranks[2].process_state = ProcessState::kGone;
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{2});
}

TEST_F(FourRanks, WhereStallsPassAWaitWithoutAgeIsOneOfThem) {
  job_.host_stops_at[2] = 2;
  Play();
  EXPECT_EQ(Accused(FindTraceHangs(trace_, {}, false)), std::set<int32_t>{2});
  EXPECT_TRUE(FindTraceHangs(trace_, {}, true).empty());
  trace_.ranks[2].process_state = ProcessState::kGone;
  EXPECT_EQ(Accused(FindTraceHangs(trace_, {}, true)), std::set<int32_t>{2});
}

TEST_F(FourRanks, AnAbsenceThatLossExplainsAccusesNobody) {
  job_.host_stops_at[2] = 2;
  Play();
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{2});
  trace_.lost_records = trace_.operations.size() / 10;
  EXPECT_TRUE(Find().empty());
}

TEST_F(FourRanks, AProcessThatDiedInsideIsNamedAndNotItsGroup) {
  job_.programs[3][2].never_ends = true;
  Play();
  trace_.ranks[3].process_state = ProcessState::kZombie;
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{3});
}

TEST_F(FourRanks, AFatalXidMakesItAFaultOfTheGpu) {
  job_.gpu_stops_at[1] = 2;
  Play();
  trace_.ranks[1].pid = 41;
  trace_.ranks[0].pid = 40;
  events_ = {{"h0", {.kind = KernelEventKind::kXid, .code = 79, .pid = 41}}};
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{1});
}

TEST_F(FourRanks, ASecondBrokenGpuIsNamedThoughNobodyWaitsForItYet) {
  job_.gpu_stops_at[1] = 2;
  Play();
  const int64_t broken_ns = trace_.OperationsOf(3)[1].end_ns;
  for (size_t rank = 0; rank < 4; ++rank) trace_.ranks[rank].gpu = static_cast<int32_t>(rank % 2);
  const KernelEvent of_first = {.kind = KernelEventKind::kXid, .code = 79, .device = "gpu1", .host_ns = broken_ns};
  events_ = {{"h0", of_first}, {"h1", of_first}};
  EXPECT_EQ(Accused(Find()), (std::set<int32_t>{1, 3}));
  for (const Verdict& verdict : Find()) EXPECT_EQ(verdict.verdict_class, VerdictClass::kGpuFault) << Told(Find());
  events_[1].event.host_ns -= 10'000'000'000;
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{1}) << "it has finished operations long after that";
  events_[1].event = {.kind = KernelEventKind::kXid, .code = 79, .device = "gpu7", .host_ns = broken_ns};
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{1}) << "the job has no such GPU";
}

TEST_F(FourRanks, AHostThatNobodyCouldLookAtIsUnreachableThoughItStoodInsideBefore) {
  job_.gpus_per_host = 1;
  job_.programs[3][2].never_ends = true;
  Play();
  EXPECT_EQ(Find()[0].verdict_class, VerdictClass::kHangInCommunication);
  for (size_t rank = 0; rank < 3; ++rank) trace_.ranks[rank].last_seen_ns = 3'600'000'000'000;
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kMachineUnreachable);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h3");
}

TEST_F(FourRanks, AHostOfWhichNothingStandsAnywhereIsUnreachable) {
  job_.host_stops_at[2] = job_.host_stops_at[3] = 2;
  Play();
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kMachineUnreachable);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h1");
  EXPECT_EQ(verdicts[0].culprits[0].rank, -1);
}

TEST_F(FourRanks, SomeRanksOfAHostAtWorkAreTheEndOfTheRecords) {
  job_.gpus_per_host = 4;
  job_.host_stops_at[1] = 2;
  Play();
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{1});
  job_.host_stops_at[2] = 2;
  Play();
  EXPECT_TRUE(Find().empty()) << Told(Find());
}

TEST_F(FourRanks, AMemberWithoutAnyRecordIsNotInnocent) {
  job_.host_stops_at[2] = 0;
  Play();
  trace_.communicators[0].members[2] = -1;
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{2});
}

TEST_F(FourRanks, WhoAloneDoesNotFinishIsStuckItself) {
  Play();
  TraceOperation& last = trace_.operations[trace_.first_operation[2] - 1];
  last.end_ns = kNoTime;
  for (size_t rank : {0u, 2u, 3u}) {
    // The others have gone on to one more operation.
    const size_t end = trace_.first_operation[rank + 1];
    TraceOperation next = trace_.operations[end - 1];
    ++next.sequence;
    next.enqueue_ns = next.start_ns = next.end_ns + 10;
    next.end_ns = kNoTime;
    trace_.operations.insert(trace_.operations.begin() + static_cast<std::ptrdiff_t>(end), next);
    for (size_t r = rank + 1; r < trace_.first_operation.size(); ++r) ++trace_.first_operation[r];
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{1});
}

TEST_F(FourRanks, OneCauseOneVerdictTheSameBytesEachTime) {
  job_.host_stops_at[0] = 1;
  Play();
  EXPECT_EQ(Told(Find()), Told(Find()));
}

}  // namespace
}  // namespace lockstep
