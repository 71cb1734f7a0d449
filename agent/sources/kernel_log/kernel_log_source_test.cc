#include "agent/sources/kernel_log/kernel_log_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/testing/report_view.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using wire::KernelEvent;

// What the fake kernel has in store. Shared with the test.
struct FakeLog {
  absl::Status open_status;
  int opened = 0;
  std::deque<std::pair<KmsgRead, std::string>> reads;

  void Say(uint64_t sequence, const std::string& text) {
    reads.emplace_back(KmsgRead::kRecord, absl::StrCat("4,", sequence, ",", sequence * 10, ",-;", text, "\n"));
  }
};

class FakeKmsgDevice final : public KmsgDevice {
 public:
  explicit FakeKmsgDevice(FakeLog& log) : log_(log) {}

  absl::Status Open() override {
    ++log_.opened;
    return log_.open_status;
  }
  KmsgRead Read(std::string& record) override {
    if (log_.reads.empty()) return KmsgRead::kNothingNew;
    const auto [result, text] = std::move(log_.reads.front());
    log_.reads.pop_front();
    record = text;
    return result;
  }

 private:
  FakeLog& log_;
};

std::string Xid(int code) { return absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", code, ", pid=1, name=x"); }

class KernelLogSourceTest : public ::testing::Test {
 protected:
  KernelLogSourceTest() : source_(std::make_unique<FakeKmsgDevice>(log_)) {}

  wire::AgentReport Collect() {
    wire::AgentReport report;
    last_ = source_.Collect(Tick{}, report);
    return report;
  }

  FakeLog log_;
  KernelLogSource source_;
  absl::Status last_;
};

TEST_F(KernelLogSourceTest, ReportsWhatItRecognisesWithTheTimeOfTheKernel) {
  log_.Say(5, "usb 1-1: new device");
  log_.Say(6, Xid(79));
  const wire::AgentReport report = Collect();
  ASSERT_OK(last_);
  ASSERT_EQ(report.kernel_events_size(), 1);
  EXPECT_EQ(report.kernel_events(0).kind(), KernelEvent::KIND_XID);
  EXPECT_EQ(report.kernel_events(0).code(), 79);
  EXPECT_EQ(report.kernel_events(0).monotonic_ns(), 60'000);
  EXPECT_EQ(report.kernel_events(0).repeated(), 0u);
}

TEST_F(KernelLogSourceTest, AQuietLogIsNoEventAndNoFailure) {
  const wire::AgentReport report = Collect();
  EXPECT_OK(last_);
  EXPECT_EQ(report.kernel_events_size(), 0);
  Collect();
  EXPECT_EQ(log_.opened, 1);
}

TEST_F(KernelLogSourceTest, FoldsIdenticalLinesOfOneTick) {
  for (uint64_t i = 0; i < 5; ++i) log_.Say(i, Xid(i == 2 ? 31 : 79));
  const wire::AgentReport report = Collect();
  ASSERT_EQ(report.kernel_events_size(), 2);
  EXPECT_EQ(report.kernel_events(0).repeated(), 3u);
  EXPECT_EQ(report.kernel_events(0).monotonic_ns(), 0) << "the time of the first of them";
  EXPECT_EQ(report.kernel_events(1).repeated(), 0u);
  log_.Say(9, Xid(79));
  EXPECT_EQ(Collect().kernel_events(0).repeated(), 0u) << "another tick, another event";
}

TEST_F(KernelLogSourceTest, DropsAndCountsEventsBeyondItsLimit) {
  for (int i = 0; i < KernelLogSource::kMaxEventsPerTick + 7; ++i) log_.Say(i, Xid(i + 1));
  log_.Say(1000, Xid(1));
  const wire::AgentReport report = Collect();
  EXPECT_EQ(report.kernel_events_size(), KernelLogSource::kMaxEventsPerTick);
  EXPECT_EQ(DroppedOf(report, "kernel_events"), 7u);
  EXPECT_EQ(report.kernel_events(0).repeated(), 1u) << "a repetition needs no room";
}

TEST_F(KernelLogSourceTest, LeavesAFloodToTheNextTick) {
  for (int i = 0; i < KernelLogSource::kMaxRecordsPerTick; ++i) log_.Say(i, "noise");
  log_.Say(1'000'000, Xid(79));
  EXPECT_EQ(Collect().kernel_events_size(), 0);
  EXPECT_EQ(Collect().kernel_events_size(), 1);
}

TEST_F(KernelLogSourceTest, CountsWhatTheKernelOverwrote) {
  log_.Say(10, "noise");
  log_.reads.emplace_back(KmsgRead::kOverwritten, "");
  log_.Say(111, Xid(79));
  const wire::AgentReport report = Collect();
  EXPECT_OK(last_);
  EXPECT_EQ(DroppedOf(report, "kernel_log_overwritten"), 100u);
  EXPECT_EQ(report.kernel_events_size(), 1);
}

TEST_F(KernelLogSourceTest, CountsAnOverwriteAcrossTicks) {
  log_.reads.emplace_back(KmsgRead::kOverwritten, "");
  EXPECT_EQ(DroppedOf(Collect(), "kernel_log_overwritten"), 0u);
  log_.Say(50, "noise");
  EXPECT_EQ(DroppedOf(Collect(), "kernel_log_overwritten"), 1u) << "how many is not known before the first record";
}

TEST_F(KernelLogSourceTest, CountsRecordsThatItCannotRead) {
  log_.reads.emplace_back(KmsgRead::kUnreadable, "");
  log_.reads.emplace_back(KmsgRead::kRecord, "no header");
  log_.Say(3, Xid(79));
  const wire::AgentReport report = Collect();
  EXPECT_EQ(DroppedOf(report, "kernel_log_unreadable"), 2u);
  EXPECT_EQ(report.kernel_events_size(), 1);
}

TEST_F(KernelLogSourceTest, FailsWithoutPermission) {
  log_.open_status = absl::PermissionDeniedError("open dev/kmsg");
  Collect();
  EXPECT_TRUE(absl::IsPermissionDenied(last_)) << last_;
  log_.open_status = absl::OkStatus();
  Collect();
  EXPECT_OK(last_) << "looked for again in every tick";
}

TEST_F(KernelLogSourceTest, HasNoDataWithoutAKernelLog) {
  TemporaryDirectory root;
  root.Write("dev/kmsg", "6,1,1,-;not a device\n");
  KernelLogSource source(MakeKmsgDevice(*RootedFs::Open(root.path().string())));
  wire::AgentReport report;
  EXPECT_TRUE(IsNoData(source.Collect(Tick{}, report)));
}

TEST_F(KernelLogSourceTest, AHealthyDgxSaysNothing) {
  std::ifstream file("agent/sources/kernel_log/testdata/kmsg_records.txt");
  std::string line;
  int records = 0;
  while (std::getline(file, line)) {
    log_.reads.emplace_back(KmsgRead::kRecord, line + "\n");
    ++records;
  }
  ASSERT_GT(records, 40);
  const wire::AgentReport report = Collect();
  EXPECT_EQ(report.kernel_events_size(), 0);
  EXPECT_EQ(DroppedOf(report, "kernel_log_unreadable"), 0u);
}

TEST(KernelLogSourceLiveTest, OldLinesAreNoNews) {
  KernelLogSource source(MakeKmsgDevice(*RootedFs::Open("/")));
  wire::AgentReport report;
  const absl::Status status = source.Collect(Tick{}, report);
  EXPECT_TRUE(status.ok() || IsNoData(status) || absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(DroppedOf(report, "kernel_log_unreadable"), 0u);
}

}  // namespace
}  // namespace lockstep
