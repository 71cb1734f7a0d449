#include "collector/warm_start.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "collector/alert/alert_sink.h"
#include "collector/convert/convert.h"
#include "collector/incident_index.h"
#include "collector/ingest/job_slice.h"
#include "collector/input_log.h"
#include "collector/metrics.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/report_builder.h"
#include "proto/capture.pb.h"
#include "proto/ingest.pb.h"

namespace lockstep {
namespace {

constexpr int kLoggedSeconds = 300;
constexpr int64_t kAway = 60 * kNanosPerSecond;

class KeepingLog final : public InputLog {
 public:
  bool Append(LogItem item) override {
    entries.push_back(std::move(item.entry));
    return true;
  }
  bool healthy() const override { return true; }

  std::vector<wire::CaptureEntry> entries;
};

class NoAlerts final : public AlertSink {
 public:
  void Announce(const IncidentEvent& event) override {}
};

// A log of one report per second, which ended a minute ago.
class WarmStartTest : public testing::Test {
 protected:
  WarmStartTest() {
    StoreBatch batch;
    for (int second = 1; second <= kLoggedSeconds; ++second) {
      wire::CaptureInput& input = *batch.log.emplace_back().mutable_input();
      input = Input(static_cast<uint64_t>(second));
      input.set_received_wall_ns(newest_ns() - (kLoggedSeconds - second) * kNanosPerSecond);
      input.set_carries_points(second % 2 == 0);
    }
    EXPECT_OK(store_.Write(batch));
  }

  int64_t newest_ns() const { return clock_.WallNanos() - kAway; }

  static wire::CaptureInput Input(uint64_t sequence) {
    wire::CaptureInput input;
    input.set_job("train");
    input.set_host("node-1");
    *input.mutable_report() = MakeTestReport(sequence, {.world_size = 1, .first_step = static_cast<int64_t>(sequence)});
    return input;
  }

  // How long before the end of the log the entries begin that the engine was given.
  int64_t SecondsGiven(const WarmStartOptions& options) {
    KeepingLog log;
    JobTable table(JobTableOptions(), clock_,
                   {log, alerts_, index_, metrics_, [](const auto&, const auto&) { return false; }});
    WarmUpJobs(options, store_.LoggedJobs().value(), store_, table);
    JobSlice slice;
    slice.input = Input(kLoggedSeconds + 1);
    ConvertLosses losses;
    slice.report = ToHostReport(slice.input, losses).value();
    table.Observe(std::move(slice));
    return (newest_ns() - log.entries.at(0).reset().warmed_from_wall_ns()) / kNanosPerSecond;
  }

  SimClock clock_;
  MemoryStore store_;
  NoAlerts alerts_;
  IncidentIndex index_{10};
  CollectorMetrics metrics_{"test"};
};

TEST_F(WarmStartTest, TheSpanCountsFromTheEndOfTheLog) {
  EXPECT_EQ(SecondsGiven({.span_ns = 100 * kNanosPerSecond}), 100);
}

TEST_F(WarmStartTest, MoreReportsShortenTheSpanHoweverLongTheCollectorWasAway) {
  const int64_t given = SecondsGiven({.max_inputs = 50});
  EXPECT_GE(given, 40);
  EXPECT_LE(given, 50);
}

TEST_F(WarmStartTest, SamplesOfTheNewestTwoMinutesComeBackOfInputsThatCarryThem) {
  MemoryStore store;
  StoreBatch batch;
  wire::CaptureInput& idle = *batch.log.emplace_back().mutable_input();
  idle.set_host("node-1");
  *idle.mutable_report() = MakeHostReport(1, 0.5);
  idle.set_carries_points(true);
  for (const int64_t age : {3 * kNanosPerSecond, 200 * kNanosPerSecond}) {
    idle.set_received_wall_ns(newest_ns() - age);
    ASSERT_OK(store.Write(batch));
  }
  idle.set_received_wall_ns(newest_ns() - 2 * kNanosPerSecond);
  idle.set_carries_points(false);
  ASSERT_OK(store.Write(batch));
  const std::vector<LoggedJob> jobs = store.LoggedJobs().value();
  ASSERT_OK(RecoverSeries(jobs, store));
  ASSERT_EQ(store.points().size(), 1u);
  EXPECT_EQ(store.points()[0].wall_ns, newest_ns() - 3 * kNanosPerSecond);
  ASSERT_OK(RecoverSeries(jobs, store));
  EXPECT_EQ(store.points().size(), 1u) << "what is there is left alone";
}

}  // namespace
}  // namespace lockstep
