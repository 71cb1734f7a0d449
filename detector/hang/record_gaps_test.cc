// Hangs in records from which something is missing that would tell who holds an operation: nobody is accused for what
// was never recorded. Looked at a minute later.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/testing/asked_trace.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kLookedAt = 60'000 * kMilli;
constexpr int64_t kNone = -1;  // it has not come to that

// Sixteen ranks on eight hosts, all of them in two groups of everybody, and ranks 0 and 1 in one of their own.
class RecordGapsTest : public ::testing::Test {
 protected:
  RecordGapsTest() {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const int32_t host = builder_.AddHost(absl::StrCat("h", rank / 2));
      handles_.push_back(builder_.AddRank({.rank = rank, .host = host, .last_seen_ns = kLookedAt}));
    }
    world_ = Group("world", kRanks);
    other_ = Group("other", kRanks);
    pair_ = Group("pair", 2);
  }

  // Milliseconds. Whoever calls is a member from then on.
  void Call(int32_t rank, int32_t group, uint64_t sequence, int64_t called, int64_t began, int64_t ended) {
    Add(rank, {.sequence = sequence, .bytes = bytes_, .communicator = group, .kind = OperationKind::kAllReduce}, called,
        began, ended);
  }
  // A collective of each rank but one that all have left, or that they stand in.
  void CallAll(int32_t group, uint64_t sequence, int64_t called, int64_t began, int64_t ended, int32_t but = -1) {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      if (rank != but) Call(rank, group, sequence, called, began, ended);
    }
  }
  void Add(int32_t rank, TraceOperation operation, int64_t called, int64_t began, int64_t ended) {
    operation.enqueue_ns = called * kMilli;
    if (began != kNone) operation.start_ns = began * kMilli;
    if (ended != kNone) operation.end_ns = ended * kMilli;
    Join(operation.communicator, rank);
    builder_.Add(handles_[static_cast<size_t>(rank)], operation);
  }
  // Hosts run ahead. Calls run one by one, the last does not end; unseen, each seems to begin as it is called.
  void QueueUpBehindOneThatStands(bool seen) {
    for (int64_t call = 0; call < 8; ++call) {
      const int64_t ended = 100 + 10 * call;
      CallAll(world_, static_cast<uint64_t>(call), call, seen ? ended - 8 : call + 1, call < 7 ? ended : kNone);
    }
  }
  void Join(int32_t group, int32_t rank) { builder_.AddMember(group, rank, handles_[static_cast<size_t>(rank)]); }
  std::vector<Verdict> Find() { return VerdictsOf(builder_.Build(), {}, false); }

  int32_t Group(const std::string& name, int32_t size) { return builder_.AddCommunicator(name, "", size); }

  static constexpr int32_t kRanks = 16;
  static constexpr int32_t kBlind = 3;
  TraceBuilder builder_{"job"};
  int32_t world_ = -1, other_ = -1, pair_ = -1;
  uint64_t bytes_ = 1024;

 private:
  std::vector<int32_t> handles_;
};

const HolderUnknown* HolderOf(const Verdict& verdict) { return verdict.evidence.front().reason.As<HolderUnknown>(); }

TEST_F(RecordGapsTest, OfAMemberThatNeverLeftARecordThereSilenceSaysNothing) {
  for (uint64_t call = 0; call < 4; ++call) {
    const auto at = static_cast<int64_t>(call) * 20;
    CallAll(other_, call, at, at + 5, at + 8);
    CallAll(world_, call, at + 10, at + 15, call < 3 ? at + 18 : kNone, kBlind);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication) << "one in sixteen is any of them";
  EXPECT_EQ(verdicts[0].culprits.size(), static_cast<size_t>(kRanks - 1)) << Told(verdicts);
}

TEST_F(RecordGapsTest, WhereNothingHasEndedBeforeSilenceIsASign) {
  CallAll(other_, 0, 0, 5, 8);
  CallAll(world_, 0, 10, 15, kNone, kBlind);
  EXPECT_EQ(Accused(Find()), std::set<int32_t>{kBlind});
}

TEST_F(RecordGapsTest, OfARankThatLeftNoRecordAnywhereNobodyKnowsWhetherItHoldsTheOthers) {
  for (uint64_t call = 0; call < 4; ++call) {
    const auto at = static_cast<int64_t>(call) * 20;
    CallAll(world_, call, at, at + 5, call < 3 ? at + 8 : kNone, kBlind);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].type(), FindingType::kObservation);
  EXPECT_TRUE(verdicts[0].culprits.empty()) << Told(verdicts);
  ASSERT_NE(HolderOf(verdicts[0]), nullptr) << Told(verdicts);
  EXPECT_EQ(HolderOf(verdicts[0])->inside, static_cast<uint64_t>(kRanks - 1));
  EXPECT_EQ(HolderOf(verdicts[0])->unrecorded, std::vector<int32_t>{kBlind});
}

TEST_F(RecordGapsTest, AHostThatNobodyCouldLookAtIsUnreachableThoughItLeftNoRecordHere) {
  for (uint64_t call = 0; call < 4; ++call) {
    const auto at = static_cast<int64_t>(call) * 20;
    CallAll(other_, call, at, at + 5, at + 8);
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      if (rank / 2 == 1) {
        Join(world_, rank);
      } else {
        Call(rank, world_, call, at + 10, at + 15, call < 3 ? at + 18 : kNone);
      }
    }
  }
  Trace trace = builder_.Build();
  trace.ranks[2].last_seen_ns = trace.ranks[3].last_seen_ns = kNoTime;
  const std::vector<Verdict> verdicts = VerdictsOf(trace, {}, false);
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kMachineUnreachable) << Told(verdicts);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h1");
}

TEST_F(RecordGapsTest, ASenderThatIsNeverRecordedIsNotMissing) {
  const auto receive = [this](uint64_t sequence, int64_t began, int64_t ended) {
    Add(1, {.sequence = sequence, .communicator = pair_, .peer = 0, .kind = OperationKind::kRecv}, began - 5, began,
        ended);
  };
  for (int32_t rank = 1; rank < kRanks; ++rank) Call(rank, other_, 0, 0, 5, 8);
  receive(0, 15, 18);
  receive(1, 25, 28);
  receive(2, 35, kNone);
  const std::vector<Verdict> verdicts = Find();
  EXPECT_TRUE(Accused(verdicts).empty()) << Told(verdicts);
  ASSERT_FALSE(verdicts.empty());
  ASSERT_NE(HolderOf(verdicts[0]), nullptr) << Told(verdicts);
  EXPECT_EQ(HolderOf(verdicts[0])->inside, 1u);
}

TEST_F(RecordGapsTest, ARankStandsWhereOnlyItsSilenceHidesIt) {
  // Rank 5 entered the two collectives in another order. Rank 3 stands with the others, in a group in which nothing of
  // it was ever recorded; its GPU has begun nothing else, because it waits there.
  for (uint64_t call = 0; call < 4; ++call) {
    const auto at = static_cast<int64_t>(call) * 20;
    CallAll(other_, call, at, at + 5, at + 8);
    CallAll(world_, call, at + 10, at + 15, at + 18, kBlind);
  }
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    if (rank != kBlind) Call(rank, world_, 4, 200, rank == 5 ? kNone : 205, kNone);
    Call(rank, other_, 4, rank == 5 ? 199 : 201, rank == 5 ? 204 : kNone, kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kDeadlock) << Told(verdicts);
  EXPECT_EQ(Accused(verdicts), std::set<int32_t>{5});
}

TEST_F(RecordGapsTest, WhereBeginsAreSeenAllStandInTheTransfer) {
  QueueUpBehindOneThatStands(/*seen=*/true);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(verdicts[0].culprits.size(), static_cast<size_t>(kRanks)) << Told(verdicts);
}

TEST_F(RecordGapsTest, WhereOnlyCallsAreSeenAGpuMayHoldTheOthersBeforeItBegins) {
  QueueUpBehindOneThatStands(/*seen=*/false);
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_TRUE(verdicts[0].culprits.empty()) << Told(verdicts);
  ASSERT_NE(HolderOf(verdicts[0]), nullptr) << Told(verdicts);
  EXPECT_FALSE(HolderOf(verdicts[0])->begins_seen);
}

TEST_F(RecordGapsTest, WithoutSizesAStuckTransferSaysSo) {
  bytes_ = 0;
  for (int64_t call = 0; call < 4; ++call) {
    CallAll(world_, static_cast<uint64_t>(call), 20 * call, 20 * call + 5, call < 3 ? 20 * call + 8 : kNone);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].culprits.size(), static_cast<size_t>(kRanks));
  EXPECT_NE(verdicts[0].evidence.front().text().find("Sizes were not recorded"), std::string::npos) << Told(verdicts);
}

TEST_F(RecordGapsTest, ALostRecordOfADumpOfWhatIsInFlightIsNoEnd) {
  // Of what it has in flight, rank 2 seems to have left the first: nothing else shows that anybody did.
  for (uint64_t call = 0; call < 4; ++call) {
    CallAll(world_, call, static_cast<int64_t>(call), kNone, kNone, call == 0 ? 2 : -1);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_TRUE(verdicts[0].culprits.empty()) << Told(verdicts);
  ASSERT_NE(HolderOf(verdicts[0]), nullptr) << Told(verdicts);
  EXPECT_FALSE(HolderOf(verdicts[0])->begins_seen);
}

TEST_F(RecordGapsTest, AHostThatIsACallBehindALongQueueGoesOn) {
  for (int64_t call = 0; call < 4; ++call) {
    CallAll(world_, static_cast<uint64_t>(call), 20 * call, 20 * call + 5, call < 3 ? 20 * call + 8 : kNone);
  }
  for (uint64_t queued = 4; queued < 12; ++queued) {
    CallAll(world_, queued, 100 + static_cast<int64_t>(queued), kNone, kNone, queued == 11 ? 0 : -1);
  }
  const std::vector<Verdict> verdicts = Find();
  ASSERT_EQ(verdicts.size(), 1u) << Told(verdicts);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_EQ(verdicts[0].culprits.size(), static_cast<size_t>(kRanks));
}

}  // namespace
}  // namespace lockstep
