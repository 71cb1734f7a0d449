#include "agent/source_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/metric_block.h"
#include "agent/resume_point.h"
#include "agent/testing/report_view.h"
#include "base/mutex.h"
#include "base/testing/sim_clock.h"

namespace lockstep {
namespace {

// Long enough that a source that answers is never cut off; tests never wait for it.
constexpr int64_t kPatient = 60 * kNanosPerSecond;
// What a test waits in vain for a source that hangs.
constexpr int64_t kImpatient = 20 * kNanosPerMilli;

// A source that does what it is told.
class ScriptedSource final : public Source {
 public:
  using Script = std::function<absl::Status(const Tick&, wire::AgentReport&)>;
  ScriptedSource(std::string name, Script script) : name_(std::move(name)), script_(std::move(script)) {}

  absl::string_view name() const override { return name_; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override { return script_(tick, report); }

 private:
  const std::string name_;
  const Script script_;
};

std::unique_ptr<Source> Make(std::string name, ScriptedSource::Script script) {
  return std::make_unique<ScriptedSource>(std::move(name), std::move(script));
}

// A door that a source waits behind. Shared with it, since a thread that is left behind may be the last to pass.
class Door {
 public:
  void Pass() {
    MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mutex_);
    ++passed_;
    changed_.NotifyAll();
  }
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  void AwaitArrived(int count) {
    MutexLock lock(mutex_);
    while (arrived_ < count) changed_.Wait(mutex_);
  }
  void AwaitPassed(int count) {
    MutexLock lock(mutex_);
    while (passed_ < count) changed_.Wait(mutex_);
  }
  int arrived() {
    MutexLock lock(mutex_);
    return arrived_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  int passed_ ABSL_GUARDED_BY(mutex_) = 0;
};

wire::SourceStatus::Outcome OutcomeOf(const wire::AgentReport& report, absl::string_view name) {
  for (const wire::SourceStatus& status : report.sources()) {
    if (status.name() == name) return status.outcome();
  }
  return wire::SourceStatus::OUTCOME_UNSPECIFIED;
}

class SourceRunnerTest : public ::testing::TestWithParam<bool> {
 protected:
  // Never destroyed: a thread that a test leaves behind may still look at it.
  static SimClock& clock() {
    static SimClock& clock = *new SimClock;
    return clock;
  }
};

INSTANTIATE_TEST_SUITE_P(InPlaceAndThreaded, SourceRunnerTest, ::testing::Bool());

// A source that has the parts it is told to have.
class SourceOfParts final : public Source {
 public:
  explicit SourceOfParts(const std::vector<std::string>* parts) : parts_(parts) {}
  absl::string_view name() const override { return "parts"; }
  absl::Status Collect(const Tick&, wire::AgentReport&) override {
    return parts_->empty() ? NoData("nothing") : absl::OkStatus();
  }
  std::vector<std::string> parts() const override { return *parts_; }

 private:
  const std::vector<std::string>* const parts_;
};

wire::SourceStatus CollectOne(SourceRunner& runner) {
  wire::AgentReport report;
  runner.Collect(Tick{}, report);
  return report.sources(0);
}

TEST_P(SourceRunnerTest, APartThatWasThereBeforeAndIsGoneIsAFailure) {
  std::vector<std::string> parts = {"mlx5_0/1", "mlx5_1/1", "mlx5_2/1"};
  SourceRunner runner(clock(), kPatient);
  runner.Add(std::make_unique<SourceOfParts>(&parts), GetParam());
  EXPECT_EQ(CollectOne(runner).outcome(), wire::SourceStatus::OUTCOME_OK);
  parts = {"mlx5_0/1", "mlx5_9/1"};
  const wire::SourceStatus fewer = CollectOne(runner);
  EXPECT_EQ(fewer.outcome(), wire::SourceStatus::OUTCOME_FAILED);
  EXPECT_THAT(fewer.missing(), testing::ElementsAre("mlx5_1/1", "mlx5_2/1"));
  EXPECT_EQ(fewer.error(), "mlx5_1/1, mlx5_2/1 are gone, and worked before in this boot of the machine");
  EXPECT_TRUE(fewer.worked());
  clock().Advance(40 * kNanosPerSecond);
  EXPECT_EQ(CollectOne(runner).failing_ns(), 40 * kNanosPerSecond);
  parts = {"mlx5_0/1", "mlx5_1/1", "mlx5_2/1", "mlx5_9/1"};
  EXPECT_EQ(CollectOne(runner).outcome(), wire::SourceStatus::OUTCOME_OK) << "it came back";
}

TEST_P(SourceRunnerTest, TheAgentAfterThisOneMissesThemTooInTheSameBoot) {
  std::vector<std::string> parts = {"0000:3b:00.0", "0000:3c:00.0"};
  SourceRunner before(clock(), kPatient);
  before.Add(std::make_unique<SourceOfParts>(&parts), GetParam());
  CollectOne(before);
  const std::string point = before.resume_point();
  parts = {"0000:3b:00.0"};
  SourceRunner after(clock(), kPatient);
  after.Add(std::make_unique<SourceOfParts>(&parts), GetParam());
  after.Resume(point);
  EXPECT_THAT(CollectOne(after).missing(), testing::ElementsAre("0000:3c:00.0"));
  SourceRunner rebooted(clock(), kPatient);
  rebooted.Add(std::make_unique<SourceOfParts>(&parts), GetParam());
  rebooted.Resume(ResumePointOfAnotherBoot(point));
  EXPECT_EQ(CollectOne(rebooted).outcome(), wire::SourceStatus::OUTCOME_OK) << "somebody may have taken it out";
}

TEST_P(SourceRunnerTest, TellsOkNoDataAndFailedApart) {
  SourceRunner runner(clock(), kPatient);
  runner.Add(Make("ok", [](const Tick&, wire::AgentReport&) { return absl::OkStatus(); }), GetParam());
  runner.Add(Make("none", [](const Tick&, wire::AgentReport&) { return NoData("no GPU"); }), GetParam());
  runner.Add(Make("bad", [](const Tick&, wire::AgentReport&) { return absl::DataLossError("garbage"); }), GetParam());
  wire::AgentReport report;
  runner.Collect(Tick{}, report);
  ASSERT_EQ(report.sources_size(), 3);
  EXPECT_EQ(report.sources(0).name(), "ok");
  EXPECT_EQ(report.sources(0).outcome(), wire::SourceStatus::OUTCOME_OK);
  EXPECT_EQ(report.sources(0).error(), "");
  EXPECT_EQ(report.sources(1).outcome(), wire::SourceStatus::OUTCOME_NO_DATA);
  EXPECT_EQ(report.sources(1).error(), "no GPU");
  EXPECT_EQ(report.sources(2).outcome(), wire::SourceStatus::OUTCOME_FAILED);
  EXPECT_EQ(report.sources(2).error(), "garbage");
}

TEST_P(SourceRunnerTest, KeepsWhatASourceSaidBeforeItFailed) {
  SourceRunner runner(clock(), kPatient);
  runner.Add(Make("half",
                  [](const Tick& tick, wire::AgentReport& report) {
                    MetricBlockBuilder(report, "", tick.monotonic_ns).Add(Metric::kHostLoad1, 2.5);
                    return absl::InternalError("the rest is gone");
                  }),
             GetParam());
  wire::AgentReport report;
  runner.Collect(Tick{.monotonic_ns = 7}, report);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostLoad1), 2.5);
  EXPECT_EQ(report.metrics(0).monotonic_ns(), 7);
}

TEST_P(SourceRunnerTest, MeasuresHowLongASourceTook) {
  SourceRunner runner(clock(), kPatient);
  runner.Add(Make("slow",
                  [](const Tick&, wire::AgentReport&) {
                    clock().Advance(3 * kNanosPerMilli);
                    return absl::OkStatus();
                  }),
             GetParam());
  wire::AgentReport report;
  runner.Collect(Tick{}, report);
  EXPECT_EQ(report.sources(0).duration_ns(), 3 * kNanosPerMilli);
}

TEST_P(SourceRunnerTest, AsksAgainInEveryTick) {
  SourceRunner runner(clock(), kPatient);
  runner.Add(Make("echo",
                  [](const Tick& tick, wire::AgentReport& report) {
                    MetricBlockBuilder(report, "", tick.monotonic_ns).Add(Metric::kHostLoad1, tick.monotonic_ns);
                    return absl::OkStatus();
                  }),
             GetParam());
  for (int64_t moment = 1; moment <= 5; ++moment) {
    wire::AgentReport report;
    runner.Collect(Tick{.monotonic_ns = moment}, report);
    EXPECT_EQ(ValueOf(report, "", Metric::kHostLoad1), moment);
  }
}

TEST_F(SourceRunnerTest, ASourceThatHangsIsTimedOutAndTheOthersAreNot) {
  const auto door = std::make_shared<Door>();
  SourceRunner runner(clock(), kImpatient);
  runner.Add(Make("nvml",
                  [door](const Tick& tick, wire::AgentReport& report) {
                    door->Pass();
                    MetricBlockBuilder(report, "gpu0", tick.monotonic_ns).Add(Metric::kGpuPowerWatts, 1);
                    return absl::OkStatus();
                  }),
             /*may_hang=*/true);
  runner.Add(Make("host", [](const Tick&, wire::AgentReport&) { return absl::OkStatus(); }), /*may_hang=*/false);

  for (int tick = 0; tick < 3; ++tick) {
    wire::AgentReport report;
    runner.Collect(Tick{.monotonic_ns = tick}, report);
    EXPECT_EQ(OutcomeOf(report, "nvml"), wire::SourceStatus::OUTCOME_TIMED_OUT);
    EXPECT_THAT(report.sources(0).error(), ::testing::HasSubstr("no answer for"));
    EXPECT_EQ(OutcomeOf(report, "host"), wire::SourceStatus::OUTCOME_OK);
    EXPECT_EQ(report.metrics_size(), 0);
    clock().Advance(kNanosPerSecond);
  }
  EXPECT_EQ(door->arrived(), 1) << "a source that hangs is not asked again";
  door->Open();
  door->AwaitPassed(1);
}

TEST_F(SourceRunnerTest, SaysForHowLongASourceHasBeenHanging) {
  const auto door = std::make_shared<Door>();
  SourceRunner runner(clock(), kImpatient);
  runner.Add(Make("nvml",
                  [door](const Tick&, wire::AgentReport&) {
                    door->Pass();
                    return absl::OkStatus();
                  }),
             /*may_hang=*/true);
  wire::AgentReport first;
  runner.Collect(Tick{}, first);
  clock().Advance(12 * kNanosPerSecond);
  wire::AgentReport second;
  runner.Collect(Tick{}, second);
  EXPECT_EQ(second.sources(0).error(), "no answer for 12.0 s");
  EXPECT_EQ(second.sources(0).duration_ns(), 12 * kNanosPerSecond);
  door->Open();
}

TEST_F(SourceRunnerTest, WhatCameTooLateIsAppendedToTheNextTick) {
  const auto door = std::make_shared<Door>();
  const auto done = std::make_shared<Door>();
  SourceRunner runner(clock(), 200 * kNanosPerMilli);
  runner.Add(Make("log",
                  [door, done](const Tick& tick, wire::AgentReport& report) {
                    if (tick.monotonic_ns == 1) door->Pass();
                    report.add_kernel_events()->set_code(tick.monotonic_ns);
                    return absl::OkStatus();
                  }),
             /*may_hang=*/true);
  wire::AgentReport first;
  runner.Collect(Tick{.monotonic_ns = 1}, first);
  EXPECT_EQ(OutcomeOf(first, "log"), wire::SourceStatus::OUTCOME_TIMED_OUT);
  EXPECT_EQ(first.kernel_events_size(), 0);

  door->Open();
  // Whether the answer to tick 1 is in by the time of the next Collect is up to the scheduler; each line comes once.
  std::vector<int64_t> codes;
  for (int64_t moment = 2; codes.empty() || codes.back() == 1; ++moment) {
    wire::AgentReport report;
    runner.Collect(Tick{.monotonic_ns = moment}, report);
    for (const wire::KernelEvent& event : report.kernel_events()) codes.push_back(event.code());
  }
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0], 1);
  EXPECT_GT(codes[1], 1);
}

TEST_F(SourceRunnerTest, GoesAwayWhileASourceStillHangs) {
  const auto door = std::make_shared<Door>();
  {
    SourceRunner runner(clock(), kImpatient);
    runner.Add(Make("nvml",
                    [door](const Tick&, wire::AgentReport&) {
                      door->Pass();
                      return absl::OkStatus();
                    }),
               /*may_hang=*/true);
    wire::AgentReport report;
    runner.Collect(Tick{}, report);
    door->AwaitArrived(1);
  }
  door->Open();
  door->AwaitPassed(1);
}

TEST_F(SourceRunnerTest, SourcesThatMayHangWorkAtTheSameTime) {
  // Each waits for the other: one after the other they would never be done.
  const auto here = std::make_shared<Door>();
  const auto there = std::make_shared<Door>();
  SourceRunner runner(clock(), kPatient);
  runner.Add(Make("a",
                  [=](const Tick&, wire::AgentReport&) {
                    here->Open();
                    there->Pass();
                    return absl::OkStatus();
                  }),
             /*may_hang=*/true);
  runner.Add(Make("b",
                  [=](const Tick&, wire::AgentReport&) {
                    there->Open();
                    here->Pass();
                    return absl::OkStatus();
                  }),
             /*may_hang=*/true);
  wire::AgentReport report;
  runner.Collect(Tick{}, report);
  EXPECT_EQ(OutcomeOf(report, "a"), wire::SourceStatus::OUTCOME_OK);
  EXPECT_EQ(OutcomeOf(report, "b"), wire::SourceStatus::OUTCOME_OK);
}

TEST_P(SourceRunnerTest, TellsSinceWhenASourceFails) {
  SourceRunner runner(clock(), kPatient);
  // Shared with the source, since its thread may outlive the test.
  const auto answer = std::make_shared<absl::Status>();
  runner.Add(Make("ib", [answer](const Tick&, wire::AgentReport&) { return *answer; }), GetParam());
  const auto collect = [&runner] {
    wire::AgentReport report;
    runner.Collect(Tick{}, report);
    return report.sources(0);
  };
  *answer = absl::DataLossError("garbage");
  EXPECT_EQ(collect().failing_ns(), 1);
  EXPECT_FALSE(collect().worked());
  clock().Advance(5 * kNanosPerSecond);
  EXPECT_EQ(collect().failing_ns(), 5 * kNanosPerSecond);
  *answer = absl::OkStatus();
  EXPECT_EQ(collect().failing_ns(), 0);
  *answer = absl::DataLossError("garbage");
  EXPECT_EQ(collect().failing_ns(), 1);
  EXPECT_TRUE(collect().worked());
}

TEST_P(SourceRunnerTest, WhatWasThereAndIsGoneHasFailed) {
  SourceRunner runner(clock(), kPatient);
  const auto answer = std::make_shared<absl::Status>(NoData("no devices"));
  runner.Add(Make("ib", [answer](const Tick&, wire::AgentReport&) { return *answer; }), GetParam());
  const auto collect = [&runner] {
    wire::AgentReport report;
    runner.Collect(Tick{}, report);
    return report.sources(0);
  };
  EXPECT_EQ(collect().outcome(), wire::SourceStatus::OUTCOME_NO_DATA);
  *answer = absl::OkStatus();
  EXPECT_EQ(collect().outcome(), wire::SourceStatus::OUTCOME_OK);
  *answer = NoData("no devices");
  EXPECT_EQ(collect().outcome(), wire::SourceStatus::OUTCOME_FAILED);
  EXPECT_EQ(collect().error(), "is gone: no devices");
  EXPECT_GT(collect().failing_ns(), 0);
}

}  // namespace
}  // namespace lockstep
