#include "detector/hang/recorded_progress.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/hang/frontier.h"
#include "detector/hang/member_table.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/testing/meeting_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 2;

class RecordedProgressTest : public testing::Test {
 protected:
  // Called at `at_ns`, begun and ended 10 ns and 20 ns later; kNoTime = not.
  void Add(int32_t rank, int64_t at_ns, TraceOperation operation, bool begins = true, bool ends = true) {
    operation.enqueue_ns = at_ns;
    operation.start_ns = begins ? at_ns + 10 : kNoTime;
    operation.end_ns = ends ? at_ns + 20 : kNoTime;
    if (operation.communicator < 0) operation.communicator = world_.communicator;
    if (operation.kind == OperationKind::kUnknown) operation.kind = OperationKind::kAllReduce;
    builder_.Add(world_.handles[static_cast<size_t>(rank)], operation);
  }

  RecordedProgress Read() {
    trace_ = builder_.Build();
    members_.emplace(trace_);
    return ReadProgress(trace_, *members_);
  }

  TraceBuilder builder_{"job"};
  const MeetingWorld world_ = AddWorld(kRanks, "world", &builder_);
  Trace trace_;
  std::optional<MemberTable> members_;
};

TEST_F(RecordedProgressTest, EachMemberHasItsOwnAndAnEndShowsThatAllHaveEntered) {
  for (const uint64_t sequence : {3u, 4u, 6u}) {
    Add(0, static_cast<int64_t>(sequence) * 100, {.sequence = sequence}, true, sequence < 6);
  }
  Add(1, 400, {.sequence = 4}, true, false);
  const RecordedProgress read = Read();
  const Frontier::Progress& first = read.collectives[members_->IndexOf(0, 0)];
  EXPECT_EQ(first.entered, 6);
  EXPECT_EQ(first.finished, 4);
  EXPECT_EQ(first.first, 3);
  EXPECT_EQ(first.records, 3);
  EXPECT_EQ(first.ended, 2);
  EXPECT_EQ(first.Holes(), 1);
  EXPECT_EQ(read.collectives[members_->IndexOf(0, 1)].finished, -1);
  EXPECT_EQ(read.entered_by_all, std::vector<int64_t>{4});
  EXPECT_EQ(read.unfinished, (std::vector<size_t>{2, 3}));
}

// Its root leaves a Broadcast before others have come.
TEST_F(RecordedProgressTest, TheEndOfWhatDoesNotWaitForAllShowsNothingOfOthers) {
  Add(0, 100, {.sequence = 1, .kind = OperationKind::kBroadcast});
  const RecordedProgress read = Read();
  EXPECT_EQ(read.collectives[members_->IndexOf(0, 0)].finished, 1);
  EXPECT_EQ(read.collectives[members_->IndexOf(0, 0)].ended, 0);
  EXPECT_EQ(read.entered_by_all, std::vector<int64_t>{-1});
}

TEST_F(RecordedProgressTest, SidesOfATransferAreToldApart) {
  Add(0, 100, {.sequence = 7, .peer = 1, .kind = OperationKind::kSend});
  Add(1, 100, {.sequence = 7, .peer = 0, .kind = OperationKind::kRecv}, true, false);
  Add(1, 200, {.sequence = 2, .peer = 0, .kind = OperationKind::kSend});
  const RecordedProgress read = Read();
  ASSERT_EQ(read.pairs.size(), 2u);
  const Frontier::PairProgress& there = read.pairs.at({0, 0, 1});
  EXPECT_EQ(there.send.finished, 7);
  EXPECT_EQ(there.receive.entered, 7);
  EXPECT_EQ(there.receive.finished, -1);
  const Frontier::PairProgress& back = read.pairs.at({0, 1, 0});
  EXPECT_EQ(back.send.finished, 2);
  EXPECT_EQ(back.receive.entered, -1);
}

// More than are kept at once.
TEST_F(RecordedProgressTest, ARankOfManyCommunicatorsHasAllItsRecordsInEach) {
  constexpr int32_t kMany = 50;
  for (uint64_t round = 1; round <= 3; ++round) {
    for (int32_t i = 0; i < kMany; ++i) {
      const int32_t communicator = builder_.AddCommunicator(absl::StrCat("group", i), "", 1);
      builder_.AddMember(communicator, 0, world_.handles[0]);
      Add(0, static_cast<int64_t>(round) * 10'000 + i, {.sequence = round, .communicator = communicator});
    }
  }
  const RecordedProgress read = Read();
  for (int32_t communicator = 0; communicator < static_cast<int32_t>(trace_.communicators.size()); ++communicator) {
    if (trace_.communicators[static_cast<size_t>(communicator)].name == "world") continue;
    const Frontier::Progress& progress = read.collectives[members_->IndexOf(communicator, 0)];
    EXPECT_EQ(progress.records, 3);
    EXPECT_EQ(progress.finished, 3);
    EXPECT_EQ(read.entered_by_all[static_cast<size_t>(communicator)], 3);
  }
}

TEST_F(RecordedProgressTest, BeginsThatAreThoseOfTheHostTellNone) {
  Add(0, 100, {.sequence = 1, .quality = TimingQuality::kGpuTimer});
  Add(1, 100, {.sequence = 1, .quality = TimingQuality::kHostEnqueue});
  const RecordedProgress read = Read();
  EXPECT_EQ(read.tells_called, (std::vector<char>{1, 0}));
  EXPECT_EQ(read.tells_begun, (std::vector<char>{1, 0}));
}

TEST_F(RecordedProgressTest, BeginsOfAllThatIsInFlightMayBeCalls) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Add(rank, 100, {.sequence = 1, .quality = TimingQuality::kHostCall});
    Add(rank, 200, {.sequence = 2, .quality = TimingQuality::kHostCall}, true, false);
  }
  EXPECT_EQ(Read().tells_begun, (std::vector<char>{0, 0}));
}

// As well that of the rank of which all has begun.
TEST_F(RecordedProgressTest, WhereSomeOfWhatIsInFlightHasNoBeginABeginIsOne) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    Add(rank, 100, {.sequence = 1, .quality = TimingQuality::kHostCall});
    Add(rank, 200, {.sequence = 2, .quality = TimingQuality::kHostCall}, true, false);
  }
  Add(1, 300, {.sequence = 3, .quality = TimingQuality::kHostCall}, false, false);
  const RecordedProgress read = Read();
  EXPECT_EQ(read.tells_begun, (std::vector<char>{1, 1}));
  EXPECT_EQ(read.tells_called, (std::vector<char>{0, 0}));
}

TEST_F(RecordedProgressTest, WhereOthersTellWhenWhatHasFinishedBeganWhoDoesNotKnowsNoBegins) {
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    const TimingQuality quality = rank == 1 ? TimingQuality::kHostEnqueue : TimingQuality::kGpuTimer;
    Add(rank, 100, {.sequence = 1, .quality = quality});
    Add(rank, 200, {.sequence = 2, .quality = quality}, rank != 1, false);
  }
  Add(0, 300, {.sequence = 3, .quality = TimingQuality::kGpuTimer}, false, false);
  const RecordedProgress read = Read();
  EXPECT_EQ(read.tells_begun[1], 0);
}

}  // namespace
}  // namespace lockstep
