// The spool and its thread: disks that hang or fail cost nobody but the reports that they do not take.

#include "agent/spool/spool.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/spool/report_log.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {
namespace {

constexpr int64_t kPatienceNanos = 30 * kNanosPerSecond;

// A disk that answers when it is told to.
class SlowLog final : public ReportLog {
 public:
  absl::Status Open() override { return absl::OkStatus(); }
  std::vector<FormerAgent> formers() const override { return {}; }
  std::string resume() const override { return ""; }
  absl::Status Append(const SpooledReport& report) override {
    MutexLock lock(mutex_);
    while (hangs_) changed_.WaitFor(mutex_, kNanosPerSecond);
    return fails_ ? absl::ResourceExhaustedError("disk full") : absl::OkStatus();
  }
  absl::Status Acknowledge(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<AgedReport>> Read(uint64_t, uint64_t, size_t) override {
    return std::vector<AgedReport>();
  }
  absl::Status KeepLimits() override { return absl::OkStatus(); }
  std::function<absl::Status()> BeginSync() override { return nullptr; }
  ReportLogState state() const override { return {}; }
  std::map<std::string, uint64_t> TakeLosses() override { return {}; }

  void Set(bool hangs, bool fails) {
    MutexLock lock(mutex_);
    hangs_ = hangs;
    fails_ = fails;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  bool fails_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(SpoolTest, ADiskThatHangsDelaysOneReportAndIsSkippedBeyondTheQueue) {
  auto owned = std::make_unique<SlowLog>();
  SlowLog& disk = *owned;
  Spool spool(std::move(owned), kNanosPerSecond, RealClock());
  ASSERT_TRUE(spool.WaitOpen(kPatienceNanos));
  spool.Add({.sequence = 1, .bytes = "r"});
  EXPECT_TRUE(spool.WaitWritten(1, kPatienceNanos));
  disk.Set(/*hangs=*/true, /*fails=*/false);
  const uint64_t last = Spool::kMaxQueuedReports + 10;
  for (uint64_t n = 2; n <= last; ++n) spool.Add({.sequence = n, .bytes = "r"});
  EXPECT_FALSE(spool.WaitWritten(2, kNanosPerMilli));
  const int64_t begin_ns = RealClock().MonotonicNanos();
  EXPECT_FALSE(spool.WaitWritten(3, kPatienceNanos)) << "the disk is behind: nobody waits again";
  EXPECT_LT(RealClock().MonotonicNanos() - begin_ns, kPatienceNanos / 2);
  EXPECT_TRUE(spool.statistics().failing);
  EXPECT_GT(spool.statistics().skipped.at("queue_full"), 0u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(spool.Load(1, 0, 1, kNanosPerMilli).status()));
  disk.Set(false, false);
  const uint64_t written = last - spool.statistics().skipped.at("queue_full");
  EXPECT_TRUE(spool.WaitWritten(1, kPatienceNanos));
  const int64_t deadline_ns = RealClock().MonotonicNanos() + kPatienceNanos;
  while (spool.statistics().failing && RealClock().MonotonicNanos() < deadline_ns) spool.WaitWritten(written, 1);
  EXPECT_FALSE(spool.statistics().failing);
}

TEST(SpoolTest, AFailingDiskIsCountedAndTheReportsStayWhereTheyAre) {
  auto owned = std::make_unique<SlowLog>();
  owned->Set(/*hangs=*/false, /*fails=*/true);
  Spool spool(std::move(owned), kNanosPerSecond, RealClock());
  ASSERT_TRUE(spool.WaitOpen(kPatienceNanos));
  for (uint64_t n = 1; n <= 3; ++n) spool.Add({.sequence = n, .bytes = "r"});
  EXPECT_FALSE(spool.WaitWritten(3, kPatienceNanos));
  EXPECT_EQ(spool.statistics().errors.at("write"), 1u) << "one try, then a pause";
  EXPECT_EQ(spool.statistics().skipped.at("write_failed"), 3u);
  EXPECT_TRUE(spool.statistics().failing);
  EXPECT_TRUE(spool.TakeWritten().empty());
}

}  // namespace
}  // namespace lockstep
