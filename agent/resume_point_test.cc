#include "agent/resume_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "proto/resume.pb.h"

namespace lockstep {
namespace {

std::string Point(int64_t monotonic_ns) {
  wire::ResumePoint point;
  point.set_monotonic_ns(monotonic_ns);
  return point.SerializeAsString();
}

TEST(ResumePointTest, OfTwoTheOneOfTheLaterTickCounts) {
  wire::ResumePoint before_boot;
  before_boot.set_of_another_boot(true);
  const std::string other = before_boot.SerializeAsString();
  EXPECT_EQ(NewerResumePoint("", ""), "");
  EXPECT_EQ(NewerResumePoint(Point(1), ""), Point(1));
  EXPECT_EQ(NewerResumePoint("", Point(1)), Point(1));
  EXPECT_EQ(NewerResumePoint(Point(2), Point(1)), Point(2));
  EXPECT_EQ(NewerResumePoint(Point(1), Point(2)), Point(2));
  EXPECT_EQ(NewerResumePoint(other, Point(1)), Point(1));
  EXPECT_EQ(NewerResumePoint(Point(1), other), Point(1));
  EXPECT_EQ(NewerResumePoint(other, ""), other);
}

TEST(ResumePointTest, AfterABootThePositionsAreWorthless) {
  wire::ResumePoint point;
  point.set_monotonic_ns(9);
  point.add_worked("nvml");
  point.add_sources()->set_source("rings");
  wire::ResumePoint after;
  ASSERT_TRUE(after.ParseFromString(ResumePointOfAnotherBoot(point.SerializeAsString())));
  EXPECT_TRUE(after.of_another_boot());
  EXPECT_EQ(after.sources_size(), 0);
  EXPECT_EQ(after.monotonic_ns(), 0);
  EXPECT_THAT(after.worked(), testing::ElementsAre("nvml"));
  EXPECT_EQ(ResumePointOfAnotherBoot(""), "");
  EXPECT_EQ(ResumePointOfAnotherBoot("\xff\xff"), "");
}

}  // namespace
}  // namespace lockstep
