#include "proto/packed_pull.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace lockstep {
namespace {

constexpr size_t kPlenty = 1 << 20;

// As an agent answers of eight ranks: all make the same calls, at times of their own.
wire::CommandResult Answer(int operations) {
  wire::CommandResult result;
  for (int rank = 0; rank < 8; ++rank) {
    wire::PulledOperations& pulled = *result.add_pulled();
    pulled.set_rank(rank);
    pulled.set_communicator(7);
    wire::OperationBatch& batch = *pulled.mutable_operations();
    uint32_t noise = 1;
    for (int i = 0; i < operations; ++i) {
      noise = noise * 1'664'525 + 1'013'904'223 + static_cast<uint32_t>(rank);
      batch.add_kinds(static_cast<uint32_t>(i % 3));
      batch.add_sequence_deltas(1);
      batch.add_enqueued_deltas_ns(10'000'000 + noise % 100'000);
      batch.add_start_offsets_ns(50'000 + noise % 1'000);
      batch.add_duration_ns(3'000'000 + noise % 50'000);
      batch.add_bytes(1 << 26);
      batch.add_peers(-1);
      batch.add_timing_qualities(2);
    }
  }
  return result;
}

TEST(PackedPullTest, HoldsTheSameInLessThanHalf) {
  const wire::CommandResult plain = Answer(200);
  wire::CommandResult packed = plain;
  PackPulled(packed);
  EXPECT_EQ(packed.pulled_size(), 0);
  EXPECT_LT(packed.ByteSizeLong(), plain.ByteSizeLong() / 2);
  size_t left = kPlenty;
  const auto unpacked = UnpackPulled(packed.packed_pulled(), left);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_LT(left, kPlenty);
  ASSERT_EQ(unpacked->pulled_size(), plain.pulled_size());
  for (int i = 0; i < plain.pulled_size(); ++i) {
    EXPECT_EQ(unpacked->pulled(i).SerializeAsString(), plain.pulled(i).SerializeAsString());
  }
}

TEST(PackedPullTest, WhatWouldNotBecomeSmallerStaysAsItIs) {
  wire::CommandResult nothing;
  PackPulled(nothing);
  EXPECT_TRUE(nothing.packed_pulled().empty());
  wire::CommandResult little;
  little.add_pulled()->set_rank(3);
  PackPulled(little);
  EXPECT_TRUE(little.packed_pulled().empty());
  ASSERT_EQ(little.pulled_size(), 1);
  EXPECT_EQ(little.pulled(0).rank(), 3);
}

TEST(PackedPullTest, WhatIsDamagedOrTooMuchIsRefused) {
  wire::CommandResult result = Answer(50);
  PackPulled(result);
  const std::string packed = result.packed_pulled();
  size_t left = 100;
  EXPECT_THAT(UnpackPulled(packed, left).status().message(), testing::HasSubstr("at most 100"));
  EXPECT_EQ(left, 100u);
  for (const std::string& damaged : {packed.substr(0, packed.size() / 2), std::string("no frame"), std::string()}) {
    left = kPlenty;
    EXPECT_EQ(UnpackPulled(damaged, left).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lockstep
