#include "detector/model/size_inference.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/match.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr CommunicatorId kWorld = 7;
constexpr int32_t kRanks = 4;

// A job whose recorders do not know how large its communicator is, told of once per second.
class SizeInferenceTest : public ::testing::Test {
 protected:
  // Rank `rank`, inside of the communicator if `inside`, says what it last ended.
  int32_t Tell(int32_t rank, bool inside = true, std::optional<TimingQuality> ended = TimingQuality::kKernelWindow,
               ProcessState state = ProcessState::kRunning, OperationKind kind = OperationKind::kAllReduce) {
    RankView view{.rank = rank, .world_size = world_size_, .pid = 10 + rank, .process_state = state};
    const int32_t host = roster_.TouchHost("h" + std::to_string(rank), now_ns_);
    roster_.Update(host, view, now_ns_, 0);
    if (!inside) return 0;
    CommunicatorView at{.id = kWorld, .size = 0, .communicator_rank = rank};
    at.enqueued = 9;
    at.idle_ns = 6 * kSecond;
    at.oldest_in_flight = InFlightOperation{.kind = OperationKind::kAllReduce, .sequence = 9, .age_ns = 6 * kSecond};
    if (ended.has_value()) at.operations.push_back({.kind = kind, .quality = *ended});
    const int32_t size = sizes_.Observe(rank, at, now_ns_, &roster_);
    if (size > 0) roster_.Join(roster_.SlotOfRank(rank), at, size);
    return size;
  }

  // Reports of `ranks` for `seconds`; the size that the last of them was told.
  int32_t Pass(int seconds, int32_t ranks = kRanks, std::optional<TimingQuality> ended = TimingQuality::kKernelWindow) {
    int32_t size = 0;
    for (int i = 0; i < seconds; ++i) {
      now_ns_ += kSecond;
      for (int32_t rank = 0; rank < ranks; ++rank) size = Tell(rank, true, ended);
      sizes_.Infer(roster_, now_ns_);
    }
    return size;
  }

  int64_t now_ns_ = 100 * kSecond;
  int32_t world_size_ = kRanks;
  Roster roster_{RosterLimits{}};
  SizeInference sizes_;
};

TEST_F(SizeInferenceTest, ARecorderThatKnowsIsBelieved) {
  const CommunicatorView known{.id = 3, .size = 8, .communicator_rank = 2};
  EXPECT_EQ(sizes_.Observe(2, known, now_ns_, &roster_), 8);
  sizes_.Infer(roster_, now_ns_);
  EXPECT_TRUE(sizes_.why_unknown().empty());
}

TEST_F(SizeInferenceTest, IsBelievedOnceAllRanksHaveBeenFollowedForLong) {
  EXPECT_EQ(Pass(10), 0);
  EXPECT_TRUE(absl::StrContains(sizes_.why_unknown(), "not been seen for long enough"));
  EXPECT_EQ(Pass(3), kRanks);
  EXPECT_TRUE(sizes_.why_unknown().empty());
  EXPECT_EQ(roster_.communicators()[0].reported, kRanks);
}

TEST_F(SizeInferenceTest, ARankThatDoesNotReportIsMissingFromThePicture) {
  EXPECT_EQ(Pass(60, kRanks - 1), 0);
  EXPECT_TRUE(absl::StrContains(sizes_.why_unknown(), "only 3 of 4 ranks")) << sizes_.why_unknown();
}

TEST_F(SizeInferenceTest, ARankThatReportsAndHasNotCalledYetIsNotTakenForAnOutsider) {
  // The others have called and end nothing, because they wait for it.
  for (int i = 0; i < 60; ++i) {
    now_ns_ += kSecond;
    for (int32_t rank = 0; rank < kRanks; ++rank) Tell(rank, /*inside=*/rank != 3, std::nullopt);
    sizes_.Infer(roster_, now_ns_);
  }
  EXPECT_TRUE(absl::StrContains(sizes_.why_unknown(), "with a time of their own"));
  EXPECT_TRUE(roster_.communicators().empty());
}

TEST_F(SizeInferenceTest, HandingOverOnTheHostAndOneSidedOperationsProveNothing) {
  EXPECT_EQ(Pass(30, kRanks, TimingQuality::kHostEnqueue), 0);
  now_ns_ += kSecond;
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Tell(rank, true, TimingQuality::kKernelWindow, ProcessState::kRunning, OperationKind::kBroadcast);
  }
  sizes_.Infer(roster_, now_ns_);
  EXPECT_TRUE(absl::StrContains(sizes_.why_unknown(), "with a time of their own"));
}

TEST_F(SizeInferenceTest, WithoutTheSizeOfTheJobNothingIsBelieved) {
  world_size_ = -1;
  EXPECT_EQ(Pass(30), 0);
  EXPECT_TRUE(absl::StrContains(sizes_.why_unknown(), "size of the job"));
}

TEST_F(SizeInferenceTest, LossSilenceAndDeathBeginTheWaitAnew) {
  EXPECT_EQ(Pass(8), 0);
  sizes_.NoteLoss();
  EXPECT_EQ(Pass(10), 0);
  now_ns_ += 5 * kSecond;  // nobody reports
  sizes_.Infer(roster_, now_ns_);
  EXPECT_EQ(Pass(8), 0);
  Tell(2, true, std::nullopt, ProcessState::kGone);
  sizes_.Infer(roster_, now_ns_);
  EXPECT_EQ(Pass(10), 0);
  EXPECT_EQ(Pass(3), kRanks);
}

TEST_F(SizeInferenceTest, AHoleInTheRanksIsNoSize) {
  for (int i = 0; i < 30; ++i) {
    now_ns_ += kSecond;
    for (int32_t rank = 0; rank < kRanks; ++rank) EXPECT_EQ(Tell(rank, /*inside=*/rank != 1), 0);
    sizes_.Infer(roster_, now_ns_);
  }
}

TEST_F(SizeInferenceTest, AMemberThatAppearsLaterEndsTheBeliefAndNobodyIsStuckThere) {
  for (int i = 0; i < 13; ++i) {
    now_ns_ += kSecond;
    for (int32_t rank = 0; rank < kRanks; ++rank) Tell(rank, /*inside=*/rank != 3);
    sizes_.Infer(roster_, now_ns_);
  }
  EXPECT_EQ(Tell(0), 3);
  EXPECT_TRUE(roster_.communicators()[0].members[0].in_flight.has_value());
  EXPECT_EQ(Tell(3), 0);
  for (const Member& member : roster_.communicators()[0].members) {
    EXPECT_FALSE(member.in_flight.has_value());
    EXPECT_EQ(member.idle_ns, 0);
  }
  EXPECT_EQ(Pass(30), 0);
}

TEST_F(SizeInferenceTest, TwoRanksInOnePlaceAreNeverBelieved) {
  const CommunicatorView place{.id = kWorld, .communicator_rank = 2};
  EXPECT_EQ(sizes_.Observe(9, place, now_ns_, &roster_), 0);
  EXPECT_EQ(Pass(30), 0);
}

}  // namespace
}  // namespace lockstep
