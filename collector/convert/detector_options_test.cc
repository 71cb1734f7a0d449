#include "collector/convert/detector_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// Names every field, so that an option which is added to the engine and forgotten in the capture breaks this test.
auto Fields(const JobEngineOptions& options) {
  const auto& [cost, floor, multiple, silent, hosts, ranks, communicators, series] = options;
  return std::make_tuple(cost, floor, multiple, silent, hosts, ranks, communicators, series);
}

TEST(DetectorOptionsTest, EveryOptionComesBackExactly) {
  const JobEngineOptions options{0.1 / 0.7, 9, 10.1, 11, 12, 13, 14, 15};
  const auto back = FromWire(ToWire(options));
  ASSERT_OK(back);
  EXPECT_EQ(Fields(*back), Fields(options));
}

TEST(DetectorOptionsTest, TheDefaultsArePossible) { EXPECT_OK(FromWire(ToWire(JobEngineOptions()))); }

TEST(DetectorOptionsTest, WhatNoCollectorRunsWithIsRefusedByName) {
  wire::DetectorOptions options = ToWire(JobEngineOptions());
  options.set_hang_step_multiple(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(FromWire(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hang_step_multiple: nan")));
  options = ToWire(JobEngineOptions());
  options.set_max_ranks(-1);
  EXPECT_THAT(FromWire(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_ranks: -1")));
  EXPECT_THAT(FromWire(wire::DetectorOptions()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hang_step_multiple: 0")));
}

}  // namespace
}  // namespace lockstep
