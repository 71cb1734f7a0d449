// The search for hangs in records, fact by fact: four ranks on two hosts and one communicator.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/hang/frontier.h"
#include "detector/hang/precedents.h"
#include "detector/hang/trace_frontier.h"
#include "detector/hang/trace_hangs.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/testing/asked_trace.h"
#include "detector/testing/scripted_job.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

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
    EXPECT_EQ(found.open_question->waited_for, std::vector<int32_t>{2});
    EXPECT_EQ(found.open_question->ranks, 4u);
  }
  CallOneMore(5'000'000, &trace_);
  const HangFindings found = FindHangs(FrontierOf(trace_), {}, false);
  EXPECT_EQ(Accused(found.verdicts), std::set<int32_t>{2});
  EXPECT_FALSE(found.open_question.has_value());
}

TEST_F(FourRanks, ADumpOfWhatIsOpenIsWrittenWhenAWatchdogHasWaitedLongEnough) {
  job_.host_stops_at[2] = 2;
  trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace;
  for (TraceOperation& operation : trace_.operations) operation.quality = TimingQuality::kHostEnqueue;
  EXPECT_TRUE(Find().empty()) << "what has ended shows a job under way, which may be dumped at any moment";
  std::vector<TraceOperation> open;
  for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
    const size_t begin = trace_.first_operation[rank], end = trace_.first_operation[rank + 1];
    trace_.first_operation[rank] = open.size();
    for (size_t i = begin; i < end; ++i) {
      if (trace_.operations[i].finished()) continue;
      // The host has called more: what it called has not begun, and nothing has ended.
      for (uint64_t later = 0; later < 4; ++later) {
        open.push_back(trace_.operations[i]);
        open.back().sequence += later;
      }
    }
  }
  trace_.first_operation.back() = open.size();
  trace_.operations = open;
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{2});
}

TEST_F(FourRanks, WhereMostLeftNoRecordNobodyIsAccusedOfThat) {
  job_.host_stops_at[2] = 0;
  trace_ = RunScript(job_, ScriptedRecords::kFull, random_).trace;
  const Trace played = trace_;
  for (const size_t left : {2u, 1u}) {
    trace_ = played;
    trace_.ranks.resize(left);
    trace_.first_operation.resize(left + 1);
    trace_.operations.resize(trace_.first_operation.back());
    std::set<int32_t> missing;
    for (int32_t rank = static_cast<int32_t>(left); rank < 4; ++rank) {
      trace_.communicators[0].members[static_cast<size_t>(rank)] = -1;
      trace_.missing_ranks.push_back(rank);
      if (left > 1) missing.insert(rank);
    }
    LookAfter(60'000'000'000, &trace_);
    const std::vector<Verdict> verdicts = Find();
    ASSERT_FALSE(verdicts.empty()) << left;
    EXPECT_EQ(Accused(verdicts), missing) << left << Told(verdicts);
    EXPECT_EQ(verdicts.back().verdict_class, VerdictClass::kHangNotEntered);
  }
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
  job_.host_stops_at[2] = 3;
  Play();
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{2});
  trace_.lost_records = trace_.operations.size() / 4;
  EXPECT_TRUE(Find().empty());
}

TEST_F(FourRanks, AnAbsenceOfManyCallsIsNoLoss) {
  for (std::vector<ScriptedCall>& program : job_.programs) program.resize(job_.host_lead, program.back());
  job_.host_stops_at[2] = 2;
  Play();
  trace_.lost_records = trace_.operations.size() / 4;
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{2}) << "the others have called six more: all six were not lost";
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

TEST_F(FourRanks, OfTwoHostsTheOneThatNobodyCouldLookAtIsUnreachable) {
  for (auto& program : job_.programs) program.back().never_ends = true;
  Play();
  LookAfter(60'000'000'000, &trace_);
  for (size_t rank = 2; rank < 4; ++rank) trace_.ranks[rank].last_seen_ns = kNoTime;
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kMachineUnreachable);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h1");
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

// Two ranks have left one collective and stand in the next, of which the times are begins; rank 0 has called two. Of
// rank 1 a call before the first began as it was called, and ended by `early_ended_ns`.
Frontier StandingIn(int64_t second_began_ns, Trace* trace, int64_t early_ended_ns = 90) {
  TraceBuilder builder("job");
  const int32_t host = builder.AddHost("h");
  const int32_t world = builder.AddCommunicator("world", "", 2);
  for (int32_t rank = 0; rank < 2; ++rank) {
    const int32_t handle = builder.AddRank({.rank = rank, .host = host});
    builder.AddMember(world, rank, handle);
    const auto add = [&](uint64_t sequence, int64_t called_ns, int64_t began_ns, int64_t ended_ns) {
      builder.Add(handle, {.enqueue_ns = called_ns,
                           .start_ns = began_ns,
                           .end_ns = ended_ns,
                           .sequence = sequence,
                           .communicator = world,
                           .kind = OperationKind::kAllReduce});
    };
    add(0, 50, 50, rank == 1 ? early_ended_ns : 90);
    add(1, 100, 100, 200);
    add(2, 300, 300, kNoTime);
    if (rank == 0) add(3, 310, second_began_ns, kNoTime);
  }
  *trace = builder.Build();
  return FrontierOf(*trace);
}

TEST(FrontierTest, WhereSomeCallsLackABeginARankOfWhichAllHaveOneHasBegunThem) {
  Trace trace;
  const Frontier frontier = StandingIn(kNoTime, &trace);
  EXPECT_TRUE(frontier.TellsBegun(0));
  EXPECT_TRUE(frontier.TellsBegun(1)) << "the same recorders";
}

TEST(FrontierTest, WhoseCallsSeemToBeginWhileTheOnesBeforeRunHasARecorderOfAnotherKind) {
  Trace trace;
  const Frontier frontier = StandingIn(kNoTime, &trace, /*early_ended_ns=*/150);
  EXPECT_TRUE(frontier.TellsBegun(0));
  EXPECT_FALSE(frontier.TellsBegun(1));
}

TEST(FrontierTest, WhereAllCallsHaveABeginItMayStandForTheCall) {
  Trace trace;
  const Frontier frontier = StandingIn(310, &trace);
  EXPECT_FALSE(frontier.TellsBegun(0));
  EXPECT_FALSE(frontier.TellsBegun(1));
}

}  // namespace
}  // namespace lockstep
