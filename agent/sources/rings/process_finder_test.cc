#include "agent/sources/rings/process_finder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using Answer = ProcessFinder::Answer;

constexpr uint64_t kTicks = 777;

TEST(InnermostPidTest, IsTheLastOfSeveral) {
  EXPECT_EQ(InnermostPid("Name:\tx\nNSpid:\t4321\t88\t7\nVmRSS:\t1"), 7);
  EXPECT_EQ(InnermostPid("Name:\tx\nNSpid:\t4321\t7"), 7);
  EXPECT_FALSE(InnermostPid("Name:\tx\nNSpid:\t4321\n").has_value());  // no namespace of its own
  EXPECT_FALSE(InnermostPid("Name:\tx\n").has_value());                // a kernel before 4.1
  EXPECT_FALSE(InnermostPid("Name:\tx\nNSpid:\t4321\tseven\n").has_value());
  EXPECT_FALSE(InnermostPid("Name:\tx\nNSpid:\t4321\t-7\n").has_value());
}

// /proc as a folder.
class ProcessFinderTest : public ::testing::Test {
 protected:
  ProcessFinderTest() {
    std::filesystem::create_directory(directory_.path() / "proc");
    directory_.Write("proc/uptime", "1 1");
  }

  void AddProcess(int host_pid, const std::string& namespace_pids, uint64_t start_ticks) {
    directory_.Write(absl::StrCat("proc/", host_pid, "/stat"),
                     absl::StrCat(host_pid, " (train) R 1 2 3 4 5 6 7 8 9 10 100 0 0 0 20 0 1 0 ", start_ticks, " 5"));
    directory_.Write(absl::StrCat("proc/", host_pid, "/status"),
                     absl::StrCat("Name:\ttrain\nNSpid:\t", namespace_pids, "\n"));
  }
  void Kill(int host_pid) { std::filesystem::remove_all(directory_.path() / "proc" / absl::StrCat(host_pid)); }

  ProcessFinder MakeFinder() {
    auto root = RootedFs::Open(directory_.path().string());
    EXPECT_OK(root);
    return ProcessFinder(*std::move(root));
  }

  TemporaryDirectory directory_;
};

TEST_F(ProcessFinderTest, OnTheHostThePidIsEnough) {
  AddProcess(500, "500", kTicks);
  ProcessFinder finder = MakeFinder();
  const ProcessFinder::Result result = finder.Find(500, kTicks, 1);
  EXPECT_EQ(result.answer, Answer::kFound);
  EXPECT_EQ(result.host_pid, 500);
  EXPECT_EQ(result.stat.state, 'R');
  EXPECT_EQ(finder.scans(), 0u);
}

TEST_F(ProcessFinderTest, TheLauncherIsTheParentWhileItIsThere) {
  AddProcess(500, "500", kTicks);  // a child of 1
  ProcessFinder finder = MakeFinder();
  const ProcessStat process = finder.Find(500, kTicks, 1).stat;
  EXPECT_EQ(finder.LauncherOf(process).pid, 0);
  AddProcess(1, "1", 3);
  EXPECT_EQ(finder.LauncherOf(process).pid, 1);
  EXPECT_EQ(finder.LauncherOf(process).start_ticks, 3u);
}

TEST_F(ProcessFinderTest, InAContainerTheNamespaceAndTheStartTimeDecide) {
  AddProcess(7, "7", 1);           // a stranger that has the pid on the host
  AddProcess(4000, "4000\t7", 2);  // the same pid in another container
  AddProcess(4001, "4001\t3\t7", kTicks);
  ProcessFinder finder = MakeFinder();
  const ProcessFinder::Result result = finder.Find(7, kTicks, 1);
  EXPECT_EQ(result.answer, Answer::kFound);
  EXPECT_EQ(result.host_pid, 4001);
  EXPECT_EQ(result.stat.start_ticks, kTicks);
  // Without a start time the host's own process is taken, as before.
  EXPECT_EQ(finder.Find(7, 0, 2).host_pid, 7);
}

TEST_F(ProcessFinderTest, GoneOnlyAfterAScanOfThatMoment) {
  ProcessFinder finder = MakeFinder();
  EXPECT_EQ(finder.Find(7, kTicks, 1).answer, Answer::kGone);
  EXPECT_EQ(finder.Find(8, kTicks, 1).answer, Answer::kGone);
  EXPECT_EQ(finder.scans(), 1u);
  AddProcess(4000, "4000\t9", kTicks);
  EXPECT_EQ(finder.Find(9, kTicks, 2).answer, Answer::kUndecided);
  EXPECT_EQ(finder.scans(), 1u);
  EXPECT_EQ(finder.Find(9, kTicks, 1 + ProcessFinder::kRescanNanos).answer, Answer::kFound);
  EXPECT_EQ(finder.scans(), 2u);
}

TEST_F(ProcessFinderTest, OneThatWasFoundIsGoneAtOnceAndItsPidMayBeReused) {
  AddProcess(4000, "4000\t7", kTicks);
  ProcessFinder finder = MakeFinder();
  ASSERT_EQ(finder.Find(7, kTicks, 1).answer, Answer::kFound);
  EXPECT_EQ(finder.Look(4000, kTicks).answer, Answer::kFound);
  AddProcess(4000, "4000\t7", kTicks + 1);
  EXPECT_EQ(finder.Look(4000, kTicks).answer, Answer::kGone);
  Kill(4000);
  EXPECT_EQ(finder.Look(4000, kTicks).answer, Answer::kGone);
}

TEST_F(ProcessFinderTest, WhatCannotBeReadKillsNobody) {
  ProcessFinder finder = MakeFinder();
  // A folder where a file should be: reading it fails, but not because there is nothing.
  std::filesystem::create_directories(directory_.path() / "proc/4000/status");
  EXPECT_EQ(finder.Find(7, kTicks, 1).answer, Answer::kUndecided);
  std::filesystem::remove_all(directory_.path() / "proc");
  EXPECT_EQ(finder.Find(7, kTicks, 2 * ProcessFinder::kRescanNanos).answer, Answer::kUndecided);
}

}  // namespace
}  // namespace lockstep
