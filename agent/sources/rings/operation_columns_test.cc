#include "agent/sources/rings/operation_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(OperationColumnsTest, BeyondTheShareOnlyMultiplesOfAPowerOfTwoAreKept) {
  std::vector<ring::OperationSlot> slots(16);
  std::vector<const ring::OperationSlot*> operations;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].sequence = i + 1;
    slots[i].enqueued_at_ns = slots[i].started_at_ns = static_cast<int64_t>(100 + 10 * i);
    slots[i].finished_at_ns = slots[i].started_at_ns + 3;
    operations.push_back(&slots[i]);
  }
  wire::OperationBatch batch;
  EXPECT_EQ(AppendOperations(operations, 5, 1, batch), 4u);
  EXPECT_EQ(batch.stride(), 4u);
  EXPECT_THAT(batch.sequence_deltas(), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(batch.enqueued_deltas_ns(), ElementsAre(130, 40, 40, 40));
  EXPECT_THAT(batch.duration_ns(), ElementsAre(3, 3, 3, 3));
}

TEST(OperationColumnsTest, WhatWasThinnedBeforeIsSaid) {
  ring::OperationSlot slot = {};
  slot.sequence = 8;
  wire::OperationBatch batch;
  EXPECT_EQ(AppendOperations({&slot}, 5, 8, batch), 1u);
  EXPECT_EQ(batch.stride(), 8u);
}

TEST(OperationColumnsTest, HowNcclCarriedThemOutCostsNothingWhereNobodyKnows) {
  ring::OperationSlot unknown = {}, known = {};
  known.algorithm = static_cast<uint8_t>(ring::Algorithm::kRing);
  known.channels = 16;
  wire::OperationBatch nothing;
  AppendOperations({&unknown}, 5, 1, nothing);
  EXPECT_TRUE(nothing.algorithms().empty() && nothing.protocols().empty() && nothing.channels().empty());
  wire::OperationBatch batch;
  ring::OperationSlot newer = known;
  newer.algorithm = 200;
  AppendOperations({&unknown, &known, &newer}, 5, 1, batch);
  EXPECT_THAT(batch.algorithms(), ElementsAre(0, 2, 0));
  EXPECT_THAT(batch.channels(), ElementsAre(0, 16, 16));
  EXPECT_TRUE(batch.protocols().empty());
}

TEST(OperationColumnsTest, ImplausibleTimesAndPeersAreSeen) {
  ring::OperationSlot slot = {};
  slot.enqueued_at_ns = slot.started_at_ns = 10;
  slot.finished_at_ns = 20;
  EXPECT_TRUE(IsPlausibleOperation(slot, 100));
  slot.peer = -3;
  EXPECT_FALSE(IsPlausibleOperation(slot, 100));
  slot.peer = -1;
  slot.finished_at_ns = 5;
  EXPECT_FALSE(IsPlausibleOperation(slot, 100));
  slot.finished_at_ns = INT64_MAX;
  EXPECT_FALSE(IsPlausibleOperation(slot, 100));
}

}  // namespace
}  // namespace lockstep
