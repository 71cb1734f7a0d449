#include "agent/sources/rings/ring_contents.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/reading_time.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/sources/rings/ring_tally.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kNow = 100 * kNanosPerSecond;
constexpr ReadingTime kTime = {.tick_ns = kNow, .over_ns = kNow};

ring::OperationSlot Finished(uint32_t communicator, uint64_t sequence) {
  ring::OperationSlot slot = {};
  slot.state = static_cast<uint8_t>(ring::OperationState::kFinished);
  slot.kind = static_cast<uint8_t>(ring::OperationKind::kAllReduce);
  slot.sequence = sequence;
  slot.enqueued_at_ns = kNow - 30;
  slot.started_at_ns = kNow - 20;
  slot.finished_at_ns = kNow - 10;
  slot.communicator = communicator;
  slot.peer = -1;
  return slot;
}

ring::OperationSlot InFlight(uint32_t communicator, int64_t called_ns, int64_t started_ns) {
  ring::OperationSlot slot = Finished(communicator, 1);
  slot.state = static_cast<uint8_t>(started_ns > 0 ? ring::OperationState::kStarted : ring::OperationState::kEnqueued);
  slot.enqueued_at_ns = called_ns;
  slot.started_at_ns = started_ns;
  slot.finished_at_ns = 0;
  return slot;
}

class RingContentsTest : public testing::Test {
 protected:
  // Entries 3 and 5 of the table, of four members each.
  RingContentsTest() {
    for (const uint32_t index : {3u, 5u}) {
      ring::CommunicatorEntry entry = {};
      entry.ready = 1;
      entry.size = 4;
      snapshot_.communicators.push_back({index, entry});
    }
  }

  RingContents Sort() { return SortRing(snapshot_, kTime, &tally_); }

  RingSnapshot snapshot_;
  RingTally tally_;
};

TEST_F(RingContentsTest, EachCommunicatorHasItsOwn) {
  snapshot_.stride = 2;
  snapshot_.finished = {Finished(5, 1), Finished(3, 2), Finished(5, 3)};
  snapshot_.in_flight = {InFlight(3, kNow, 0)};
  const RingContents contents = Sort();
  ASSERT_EQ(contents.communicators.size(), 2u);
  EXPECT_EQ(contents.communicators[0].finished.size(), 1u);
  EXPECT_EQ(contents.communicators[0].in_flight.size(), 1u);
  ASSERT_EQ(contents.communicators[1].finished.size(), 2u);
  EXPECT_EQ(contents.communicators[1].finished[1], &snapshot_.finished[2]);
  EXPECT_EQ(contents.communicators[1].stride, 2u);
  EXPECT_EQ(tally_.malformed + tally_.unknown_communicator, 0u);
}

TEST_F(RingContentsTest, ImpossibleCommunicatorsAreLeftOutWithAllThatIsInThem) {
  snapshot_.communicators[1].entry.rank = 4;
  snapshot_.finished = {Finished(3, 1), Finished(5, 1), Finished(7, 1)};
  const RingContents contents = Sort();
  ASSERT_EQ(contents.communicators.size(), 1u);
  EXPECT_EQ(tally_.communicators_left_out, 1u);
  EXPECT_EQ(tally_.unknown_communicator, 2u);
  snapshot_.communicators[1].entry.rank = 0;
  snapshot_.communicators[1].entry.enqueued = ~uint64_t{0};
  EXPECT_EQ(Sort().communicators.size(), 1u);
  snapshot_.communicators[1].entry.enqueued = 0;
  snapshot_.communicators[1].entry.size = -1;
  EXPECT_EQ(Sort().communicators.size(), 1u);
}

TEST_F(RingContentsTest, OperationsThatCannotBeTrueAreCounted) {
  snapshot_.finished = {Finished(3, 1), Finished(3, 2)};
  snapshot_.finished[1].finished_at_ns = snapshot_.finished[1].started_at_ns - 1;
  EXPECT_EQ(Sort().communicators[0].finished.size(), 1u);
  EXPECT_EQ(tally_.malformed, 1u);
}

TEST_F(RingContentsTest, WhatTheReaderLeftOutIsCountedAsWell) {
  snapshot_.overwritten = 1;
  snapshot_.thinned = 2;
  snapshot_.skipped = 3;
  snapshot_.transfers_left_out = 4;
  Sort();
  EXPECT_EQ(tally_.overwritten, 1u);
  EXPECT_EQ(tally_.over_budget, 2u);
  EXPECT_EQ(tally_.over_allowance, 3u);
  EXPECT_EQ(tally_.transfers_left_out, 4u);
}

TEST_F(RingContentsTest, TransfersWithNobodyAreLeftOut) {
  for (const int32_t peer : {-1, 0, 3, 4}) {
    ring::TransferWaits transfer = {};
    transfer.communicator = 3;
    transfer.peer = peer;
    snapshot_.transfers.push_back(transfer);
  }
  EXPECT_EQ(Sort().communicators[0].transfers.size(), 2u);
  snapshot_.communicators[0].entry.size = 0;
  EXPECT_EQ(Sort().communicators[0].transfers.size(), 3u) << "how many there are is not known";
}

TEST_F(RingContentsTest, ARankStandsInWhatBeganLongAgoOrIfNothingHasInWhatItCalled) {
  EXPECT_FALSE(Sort().stands);
  snapshot_.in_flight = {InFlight(3, kNow - kStandsNanos + 1, 0)};
  EXPECT_FALSE(Sort().stands);
  snapshot_.in_flight = {InFlight(3, kNow - kStandsNanos, 0)};
  EXPECT_TRUE(Sort().stands);
  snapshot_.in_flight.push_back(InFlight(5, kNow - 9 * kStandsNanos, kNow - 5));
  EXPECT_FALSE(Sort().stands) << "its GPU goes on";
  snapshot_.in_flight.push_back(InFlight(5, kNow - 9 * kStandsNanos, kNow - kStandsNanos));
  EXPECT_TRUE(Sort().stands);
}

}  // namespace
}  // namespace lockstep
