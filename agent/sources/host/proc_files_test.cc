#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/sources/host/disk_stats.h"
#include "agent/sources/host/pressure.h"
#include "agent/sources/host/proc_stat.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::_;

TEST(ProcStatTest, SumsTheTimeOfAllCpus) {
  const absl::StatusOr<ProcStat> stat = ParseProcStat(
      "cpu  100 20 30 1000 40 5 6 7 50 3\n"
      "cpu0 1 2 3 4 5 6 7 8 9 10\n"
      "intr 123456 0 0 0\n"
      "ctxt 987654\n"
      "btime 1\n"
      "processes 55\n"
      "procs_running 3\n"
      "procs_blocked 2\n");
  ASSERT_OK(stat);
  EXPECT_EQ(stat->cpu.total, 1208u) << "guest time is part of user time";
  EXPECT_EQ(stat->cpu.busy, 168u);
  EXPECT_EQ(stat->cpu.system, 41u);
  EXPECT_EQ(stat->cpu.iowait, 40u);
  EXPECT_EQ(stat->cpu.steal, 7u);
  EXPECT_EQ(stat->context_switches, 987654u);
  EXPECT_EQ(stat->runnable_tasks, 3u);
  EXPECT_EQ(stat->blocked_tasks, 2u);
}

TEST(ProcStatTest, TakesAKernelWithFewerColumns) {
  const absl::StatusOr<ProcStat> stat = ParseProcStat("cpu 10 0 10 80\n");
  ASSERT_OK(stat);
  EXPECT_EQ(stat->cpu.total, 100u);
  EXPECT_EQ(stat->cpu.busy, 20u);
}

TEST(ProcStatTest, RefusesWhatIsNotProcStat) {
  for (const char* text : {"", "cpu0 1 2 3 4\n", "cpu a b c d\n", "cpu 1 2 3\n", "cpu"}) {
    EXPECT_THAT(ParseProcStat(text), StatusIs(absl::StatusCode::kDataLoss, _)) << text;
  }
}

TEST(PressureTest, ReadsTheTotals) {
  const absl::StatusOr<Pressure> pressure = ParsePressure(
      "some avg10=1.50 avg60=0.40 avg300=0.10 total=1234567\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=89\n");
  ASSERT_OK(pressure);
  EXPECT_EQ(pressure->some_us, 1234567u);
  EXPECT_EQ(pressure->full_us, 89u);
}

TEST(PressureTest, TakesAnOldKernelWithoutTheFullLine) {
  const absl::StatusOr<Pressure> pressure = ParsePressure("some avg10=0 avg60=0 avg300=0 total=5");
  ASSERT_OK(pressure);
  EXPECT_EQ(pressure->some_us, 5u);
  EXPECT_FALSE(pressure->full_us.has_value());
}

TEST(PressureTest, RefusesATextWithoutTotals) {
  EXPECT_THAT(ParsePressure(""), StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(ParsePressure("some total=x\n"), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST(DiskStatsTest, ReadsDevicesThatDidSomething) {
  const std::string text =
      "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
      " 259       0 nvme0n1 47114 4 4643973 21650 1078320 43950 39451633 1011053 2 222766 1032546\n"
      "   8       1 sda1 1 2 not-a-number\n"
      "\n"
      "   8      16 sdb 1 0 8 0 0 0 0 0 0 5 0";
  const std::vector<DiskStats> disks = ParseDiskStats(text);
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks[0].name, "nvme0n1");
  EXPECT_EQ(disks[0].read_bytes, 4643973u * 512);
  EXPECT_EQ(disks[0].written_bytes, 39451633ull * 512);
  EXPECT_EQ(disks[0].in_flight, 2u);
  EXPECT_EQ(disks[0].busy_ms, 222766u);
  EXPECT_EQ(disks[1].name, "sdb");
}

}  // namespace
}  // namespace lockstep
