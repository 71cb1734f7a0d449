#include "agent/sources/kernel_log/kernel_log_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/kernel_xids.h"
#include "agent/sources/kernel_log/kmsg_device.h"
#include "agent/sources/kernel_log/log_position.h"
#include "agent/testing/report_view.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using wire::KernelEvent;

// What the fake kernel has in store. Shared with the test.
struct FakeLog {
  absl::Status open_status;
  absl::Status read_status;  // once nothing is left
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
  absl::StatusOr<KmsgRead> Read(std::string& record) override {
    if (log_.reads.empty() && !log_.read_status.ok()) return log_.read_status;
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
  KernelLogSourceTest() : source_(std::make_unique<FakeKmsgDevice>(log_), "boot-1", xids_) {}

  wire::AgentReport Collect(int64_t now_ns = kNanosPerSecond) {
    wire::AgentReport report;
    last_ = source_.Collect(Tick{.monotonic_ns = now_ns}, report);
    return report;
  }

  FakeLog log_;
  const std::shared_ptr<KernelXids> xids_ = std::make_shared<KernelXids>();
  KernelLogSource source_;
  absl::Status last_;
};

TEST_F(KernelLogSourceTest, LetsOthersKnowWhichXidsItHasTold) {
  log_.Say(5, Xid(79));
  log_.Say(6, Xid(31));
  Collect();
  EXPECT_TRUE(xids_->HasTold("0000:3b:00.0", 79, 0, kNanosPerSecond));
  EXPECT_TRUE(xids_->HasTold("0000:3b:00.0", 31, 0, kNanosPerSecond));
  EXPECT_FALSE(xids_->HasTold("0000:3b:00.0", 48, 0, kNanosPerSecond));
  EXPECT_FALSE(xids_->HasTold("0000:3c:00.0", 79, 0, kNanosPerSecond)) << "of another GPU";
  EXPECT_FALSE(xids_->HasTold("0000:3b:00.0", 79, 60 * kNanosPerSecond, 61 * kNanosPerSecond)) << "a minute later";
}

TEST_F(KernelLogSourceTest, RemembersOnlySoManyXids) {
  for (size_t i = 0; i <= KernelXids::kMaxXids; ++i) xids_->Note("0000:3b:00.0", static_cast<int64_t>(i), 0);
  EXPECT_FALSE(xids_->HasTold("0000:3b:00.0", 0, 0, 0));
  EXPECT_TRUE(xids_->HasTold("0000:3b:00.0", 1, 0, 0));
}

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
  Collect();  // what comes from here on is new
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

TEST_F(KernelLogSourceTest, ALogThatCannotBeReadAnyMoreFailsAndGoesOnWhereItWas) {
  log_.Say(5, Xid(79));
  EXPECT_EQ(Collect().kernel_events_size(), 1);
  log_.Say(6, Xid(31));
  log_.read_status = absl::UnavailableError("read: Input/output error");
  const wire::AgentReport report = Collect();
  EXPECT_TRUE(absl::IsUnavailable(last_)) << last_;
  EXPECT_EQ(report.kernel_events_size(), 1) << "what came before counts";
  EXPECT_EQ(DroppedOf(report, "kernel_log_unreadable"), 0u);
  Collect();
  EXPECT_FALSE(last_.ok());
  log_.read_status = absl::OkStatus();
  for (const uint64_t sequence : {5, 6, 7}) log_.Say(sequence, Xid(79));
  EXPECT_EQ(Collect().kernel_events_size(), 1) << "the kernel gives all that it has, from the beginning";
  EXPECT_OK(last_);
  EXPECT_EQ(log_.opened, 3);
}

TEST_F(KernelLogSourceTest, ALogThatIsNotShownIsAFailureAndNotAMachineWithoutOne) {
  TemporaryDirectory root;
  root.Write("dev/kmsg", "6,1,1,-;not a device\n");
  KernelLogSource source(MakeKmsgDevice(*RootedFs::Open(root.path().string())), "boot-1", xids_);
  wire::AgentReport report;
  EXPECT_TRUE(absl::IsUnavailable(source.Collect(Tick{}, report)));
  std::filesystem::remove(root.path() / "dev/kmsg");
  const absl::Status without = source.Collect(Tick{}, report);
  EXPECT_TRUE(absl::IsUnavailable(without));
  EXPECT_THAT(without.message(), testing::HasSubstr("dev/kmsg"));
  EXPECT_THAT(without.message(), testing::HasSubstr("kernel_log: false"));
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

// An agent that is started again: the kernel still has all records of `log`.
class KernelLogRestartTest : public ::testing::Test {
 protected:
  static constexpr int64_t kHour = 3600 * kNanosPerSecond;

  // Logged at `at_ns` of the kernel's clock.
  void Say(uint64_t sequence, int64_t at_ns, const std::string& text) {
    records_.push_back(absl::StrCat("4,", sequence, ",", at_ns / 1000, ",-;", text, "\n"));
  }

  KernelLogSource& Start(const std::string& boot_id = "boot-1") {
    log_.reads.clear();
    for (const std::string& record : records_) log_.reads.emplace_back(KmsgRead::kRecord, record);
    lives_.push_back(std::make_unique<KernelLogSource>(std::make_unique<FakeKmsgDevice>(log_), boot_id,
                                                       std::make_shared<KernelXids>()));
    lives_.back()->Resume(position_);
    return *lives_.back();
  }

  static wire::AgentReport Collect(KernelLogSource& source, int64_t now_ns) {
    wire::AgentReport report;
    EXPECT_OK(source.Collect(Tick{.monotonic_ns = now_ns}, report));
    return report;
  }

  FakeLog log_;
  std::vector<std::string> records_;
  std::string position_;  // that is kept for the next one
  std::vector<std::unique_ptr<KernelLogSource>> lives_;
};

TEST_F(KernelLogRestartTest, ReadsWhatWasLoggedMeanwhileOnceAndWithItsTime) {
  Say(1, 1 * kHour, Xid(31));
  {
    KernelLogSource& source = Start();
    EXPECT_EQ(Collect(source, 1 * kHour + 5).kernel_events_size(), 1);
    position_ = source.position();
  }
  Say(2, 2 * kHour, Xid(79));
  Say(3, 3 * kHour, Xid(79));
  KernelLogSource& source = Start();
  const wire::AgentReport report = Collect(source, 4 * kHour);
  ASSERT_EQ(report.kernel_events_size(), 2) << "an hour apart";
  EXPECT_EQ(report.kernel_events(0).code(), 79);
  EXPECT_EQ(report.kernel_events(0).monotonic_ns(), 2 * kHour);
  EXPECT_EQ(report.kernel_events(1).monotonic_ns(), 3 * kHour);
  EXPECT_EQ(report.dropped_size(), 0);
  EXPECT_EQ(Collect(source, 4 * kHour + 1).kernel_events_size(), 0);
}

TEST_F(KernelLogRestartTest, WhatTheCollectorNeverStoredIsReadAgain) {
  Say(1, 1 * kHour, "noise");
  {
    KernelLogSource& source = Start();
    Collect(source, 1 * kHour + 5);
    position_ = source.position();
  }
  Say(2, 2 * kHour, Xid(79));
  for (int life = 0; life < 2; ++life) {
    KernelLogSource& source = Start();
    EXPECT_EQ(Collect(source, 4 * kHour).kernel_events_size(), 1) << life;
  }
}

TEST_F(KernelLogRestartTest, APositionOfAnotherBootSaysNothing) {
  Say(7, 1 * kHour, "noise");
  {
    KernelLogSource& source = Start();
    Collect(source, 1 * kHour + 5);
    position_ = source.position();
  }
  records_.clear();
  Say(2, 2 * kHour, Xid(79));
  KernelLogSource& rebooted = Start("boot-2");
  EXPECT_EQ(Collect(rebooted, 2 * kHour + 1).kernel_events_size(), 1);
}

TEST_F(KernelLogRestartTest, LinesOfDaysAgoAreCountedAndNotToldAsNews) {
  Say(1, 1 * kHour, "noise");
  {
    KernelLogSource& source = Start();
    Collect(source, 1 * kHour + 5);
    position_ = source.position();
  }
  Say(2, 2 * kHour, Xid(79));
  Say(3, 40 * kHour, Xid(95));
  KernelLogSource& source = Start();
  const wire::AgentReport report = Collect(source, 50 * kHour);
  ASSERT_EQ(report.kernel_events_size(), 1);
  EXPECT_EQ(report.kernel_events(0).code(), 95);
  EXPECT_EQ(DroppedOf(report, "kernel_events_too_old"), 1u);
}

TEST_F(KernelLogRestartTest, AtTheFirstStartTheLastMinutesAreRead) {
  Say(1, 10 * kNanosPerSecond, Xid(31));
  Say(2, kHour, Xid(79));
  KernelLogSource& source = Start();
  const wire::AgentReport report = Collect(source, kHour + kNanosPerSecond);
  ASSERT_EQ(report.kernel_events_size(), 1);
  EXPECT_EQ(report.kernel_events(0).code(), 79);
  EXPECT_EQ(report.dropped_size(), 0) << "what was before is no loss of ours";
}

TEST_F(KernelLogRestartTest, AfterABootOfAHostThatHadAnAgentAllOfItIsRead) {
  Say(1, 10 * kNanosPerSecond, Xid(31));
  Say(2, 19 * kHour, Xid(79));
  KernelLogSource& source = Start();
  source.ResumeAfterBoot();
  const wire::AgentReport report = Collect(source, 20 * kHour);
  ASSERT_EQ(report.kernel_events_size(), 2);
  EXPECT_EQ(report.kernel_events(0).monotonic_ns(), 10 * kNanosPerSecond);
  KernelLogSource& late = Start();
  late.ResumeAfterBoot();
  EXPECT_EQ(DroppedOf(Collect(late, 40 * kHour), "kernel_events_too_old"), 1u) << "it was for this host to tell";
}

TEST_F(KernelLogRestartTest, WhatTheKernelOverwroteMeanwhileIsCounted) {
  Say(1, 1 * kHour, "noise");
  {
    KernelLogSource& source = Start();
    Collect(source, 1 * kHour + 5);
    position_ = source.position();
  }
  records_.clear();
  Say(102, 2 * kHour, Xid(79));
  KernelLogSource& source = Start();
  const wire::AgentReport report = Collect(source, 2 * kHour + 1);
  EXPECT_EQ(DroppedOf(report, "kernel_log_overwritten"), 100u);
  EXPECT_EQ(report.kernel_events_size(), 1);
}

TEST_F(KernelLogRestartTest, ManyEventsTakeSeveralTicksAndNoneIsDropped) {
  for (int i = 0; i < 3 * KernelLogSource::kMaxEventsPerTick; ++i) Say(i, kHour, Xid(i + 1));
  KernelLogSource& source = Start();
  int events = 0;
  for (int tick = 0; tick < 4; ++tick) {
    const wire::AgentReport report = Collect(source, kHour + tick);
    events += report.kernel_events_size();
    EXPECT_EQ(report.dropped_size(), 0);
  }
  EXPECT_EQ(events, 3 * KernelLogSource::kMaxEventsPerTick);
}

TEST_F(KernelLogRestartTest, TheTimeOfALineThatIsReadAsItComesIsThatOfItsTick) {
  KernelLogSource& source = Start();
  Collect(source, kHour);
  // The kernel's clock is a minute behind, as after weeks of running a little slow.
  log_.reads.emplace_back(KmsgRead::kRecord,
                          absl::StrCat("4,1,", (kHour - 60 * kNanosPerSecond) / 1000, ",-;", Xid(79)));
  EXPECT_EQ(Collect(source, kHour + kNanosPerSecond).kernel_events(0).monotonic_ns(), kHour);
}

TEST(LogPositionTest, ReadsWhatItWroteAndNoNonsense) {
  EXPECT_EQ(ParseLogPosition(FormatLogPosition({"0a-1b", 12345})), (LogPosition{"0a-1b", 12345}));
  for (const char* text : {"", "\n", "a 1", " 1\n", "a\n", "a b\n", "a -1\n", "a 1 2\n"}) {
    EXPECT_FALSE(ParseLogPosition(text).has_value()) << text;
  }
}

TEST(KernelLogSourceLiveTest, ReadsTheLogOfThisMachineIfItMay) {
  KernelLogSource source(MakeKmsgDevice(*RootedFs::Open("/")), ReadBootId(*RootedFs::Open("/")),
                         std::make_shared<KernelXids>());
  wire::AgentReport report;
  const absl::Status status = source.Collect(Tick{}, report);
  EXPECT_TRUE(status.ok() || absl::IsUnavailable(status) || absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(DroppedOf(report, "kernel_log_unreadable"), 0u);
}

}  // namespace
}  // namespace lockstep
