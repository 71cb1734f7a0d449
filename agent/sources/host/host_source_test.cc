#include "agent/sources/host/host_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/testing/report_view.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;

constexpr char kMeminfo[] =
    "MemTotal:        1000 kB\n"
    "MemFree:          100 kB\n"
    "MemAvailable:     600 kB\n"
    "SwapTotal:         50 kB\n"
    "SwapFree:          20 kB\n"
    "Dirty:              7 kB\n"
    "HugePages_Total:       0\n";

class HostSourceTest : public ::testing::Test {
 protected:
  HostSourceTest() : source_(*RootedFs::Open(directory_.path().string())) {}

  // A host that is up and idle.
  void WriteHost() {
    directory_.Write("proc/stat", "cpu 100 0 100 800 0 0 0 0\nctxt 500\nprocs_running 2\nprocs_blocked 1\n");
    WritePressure("cpu", 1'000'000, 0);
    WritePressure("memory", 2'000'000, 1'000'000);
    WritePressure("io", 0, 0);
    directory_.Write("proc/meminfo", kMeminfo);
    directory_.Write("proc/vmstat", "nr_free_pages 5\npgmajfault 77\noom_kill 3\n");
    directory_.Write("proc/loadavg", "1.25 0.40 0.30 2/100 42\n");
    directory_.Write("proc/diskstats",
                     " 259 0 nvme0n1 1 0 2000 0 1 0 4000 0 3 1500 0\n"
                     " 259 1 nvme0n1p1 1 0 2000 0 1 0 4000 0 3 1500 0\n"
                     "   7 0 loop0 9 0 9 0 0 0 0 0 0 0 0\n");
    directory_.Write("sys/block/nvme0n1/size", "1\n");
    directory_.Write("sys/block/loop0/size", "1\n");
  }

  void WritePressure(const std::string& resource, uint64_t some_us, uint64_t full_us) {
    directory_.Write("proc/pressure/" + resource,
                     absl::StrCat("some avg10=0.00 avg60=0.00 avg300=0.00 total=", some_us,
                                  "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=", full_us, "\n"));
  }

  wire::AgentReport Collect(int64_t second) {
    wire::AgentReport report;
    last_ = source_.Collect(Tick{.monotonic_ns = second * kNanosPerSecond}, report);
    return report;
  }

  TemporaryDirectory directory_;
  HostSource source_;
  absl::Status last_;
};

TEST_F(HostSourceTest, ReportsLevelsAndTotalsFromTheFirstTick) {
  WriteHost();
  const wire::AgentReport report = Collect(1);
  ASSERT_OK(last_);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostRunnableTasks), 2);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostBlockedTasks), 1);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostContextSwitchesTotal), 500);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostMemoryTotalBytes), 1000 * 1024);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostMemoryAvailableBytes), 600 * 1024);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostMemoryDirtyBytes), 7 * 1024);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostSwapUsedBytes), 30 * 1024);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostMajorFaultsTotal), 77);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostOomKillsTotal), 3);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostLoad1), 1.25);
  EXPECT_EQ(report.metrics(0).monotonic_ns(), kNanosPerSecond);
}

TEST_F(HostSourceTest, HasNoRatioBeforeThereIsSomethingToCompareWith) {
  WriteHost();
  const wire::AgentReport report = Collect(1);
  EXPECT_FALSE(ValueOf(report, "", Metric::kHostCpuBusyRatio).has_value());
  EXPECT_FALSE(ValueOf(report, "", Metric::kHostPressureCpuSomeRatio).has_value());
}

TEST_F(HostSourceTest, RatiosAreOverTheTimeSinceTheLastTick) {
  WriteHost();
  Collect(1);
  directory_.Write("proc/stat", "cpu 150 0 120 810 10 0 0 10\nctxt 501\n");
  WritePressure("cpu", 1'500'000, 0);
  WritePressure("memory", 2'200'000, 1'100'000);
  const wire::AgentReport report = Collect(3);
  ASSERT_OK(last_);
  EXPECT_THAT(ValueOf(report, "", Metric::kHostCpuBusyRatio), Optional(DoubleNear(0.8, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostCpuSystemRatio), Optional(DoubleNear(0.2, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostCpuIowaitRatio), Optional(DoubleNear(0.1, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostCpuStealRatio), Optional(DoubleNear(0.1, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostPressureCpuSomeRatio), Optional(DoubleNear(0.25, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostPressureMemorySomeRatio), Optional(DoubleNear(0.1, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostPressureMemoryFullRatio), Optional(DoubleNear(0.05, 1e-9)));
  EXPECT_THAT(ValueOf(report, "", Metric::kHostPressureIoFullRatio), Optional(0.0));
}

TEST_F(HostSourceTest, ACounterThatStepsBackIsNoTime) {
  WriteHost();
  Collect(1);
  directory_.Write("proc/stat", "cpu 90 0 100 900 0 0 0 0\n");
  EXPECT_EQ(ValueOf(Collect(2), "", Metric::kHostCpuBusyRatio), 0);
}

TEST_F(HostSourceTest, ReportsWholeDisksOnly) {
  WriteHost();
  const wire::AgentReport report = Collect(1);
  EXPECT_THAT(DevicesOf(report), ElementsAre("", "nvme0n1"));
  EXPECT_EQ(ValueOf(report, "nvme0n1", Metric::kDiskReadBytesTotal), 2000 * 512);
  EXPECT_EQ(ValueOf(report, "nvme0n1", Metric::kDiskWrittenBytesTotal), 4000 * 512);
  EXPECT_EQ(ValueOf(report, "nvme0n1", Metric::kDiskBusySecondsTotal), 1.5);
  EXPECT_EQ(ValueOf(report, "nvme0n1", Metric::kDiskInFlight), 3);
}

TEST_F(HostSourceTest, CountsTheDisksBeyondItsLimit) {
  WriteHost();
  std::string text;
  for (size_t i = 0; i < HostSource::kMaxDisks + 3; ++i) {
    text += absl::StrCat("8 ", i, " disk", i, " 1 0 2 0 1 0 4 0 3 1 0\n");
    directory_.Write(absl::StrCat("sys/block/disk", i, "/size"), "1\n");
  }
  directory_.Write("proc/diskstats", text);
  const wire::AgentReport report = Collect(1);
  EXPECT_EQ(DevicesOf(report).size(), HostSource::kMaxDisks + 1);
  EXPECT_EQ(DroppedOf(report, "host_disks"), 3u);
}

TEST_F(HostSourceTest, DoesWithoutPressureOnAnOldKernel) {
  WriteHost();
  std::filesystem::remove_all(directory_.path() / "proc/pressure");
  Collect(1);
  const wire::AgentReport report = Collect(2);
  EXPECT_OK(last_);
  EXPECT_FALSE(ValueOf(report, "", Metric::kHostPressureCpuSomeRatio).has_value());
  EXPECT_EQ(ValueOf(report, "", Metric::kHostLoad1), 1.25);
}

TEST_F(HostSourceTest, AMalformedFileFailsTheTickButNotTheOtherFiles) {
  WriteHost();
  directory_.Write("proc/stat", "nonsense\n");
  const wire::AgentReport report = Collect(1);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_EQ(ValueOf(report, "", Metric::kHostLoad1), 1.25);
}

TEST_F(HostSourceTest, HasNoDataWithoutProc) {
  const wire::AgentReport report = Collect(1);
  EXPECT_TRUE(IsNoData(last_)) << last_;
  EXPECT_EQ(report.metrics_size(), 0);
}

TEST(HostSourceLiveTest, ReadsThisHost) {
  HostSource source(*RootedFs::Open("/"));
  wire::AgentReport report;
  EXPECT_OK(source.Collect(Tick{.monotonic_ns = 1}, report));
  EXPECT_GT(ValueOf(report, "", Metric::kHostMemoryTotalBytes).value_or(0), 0);
}

}  // namespace
}  // namespace lockstep
