#include "agent/uplink/resume_keeper.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/testing/temporary_directory.h"
#include "proto/resume.pb.h"

namespace lockstep {
namespace {

std::string Point(int64_t monotonic_ns) {
  wire::ResumePoint point;
  point.set_monotonic_ns(monotonic_ns);
  return point.SerializeAsString();
}

class ResumeKeeperTest : public testing::Test {
 protected:
  // What the next agent is told.
  std::string Left(const std::string& boot_id = "boot-1", const std::string& host = "node-1") {
    return ResumeKeeper(directory_.path().string(), boot_id, host).left();
  }

  TemporaryDirectory directory_;
  ResumeKeeper keeper_{directory_.path().string(), "boot-1", "node-1"};
};

TEST_F(ResumeKeeperTest, ThePointOfTheNewestReportThatSurvivesIsLeft) {
  EXPECT_EQ(Left(), "");
  for (int64_t sequence = 1; sequence <= 3; ++sequence) keeper_.Add(sequence, Point(10 * sequence));
  EXPECT_EQ(Left(), "") << "none of them survives yet";
  keeper_.Survives(2);
  EXPECT_EQ(Left(), Point(20));
  keeper_.Survives(2);
  keeper_.Survives(1);
  EXPECT_EQ(Left(), Point(20));
  EXPECT_EQ(Left("boot-1", "node-2"), "") << "of another agent of this machine";
  keeper_.Survives(9);
  EXPECT_EQ(Left(), Point(30));
}

TEST_F(ResumeKeeperTest, AfterABootOnlyThatThereWasAnAgentIsKnown) {
  keeper_.Add(1, Point(10));
  keeper_.Survives(1);
  wire::ResumePoint point;
  ASSERT_TRUE(point.ParseFromString(Left("boot-2")));
  EXPECT_TRUE(point.of_another_boot());
  EXPECT_EQ(point.monotonic_ns(), 0);
  EXPECT_EQ(Left(""), "") << "who does not know the boot trusts nothing";
}

TEST_F(ResumeKeeperTest, TheOldestOfTooManyGo) {
  for (uint64_t sequence = 1; sequence <= ResumeKeeper::kMaxWaiting + 1; ++sequence) {
    keeper_.Add(sequence, Point(static_cast<int64_t>(sequence)));
  }
  keeper_.Survives(1);
  EXPECT_EQ(Left(), "");
  keeper_.Survives(2);
  EXPECT_EQ(Left(), Point(2));
}

TEST_F(ResumeKeeperTest, NonsenseAndAMissingFolderAreNoPoint) {
  directory_.Write("resume_point", "\xff\xff nonsense");
  EXPECT_EQ(Left(), "");
  ResumeKeeper nowhere((directory_.path() / "absent").string(), "boot-1", "node-1");
  nowhere.Add(1, Point(1));
  nowhere.Survives(1);
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "absent"));
  ResumeKeeper off("", "boot-1", "node-1");
  off.Add(1, Point(1));
  off.Survives(1);
  EXPECT_EQ(off.left(), "");
}

}  // namespace
}  // namespace lockstep
