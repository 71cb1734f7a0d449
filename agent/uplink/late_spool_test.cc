// A spool whose disk comes late: what agents before this one have left is delivered all the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/spool/segment_log.h"
#include "agent/spool/spool.h"
#include "agent/testing/fake_collector.h"
#include "agent/uplink/resume_keeper.h"
#include "agent/uplink/uplink.h"
#include "base/boot_clock.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/ingest.pb.h"
#include "proto/resume.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;

constexpr int64_t kTestDeadlineNs = 30 * kNanosPerSecond;
constexpr uint64_t kFormer = 7;
constexpr uint64_t kLive = 8;

// A log whose disk is not there until it is told to be.
class LateLog final : public ReportLog {
 public:
  LateLog(std::unique_ptr<ReportLog> log, const std::atomic<bool>& is_there, int reads_that_fail = 0)
      : log_(std::move(log)), is_there_(is_there), reads_that_fail_(reads_that_fail) {}

  absl::Status Open() override { return is_there_ ? log_->Open() : absl::UnavailableError("no disk"); }
  std::vector<FormerAgent> formers() const override { return log_->formers(); }
  std::string resume() const override { return log_->resume(); }
  absl::Status Append(const SpooledReport& report) override { return log_->Append(report); }
  absl::Status Acknowledge(uint64_t of, uint64_t sequence) override { return log_->Acknowledge(of, sequence); }
  absl::StatusOr<std::vector<AgedReport>> Read(uint64_t of, uint64_t sequence, size_t max_bytes) override {
    if (reads_that_fail_-- > 0) return absl::UnknownError("input/output error");
    return log_->Read(of, sequence, max_bytes);
  }
  absl::Status KeepLimits() override { return log_->KeepLimits(); }
  std::function<absl::Status()> BeginSync() override { return log_->BeginSync(); }
  ReportLogState state() const override { return log_->state(); }
  std::map<std::string, uint64_t> TakeLosses() override { return log_->TakeLosses(); }

 private:
  const std::unique_ptr<ReportLog> log_;
  const std::atomic<bool>& is_there_;
  int reads_that_fail_;
};

class LateSpoolTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReportLog> LogOf(uint64_t incarnation) {
    SegmentLogOptions options;
    options.directory = (directory_.path() / "spool").string();
    options.host = "host";
    options.incarnation = incarnation;
    return std::make_unique<SegmentLog>(options, RealClock(), RealBootClock());
  }

  // What an agent that was killed has left.
  void LeaveReports(uint64_t count) {
    const std::unique_ptr<ReportLog> log = LogOf(kFormer);
    ASSERT_OK(log->Open());
    for (uint64_t sequence = 1; sequence <= count; ++sequence) {
      wire::AgentReport report;
      report.set_sequence(sequence);
      ASSERT_OK(log->Append({.sequence = sequence,
                             .wall_ns = RealClock().WallNanos(),
                             .boot_ns = RealBootClock().BootNanos(),
                             .resume = "",
                             .bytes = report.SerializeAsString()}));
    }
  }

  static bool WaitFor(const std::function<bool()>& holds) {
    const int64_t until_ns = RealClock().MonotonicNanos() + kTestDeadlineNs;
    while (!holds()) {
      if (RealClock().MonotonicNanos() > until_ns) return false;
      StopSignal().WaitFor(kNanosPerMilli);
    }
    return true;
  }

  static wire::AgentHello Hello() {
    wire::AgentHello hello;
    hello.set_host("host");
    hello.set_incarnation(kLive);
    return hello;
  }

  TemporaryDirectory directory_;
  SimClock clock_;
  std::atomic<bool> is_there_{false};
  FakeCollector collector_;
};

TEST_F(LateSpoolTest, ReportsThatTheDiskDoesNotGiveAtOnceAreAskedForAgain) {
  LeaveReports(3);
  is_there_ = true;
  Spool spool(std::make_unique<LateLog>(LogOf(kLive), is_there_, /*reads_that_fail=*/2), kNanosPerMilli, RealClock());
  ASSERT_TRUE(spool.WaitOpen(kTestDeadlineNs));
  Uplink uplink(collector_, Hello(), {}, RealClock(), Random(1), &spool);
  ASSERT_TRUE(WaitFor([&] { return collector_.incarnations().size() == 3; }));
  EXPECT_THAT(collector_.incarnations(), ElementsAre(kFormer, kFormer, kFormer));
}

TEST_F(LateSpoolTest, FormerAgentsHaveTheirTurnWhenTheDiskComes) {
  LeaveReports(3);
  Spool spool(std::make_unique<LateLog>(LogOf(kLive), is_there_), kNanosPerMilli, clock_);
  EXPECT_FALSE(spool.WaitOpen(kTestDeadlineNs));
  Uplink uplink(collector_, Hello(), {}, RealClock(), Random(1), &spool);
  for (int i = 0; i < 2; ++i) uplink.Send(wire::AgentReport());
  ASSERT_TRUE(WaitFor([&] { return uplink.Drain(kNanosPerSecond); }));
  EXPECT_THAT(collector_.incarnations(), ElementsAre(kLive, kLive));

  is_there_ = true;
  clock_.Advance(Spool::kRetryNanos);
  ASSERT_TRUE(WaitFor([&] { return spool.WaitOpen(0); }));
  uplink.Send(wire::AgentReport());
  ASSERT_TRUE(WaitFor([&] { return collector_.incarnations().size() == 6 && uplink.Drain(kNanosPerSecond); }));
  std::vector<uint64_t> of_former;
  std::vector<uint64_t> of_live;
  const std::vector<wire::AgentReport> reports = collector_.reports();
  const std::vector<uint64_t> incarnations = collector_.incarnations();
  for (size_t i = 0; i < reports.size(); ++i) {
    (incarnations[i] == kFormer ? of_former : of_live).push_back(reports[i].sequence());
  }
  EXPECT_THAT(of_former, ElementsAre(1, 2, 3));
  EXPECT_THAT(of_live, ElementsAre(1, 2, 3)) << "each once";
  EXPECT_EQ(uplink.statistics().former_reports, 0u);
  EXPECT_EQ(uplink.statistics().disconnections, 0u) << "nobody was cut off";
}

TEST_F(LateSpoolTest, WhereToGoOnIsKnownBeforeTheDiskComes) {
  const auto point = [](int64_t monotonic_ns) {
    wire::ResumePoint at;
    at.set_monotonic_ns(monotonic_ns);
    return at.SerializeAsString();
  };
  collector_.set_reachable(false);
  {
    ResumeKeeper keeper(directory_.path().string(), "boot", "host");
    Spool spool(LogOf(kFormer), kNanosPerMilli, clock_);
    ASSERT_TRUE(spool.WaitOpen(kTestDeadlineNs));
    wire::AgentHello hello = Hello();
    hello.set_incarnation(kFormer);
    Uplink uplink(collector_, hello, {}, RealClock(), Random(1), &spool, &keeper);
    uplink.Send(wire::AgentReport(), point(10));
    ASSERT_TRUE(spool.WaitWritten(1, kTestDeadlineNs));
    uplink.Send(wire::AgentReport(), point(20));
  }
  ResumeKeeper keeper(directory_.path().string(), "boot", "host");
  Spool spool(std::make_unique<LateLog>(LogOf(kLive), is_there_), kNanosPerMilli, clock_);
  EXPECT_FALSE(spool.WaitOpen(kTestDeadlineNs));
  Uplink uplink(collector_, Hello(), {}, RealClock(), Random(1), &spool, &keeper);
  EXPECT_THAT(uplink.resume(), AnyOf(point(10), point(20))) << "of a report that the disk has, and no collector";
}

TEST_F(LateSpoolTest, FormersAreSentByTheProcessThatFoundThem) {
  LeaveReports(1);
  is_there_ = true;
  Spool spool(std::make_unique<LateLog>(LogOf(kLive), is_there_), kNanosPerMilli, clock_);
  ASSERT_TRUE(spool.WaitOpen(kTestDeadlineNs));
  Uplink uplink(collector_, Hello(), {}, RealClock(), Random(1), &spool);
  uplink.Send(wire::AgentReport());
  ASSERT_TRUE(WaitFor([&] { return uplink.Drain(kNanosPerSecond); }));
  const std::vector<wire::AgentHello> hellos = collector_.hellos();
  ASSERT_EQ(hellos.size(), 2u);
  EXPECT_EQ(hellos[0].incarnation(), kFormer);
  EXPECT_EQ(hellos[0].sender(), kLive);
  EXPECT_EQ(hellos[1].incarnation(), kLive);
  EXPECT_EQ(hellos[1].sender(), 0u);
}

TEST_F(LateSpoolTest, AnAgentThatWasNotConnectedBeginsWithTheFormer) {
  LeaveReports(2);
  collector_.set_reachable(false);
  Spool spool(std::make_unique<LateLog>(LogOf(kLive), is_there_), kNanosPerMilli, clock_);
  EXPECT_FALSE(spool.WaitOpen(kTestDeadlineNs));
  Uplink uplink(collector_, Hello(), {}, RealClock(), Random(1), &spool);
  uplink.Send(wire::AgentReport());
  is_there_ = true;
  clock_.Advance(Spool::kRetryNanos);
  ASSERT_TRUE(WaitFor([&] { return spool.WaitOpen(0); }));
  uplink.Send(wire::AgentReport());
  EXPECT_EQ(uplink.statistics().former_reports, 2u);
  collector_.set_reachable(true);
  ASSERT_TRUE(WaitFor([&] { return uplink.Drain(kNanosPerSecond); }));
  EXPECT_THAT(collector_.incarnations(), ElementsAre(kFormer, kFormer, kLive, kLive));
}

}  // namespace
}  // namespace lockstep
