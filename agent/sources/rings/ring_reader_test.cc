#include "agent/sources/rings/ring_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/resume.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// A ring made by the recorder's own writer, small enough to go round quickly. Writers live as long as the process.
class RingReaderTest : public ::testing::Test {
 protected:
  RingReaderTest() : directory_text_(directory_.path().string()) {
    static std::deque<ring::RingWriter>* const writers = new std::deque<ring::RingWriter>;
    writer_ = &writers->emplace_back();
    ring::RingOptions options;
    options.directory = directory_text_.c_str();
    options.kind = ring::RecorderKind::kMpi;
    options.operation_capacity = kCapacity;
    options.communicator_capacity = 4;
    options.rank = 1;
    options.world_size = 2;
    options.job = "job";
    EXPECT_TRUE(writer_->Open(options));
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) path_ = entry.path().string();
    world_ = writer_->FindOrAddCommunicator({.id = 7, .size = 2, .rank = 1, .name = "world"}, 100);
  }

  std::unique_ptr<RingReader> Open(int64_t since_ns = 0) {
    return RingReader::Open(UniqueFd(open(path_.c_str(), O_RDONLY | O_CLOEXEC)), since_ns, &refusal_);
  }

  ring::OperationHandle Begin(int64_t now_ns) {
    return writer_->Begin({.kind = ring::OperationKind::kAllReduce, .communicator = world_, .bytes = 8}, now_ns);
  }
  void Complete(int64_t now_ns) { writer_->Finish(Begin(now_ns), {}, now_ns + 5); }

  template <typename T>
  void Scribble(size_t offset, T value) {
    const UniqueFd file(open(path_.c_str(), O_WRONLY));
    ASSERT_EQ(pwrite(file.get(), &value, sizeof(value), static_cast<off_t>(offset)),
              static_cast<ssize_t>(sizeof(value)));
  }

  static constexpr uint32_t kCapacity = 16;
  TemporaryDirectory directory_;
  const std::string directory_text_;
  ring::RingWriter* writer_ = nullptr;
  std::string path_;
  uint32_t world_ = 0;
  RingRefusal refusal_;
  RingSnapshot snapshot_;
};

TEST_F(RingReaderTest, FollowsAnOperationFromInFlightToFinishedAndReportsItOnce) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr) << refusal_.detail;
  const ring::OperationHandle operation = Begin(200);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_TRUE(snapshot_.finished.empty());
  ASSERT_EQ(snapshot_.in_flight.size(), 1u);
  EXPECT_EQ(snapshot_.in_flight[0].sequence, 1u);
  writer_->Finish(operation, {}, 300);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_TRUE(snapshot_.in_flight.empty());
  ASSERT_EQ(snapshot_.finished.size(), 1u);
  EXPECT_EQ(snapshot_.finished[0].finished_at_ns, 300);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_TRUE(snapshot_.finished.empty());
  ASSERT_EQ(snapshot_.communicators.size(), 1u);
  EXPECT_EQ(snapshot_.communicators[0].entry.finished, 1u);
}

TEST_F(RingReaderTest, AReaderThatGoesOnWhereAnotherStoppedMissesNothingAndRepeatsNothing) {
  auto reader = Open();
  ASSERT_NE(reader, nullptr);
  Complete(100);
  const ring::OperationHandle across = Begin(200);
  Complete(300);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.finished.size(), 2u);
  wire::RingPosition position;
  reader->Describe(position);
  writer_->Finish(across, {}, 400);
  Complete(500);
  // Later than all of them: only the position tells that they are news.
  reader = Open(ring::MonotonicNs() + kNanosPerSecond);
  ASSERT_TRUE(reader->ResumeAt(position));
  ASSERT_OK(reader->Poll(&snapshot_));
  ASSERT_EQ(snapshot_.finished.size(), 2u);
  EXPECT_EQ(snapshot_.finished[0].finished_at_ns, 400);
  EXPECT_EQ(snapshot_.finished[1].finished_at_ns, 505);
  EXPECT_FALSE(reader->ResumeAt(position)) << "too late";
  for (uint32_t i = 0; i < kCapacity + 3; ++i) Complete(600 + i);
  reader = Open();
  ASSERT_TRUE(reader->ResumeAt(position));
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.finished.size(), kCapacity);
  EXPECT_EQ(snapshot_.overwritten, 5u) << "lost while nobody read";
}

TEST_F(RingReaderTest, PositionsThatAreOfAnotherRingOrMakeNoSenseAreNotBelieved) {
  Complete(100);
  wire::RingPosition good;
  Open()->Describe(good);
  good.set_next_ticket(1);
  wire::RingPosition wrong[4] = {good, good, good, good};
  wrong[0].set_opened_at_ns(1);
  wrong[1].set_next_ticket(2);
  wrong[2].add_pending_deltas(1);
  wrong[3].add_pending_deltas(0);
  wrong[3].add_pending_deltas(0);
  for (const wire::RingPosition& position : wrong) EXPECT_FALSE(Open()->ResumeAt(position));
  EXPECT_TRUE(Open()->ResumeAt(good));
}

TEST_F(RingReaderTest, CountsWhatWasOverwrittenBetweenTwoLooks) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  for (uint32_t i = 0; i < kCapacity + 5; ++i) Complete(1000 + i);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.finished.size(), kCapacity);
  EXPECT_EQ(snapshot_.overwritten, 5u);
  Begin(5000);
  for (uint32_t i = 0; i < kCapacity; ++i) Complete(6000 + i);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.overwritten, 1u);
  EXPECT_EQ(snapshot_.finished.size(), kCapacity);
}

TEST_F(RingReaderTest, OfARingOlderThanTheAgentOnlyWhatFinishesAfterItsStartCounts) {
  // The writer has opened it at the real time, which is later than every small number.
  const int64_t since_ns = ring::MonotonicNs() + 1;
  for (uint32_t i = 0; i < kCapacity + 5; ++i) Complete(1000 + i);
  const ring::OperationHandle across = Begin(since_ns - 10);
  const auto reader = Open(since_ns);
  ASSERT_NE(reader, nullptr);
  writer_->Finish(across, {}, since_ns);
  ASSERT_OK(reader->Poll(&snapshot_));
  ASSERT_EQ(snapshot_.finished.size(), 1u);
  EXPECT_EQ(snapshot_.finished[0].finished_at_ns, since_ns);
  EXPECT_EQ(snapshot_.overwritten, 0u);
  for (uint32_t i = 0; i < kCapacity + 3; ++i) Complete(since_ns + i);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.finished.size(), kCapacity);
  EXPECT_EQ(snapshot_.overwritten, 3u);
}

TEST_F(RingReaderTest, ARingYoungerThanTheAgentIsReadFromItsFirstTicket) {
  const int64_t now_ns = ring::MonotonicNs();
  for (uint32_t i = 0; i < kCapacity + 5; ++i) Complete(now_ns + i);
  const auto reader = Open(/*since_ns=*/1);
  ASSERT_NE(reader, nullptr);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.finished.size(), kCapacity);
  EXPECT_EQ(snapshot_.overwritten, 5u);
}

// While the first look reads the oldest slots, the recorder overwrites them: that is history of before the agent, and
// must not turn up as a loss of the second look.
TEST_F(RingReaderTest, WhatIsOverwrittenDuringTheFirstLookAtAnOldRingIsNoLoss) {
  constexpr uint32_t kLarge = 8192;
  static ring::RingWriter writer;
  const TemporaryDirectory directory;
  const std::string directory_text = directory.path().string();
  ring::RingOptions options;
  options.directory = directory_text.c_str();
  options.kind = ring::RecorderKind::kMpi;
  options.operation_capacity = kLarge;
  options.communicator_capacity = 4;
  options.rank = 1;
  options.world_size = 2;
  options.job = "job";
  ASSERT_TRUE(writer.Open(options));
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 2, .rank = 1, .name = "world"}, 100);
  const auto complete = [world](uint32_t operations) {
    for (uint32_t i = 0; i < operations; ++i) {
      const int64_t now_ns = ring::MonotonicNs();
      const ring::OperationHandle operation =
          writer.Begin({.kind = ring::OperationKind::kAllReduce, .communicator = world, .bytes = 8}, now_ns);
      writer.Finish(operation, {}, now_ns + 5);
    }
  };
  complete(kLarge);
  const std::string path = std::filesystem::directory_iterator(directory.path())->path().string();
  for (int round = 0; round < 20; ++round) {
    const auto reader =
        RingReader::Open(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), ring::MonotonicNs() + 1, &refusal_);
    ASSERT_NE(reader, nullptr);
    std::thread recorder(complete, kLarge / 2);
    const absl::Status first = reader->Poll(&snapshot_);
    recorder.join();
    ASSERT_OK(first);
    ASSERT_OK(reader->Poll(&snapshot_));
    EXPECT_EQ(snapshot_.overwritten, 0u);
  }
}

TEST_F(RingReaderTest, RefusesWithAReason) {
  struct Case {
    size_t offset;
    uint32_t value;
    RingRefusalReason reason;
  };
  using Header = ring::RingHeader;
  const Case cases[] = {
      {offsetof(Header, layout_version), 2, RingRefusalReason::kNewerLayout},
      {offsetof(Header, layout_version), 1, RingRefusalReason::kNone},
      {offsetof(Header, operation_capacity), 17, RingRefusalReason::kBadGeometry},
      {offsetof(Header, operation_capacity), 1u << 21, RingRefusalReason::kBadGeometry},
      {offsetof(Header, operation_capacity), 32, RingRefusalReason::kBadGeometry},
      {offsetof(Header, operation_capacity), kCapacity, RingRefusalReason::kNone},
      {offsetof(Header, communicator_capacity), 0, RingRefusalReason::kBadGeometry},
      {offsetof(Header, communicator_capacity), 4, RingRefusalReason::kNone},
      {offsetof(Header, rank), 9, RingRefusalReason::kBadIdentity},
      {offsetof(Header, rank), 1, RingRefusalReason::kNone},
      {offsetof(Header, state), 0, RingRefusalReason::kInitializing},
      {offsetof(Header, magic), 1, RingRefusalReason::kNotARing},
  };
  for (const Case& c : cases) {
    Scribble(c.offset, c.value);
    const auto reader = Open();
    EXPECT_EQ(RingRefusalName(refusal_.reason), RingRefusalName(c.reason)) << c.offset << " = " << c.value;
    EXPECT_EQ(reader == nullptr, c.reason != RingRefusalReason::kNone);
  }
}

TEST_F(RingReaderTest, ALaterLayoutThatSaysSoIsReadByWhatIsKnown) {
  using Header = ring::RingHeader;
  Complete(100);
  Scribble(offsetof(Header, layout_version), uint32_t{3});
  Scribble(offsetof(Header, readable_since), uint32_t{2});
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(refusal_.reason, RingRefusalReason::kNewerLayout) << refusal_.detail;
  Scribble(offsetof(Header, readable_since), uint32_t{1});
  ASSERT_NE(Open(), nullptr) << refusal_.detail;

  // With a table that nobody here has heard of.
  const uint64_t longer = ring::FileBytes(4, kCapacity) + 4'096;
  Scribble(offsetof(Header, total_bytes), longer);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(refusal_.reason, RingRefusalReason::kBadGeometry) << "it is not there";
  ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(longer)), 0);
  const auto reader = Open();
  ASSERT_NE(reader, nullptr) << refusal_.detail;
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.finished.size(), 1u);
  Scribble(offsetof(Header, layout_version), uint32_t{1});
  EXPECT_EQ(Open(), nullptr) << "this layout has no such table";
  EXPECT_EQ(refusal_.reason, RingRefusalReason::kBadGeometry);
}

TEST_F(RingReaderTest, TruncationAndScribblingOverTheHeaderEndTheReading) {
  auto reader = Open();
  ASSERT_NE(reader, nullptr);
  Complete(100);
  Scribble(offsetof(ring::RingHeader, operation_capacity), uint32_t{1} << 20);
  EXPECT_THAT(reader->Poll(&snapshot_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("header")));
  Scribble(offsetof(ring::RingHeader, operation_capacity), kCapacity);
  ASSERT_EQ(truncate(path_.c_str(), sizeof(ring::RingHeader) + 10), 0);
  EXPECT_THAT(reader->Poll(&snapshot_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
  EXPECT_EQ(Open(), nullptr);
  // The writer has the file mapped: give it its pages back.
  ASSERT_EQ(truncate(path_.c_str(), ring::FileBytes(4, kCapacity)), 0);
}

TEST_F(RingReaderTest, ScribbledSlotsAreMalformedOrPendingNeverBelieved) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  Complete(100);
  Begin(200);
  const size_t first = sizeof(ring::RingHeader) + 4 * sizeof(ring::CommunicatorEntry);
  Scribble<uint8_t>(first + offsetof(ring::OperationSlot, state), 77);
  Scribble<uint32_t>(first + sizeof(ring::OperationSlot) + offsetof(ring::OperationSlot, version), 3);
  ASSERT_OK(reader->Poll(&snapshot_));
  EXPECT_EQ(snapshot_.malformed, 1u);
  EXPECT_TRUE(snapshot_.finished.empty());
  EXPECT_TRUE(snapshot_.in_flight.empty());
}

TEST_F(RingReaderTest, TicketsThatGoBackwardsAreDamage) {
  const auto reader = Open();
  ASSERT_NE(reader, nullptr);
  Complete(100);
  ASSERT_OK(reader->Poll(&snapshot_));
  Scribble(offsetof(ring::RingHeader, next_ticket), ~uint64_t{0});
  ASSERT_OK(reader->Poll(&snapshot_));
  Scribble(offsetof(ring::RingHeader, next_ticket), uint64_t{0});
  EXPECT_THAT(reader->Poll(&snapshot_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("backwards")));
}

}  // namespace
}  // namespace lockstep
