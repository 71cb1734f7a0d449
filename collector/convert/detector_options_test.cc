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
  const auto& [ratio, cost, persistence, min_steps, window, span, significance, weak, floor, multiple, silent, hosts,
               ranks, communicators, instances, series] = options;
  return std::make_tuple(ratio, cost, persistence, min_steps, window, span, significance, weak, floor, multiple, silent,
                         hosts, ranks, communicators, instances, series);
}

TEST(DetectorOptionsTest, EveryOptionComesBackExactly) {
  const JobEngineOptions options{1.0 / 0.7, 0.1, 0.3, 4, 5, 6, 7.7, 0.8, 9, 10.1, 11, 12, 13, 14, 15, 16};
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
  options.set_window_steps(-1);
  EXPECT_THAT(FromWire(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window_steps: -1")));
  EXPECT_THAT(FromWire(wire::DetectorOptions()), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ratio: 0")));
}

}  // namespace
}  // namespace lockstep
