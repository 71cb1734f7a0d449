#include "detector/hang/trace_hangs.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "detector/hang/precedents.h"
#include "detector/hang/trace_frontier.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/testing/scripted_job.h"
#include "detector/verdict/verdict.h"
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

std::vector<Verdict> VerdictsOf(const Trace& trace, absl::Span<const HostEvent> events, bool stalls_pass) {
  return FindHangs(FrontierOf(trace), events, stalls_pass).verdicts;
}

int64_t LastMoment(const Trace& trace, size_t rank) {
  int64_t last_ns = 0;
  for (const TraceOperation& operation : trace.OperationsOf(rank)) {
    last_ns = std::max({last_ns, operation.enqueue_ns, operation.start_ns, operation.end_ns});
  }
  return last_ns;
}

// Somebody looked at every rank so long after its last record.
void LookAfter(int64_t after_ns, Trace* trace) {
  for (size_t rank = 0; rank < trace->ranks.size(); ++rank) {
    trace->ranks[rank].last_seen_ns = LastMoment(*trace, rank) + after_ns;
  }
}

constexpr int64_t kLongAfterNs = 60'000'000'000;

// The hosts of ranks that stand somewhere call one more operation so long after the last record of theirs.
void CallOneMore(int64_t after_ns, Trace* trace) {
  for (size_t rank = trace->ranks.size(); rank-- > 0;) {
    const absl::Span<const TraceOperation> operations = trace->OperationsOf(rank);
    if (operations.empty() || operations.back().finished()) continue;
    TraceOperation next = operations.back();
    ++next.sequence;
    next.enqueue_ns = LastMoment(*trace, rank) + after_ns;
    next.start_ns = kNoTime;
    const auto end = static_cast<std::ptrdiff_t>(trace->first_operation[rank + 1]);
    trace->operations.insert(trace->operations.begin() + end, next);
    for (size_t r = rank + 1; r < trace->first_operation.size(); ++r) ++trace->first_operation[r];
  }
}

// What records tell that were looked at long after everything came to rest. Without the look they tell no more, and
// often nothing; a dump of active work tells the same without.
std::vector<Verdict> FindLong(Trace trace, ScriptedRecords records) {
  const std::vector<Verdict> without = VerdictsOf(trace, {}, false);
  LookAfter(kLongAfterNs, &trace);
  std::vector<Verdict> with = VerdictsOf(trace, {}, false);
  const std::set<int32_t> accused = Accused(with), before = Accused(without);
  EXPECT_TRUE(std::includes(accused.begin(), accused.end(), before.begin(), before.end())) << Told(without);
  if (records == ScriptedRecords::kActiveOnly) {
    EXPECT_EQ(accused, before);
  }
  return with;
}

TEST(Hang, NamesExactlyTheRanksWhoseProgramStopped) {
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
      const std::vector<Verdict> verdicts = FindLong(run.trace, records);
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

TEST(Hang, NamesTheGpuThatNeverBegan) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    job.gpu_stops_at[rank] = SomeCall(job, rank, random);
    const ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
    const std::vector<Verdict> verdicts = FindLong(run.trace, ScriptedRecords::kFull);
    ASSERT_EQ(Accused(verdicts), std::set<int32_t>{static_cast<int32_t>(rank)}) << "seed " << seed << "\n"
                                                                                << Told(verdicts);
    EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
  }
}

TEST(Hang, AStuckTransferListsItsMembersAndNobodyElse) {
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
      const std::vector<Verdict> verdicts = FindLong(run.trace, records);
      ASSERT_EQ(verdicts.size(), 1u) << "seed " << seed << "\n" << Told(verdicts);
      ASSERT_EQ(Accused(verdicts), truth) << "seed " << seed << " records " << static_cast<int>(records) << "\n"
                                          << Told(verdicts);
      EXPECT_EQ(verdicts[0].scope, VerdictScope::kNetwork);
      EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
    }
  }
}

TEST(Hang, AnotherCallAtTheSamePlaceIsSoftware) {
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
      const std::vector<Verdict> verdicts = FindLong(run.trace, records);
      ASSERT_EQ(verdicts.size(), 1u) << "seed " << seed << "\n" << Told(verdicts);
      EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCollectiveMismatch) << Told(verdicts);
      EXPECT_EQ(verdicts[0].scope, VerdictScope::kSoftware);
      ASSERT_TRUE(Accused(verdicts).contains(static_cast<int32_t>(rank))) << "seed " << seed << "\n" << Told(verdicts);
    }
  }
}

TEST(Hang, TwoGroupsEnteredInAnotherOrderAreADeadlock) {
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
    const std::vector<Verdict> verdicts = VerdictsOf(run.trace, {}, false);
    ASSERT_EQ(verdicts.size(), 1u) << "seed " << seed << "\n" << Told(verdicts);
    EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock) << "seed " << seed << Told(verdicts);
    EXPECT_EQ(Told(VerdictsOf(run.trace, {}, true)), Told(verdicts)) << "no stall looks like that";
    EXPECT_TRUE(Accused(verdicts).contains(static_cast<int32_t>(rank))) << "seed " << seed << "\n" << Told(verdicts);
  }
  EXPECT_GT(deadlocks, 15);
}

TEST(Hang, RecordsThatMerelyEndAccuseNobody) {
  int open_questions = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const ScriptedJob job = JobFrom(random);
    const ScriptedRun whole = RunScript(job, ScriptedRecords::kFull, random);
    ASSERT_TRUE(whole.finished);
    EXPECT_TRUE(VerdictsOf(whole.trace, {}, false).empty());
    const auto cut_ns = static_cast<int64_t>(random.Below(static_cast<uint64_t>(whole.end_ns)));
    const ScriptedRun cut = RunScript(job, ScriptedRecords::kFull, random, cut_ns);
    // Before anything has ended nothing tells what is usual.
    if (!HasPrecedents(FrontierOf(cut.trace))) continue;
    const HangFindings found = FindHangs(FrontierOf(cut.trace), {}, false);
    EXPECT_TRUE(found.verdicts.empty()) << "seed " << seed << "\n" << Told(found.verdicts);
    if (found.open_question.has_value()) ++open_questions;
  }
  EXPECT_GT(open_questions, 5) << "moments in which all but the last one wait";
}

TEST(Hang, ALookThatIsFreshTellsAJobUnderWay) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    ScriptedJob job = JobFrom(random);
    const size_t rank = random.Below(job.programs.size());
    job.host_stops_at[rank] = SomeCall(job, rank, random);
    ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
    Trace& trace = run.trace;
    LookAfter(1'000'000, &trace);
    EXPECT_TRUE(VerdictsOf(trace, {}, false).empty()) << "seed " << seed;
    LookAfter(kLongAfterNs, &trace);
    EXPECT_EQ(Accused(VerdictsOf(trace, {}, false)), std::set<int32_t>{static_cast<int32_t>(rank)}) << "seed " << seed;
  }
}

// The same with every record lost with the same chance.
Trace WithLosses(Trace trace, double share, Random& random) {
  Trace left = trace;
  left.operations.clear();
  left.first_operation.clear();
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    left.first_operation.push_back(left.operations.size());
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      if (random.Unit() < share) {
        ++left.lost_records;
      } else {
        left.operations.push_back(operation);
      }
    }
  }
  left.first_operation.push_back(left.operations.size());
  return left;
}

TEST(Hang, LostRecordsSeldomAccuseInnocents) {
  int wrong = 0, right = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    ScriptedJob job = RandomJob(4, 4, 4, 3, random);
    job.host_lead = 1;
    const size_t rank = random.Below(job.programs.size());
    job.host_stops_at[rank] = SomeCall(job, rank, random);
    Trace trace = RunScript(job, ScriptedRecords::kFull, random).trace;
    LookAfter(kLongAfterNs, &trace);
    const std::set<int32_t> accused = Accused(VerdictsOf(WithLosses(trace, 0.01, random), {}, false));
    const bool named = accused.contains(static_cast<int32_t>(rank));
    right += named ? 1 : 0;
    wrong += accused.size() > (named ? 1u : 0u) ? 1 : 0;
  }
  EXPECT_GE(right, 190);
  EXPECT_LE(wrong, 40) << "109 when all causes are believed, 23 here: of two that all wait for, both are named";
}

class FourRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int call = 0; call < 4; ++call) {
      for (auto& program : job_.programs) program.push_back({.communicator = 0});
    }
  }
  std::vector<Verdict> Find() { return VerdictsOf(trace_, events_, false); }
  // Operations take less than 2 ms. What hosts still call tells that the others wait for longer than that.
  void Play() {
    trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace;
    CallOneMore(5'000'000, &trace_);
  }

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
  EXPECT_EQ(Accused(VerdictsOf(trace_, {}, false)), std::set<int32_t>{2});
  EXPECT_TRUE(VerdictsOf(trace_, {}, true).empty());
  trace_.ranks[2].process_state = ProcessState::kGone;
  EXPECT_EQ(Accused(VerdictsOf(trace_, {}, true)), std::set<int32_t>{2});
}

TEST_F(FourRanks, AWaitLikeThoseBeforeIsAnOpenQuestion) {
  job_.host_stops_at[2] = 2;
  trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace;
  const Trace played = trace_;
  for (const int64_t after_ns : {0, 200'000}) {
    trace_ = played;
    CallOneMore(after_ns, &trace_);
    const HangFindings found = FindHangs(FrontierOf(trace_), {}, false);
    EXPECT_TRUE(found.verdicts.empty()) << Told(found.verdicts);
    ASSERT_TRUE(found.open_question.has_value());
    EXPECT_NE(found.open_question->waited_for.find("rank 2"), std::string::npos) << found.open_question->waited_for;
    EXPECT_EQ(found.open_question->ranks, 4u);
  }
  CallOneMore(5'000'000, &trace_);
  const HangFindings found = FindHangs(FrontierOf(trace_), {}, false);
  EXPECT_EQ(Accused(found.verdicts), std::set<int32_t>{2});
  EXPECT_FALSE(found.open_question.has_value());
}

TEST_F(FourRanks, ADumpOfCallsIsWrittenWhenAWatchdogHasWaitedLongEnough) {
  job_.host_stops_at[2] = 2;
  trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace;
  EXPECT_TRUE(Find().empty());
  for (TraceOperation& operation : trace_.operations) operation.quality = TimingQuality::kHostEnqueue;
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{2});
}

TEST_F(FourRanks, TheKernelAnswersAnOpenQuestion) {
  job_.gpu_stops_at[1] = 2;
  trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace;
  trace_.ranks[1].pid = 41;
  EXPECT_TRUE(Find().empty());
  const int64_t broken_ns = trace_.OperationsOf(1)[1].end_ns;
  events_ = {{"h0", {.kind = KernelEventKind::kXid, .code = 79, .pid = 41, .host_ns = broken_ns}}};
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{1});
  events_[0].event.host_ns -= 10'000'000'000;
  EXPECT_TRUE(Find().empty()) << "it has finished operations long after that";
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
  const int64_t broken_ns = trace_.OperationsOf(1)[1].end_ns;
  events_ = {{"h0", {.kind = KernelEventKind::kXid, .code = 79, .pid = 41, .host_ns = broken_ns}}};
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
  for (auto& program : job_.programs) program.resize(8, program.front());
  job_.programs[3][6].never_ends = true;
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
  CallOneMore(5'000'000, &trace_);
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
