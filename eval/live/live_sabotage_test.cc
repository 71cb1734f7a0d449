// The evaluation of the live path must be able to fail: an engine that is broken on purpose has to look broken.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_measures.h"
#include "eval/live/live_run.h"
#include "eval/live/live_suite.h"
#include "eval/live/live_summary.h"
#include "gtest/gtest.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int32_t kEpisodes = 6;

JobSpec SmallJob() {
  JobSpec job = TypicalJob(64, 3);
  job.schedule.steps = 50;
  return job;
}

LivePlan SlowNic(uint64_t, Random& random) {
  LivePlan plan;
  plan.episode.job = SmallJob();
  plan.episode.faults = {RandomFault(FaultKind::kNicSendSlow, 1, plan.episode.job, random)};
  return plan;
}

LivePlan Unreachable(uint64_t, Random& random) {
  LivePlan plan;
  plan.episode.job = SmallJob();
  plan.episode.faults = {RandomFault(FaultKind::kMachineUnreachable, 1, plan.episode.job, random)};
  return plan;
}

// The collector's engine, lied to.
class LiedToEngine : public LiveEngine {
 public:
  LiedToEngine() : engine_(CollectorEngine({})()) {}

  void ObservePlaces(const std::string& host, const Places& places) override { engine_->ObservePlaces(host, places); }
  void Observe(const HostReport& report) override {
    HostReport lie = report;
    Falsify(&lie);
    engine_->Observe(lie);
  }
  JobEngine::Conclusion Evaluate(int64_t watermark_ns) override { return engine_->Evaluate(watermark_ns); }
  JobSummary summary() const override { return engine_->summary(); }

 private:
  virtual void Falsify(HostReport* report) = 0;

  std::unique_ptr<LiveEngine> engine_;
};

// How long an operation took is dealt out at random among those that a rank reports together.
class DealtDurations final : public LiedToEngine {
  void Falsify(HostReport* report) override {
    for (RankView& rank : report->ranks) {
      for (CommunicatorView& communicator : rank.communicators) Deal(&communicator.operations);
    }
    for (PullAnswer& answer : report->answers) {
      for (PulledOperations& pulled : answer.pulled) Deal(&pulled.operations);
    }
  }

  void Deal(std::vector<Operation>* operations) {
    for (Operation& operation : *operations) {
      durations_.push_back(operation.end_ns - operation.start_ns);
      std::swap(durations_.back(), durations_[random_.Below(durations_.size())]);
      operation.end_ns = operation.start_ns + durations_.back();
      durations_.pop_back();
      if (durations_.size() < kMostDurations) durations_.push_back(operation.end_ns - operation.start_ns);
    }
  }

  static constexpr size_t kMostDurations = 4096;
  Random random_{3};
  std::vector<int64_t> durations_;  // of others
};

// Every report is said to come from another host.
class SwappedHosts final : public LiedToEngine {
  void Falsify(HostReport* report) override {
    std::string& host = report->host;
    host.back() = host.back() == '7' ? '0' : static_cast<char>(host.back() + 1);
  }
};

template <typename SomeEngine>
LiveEngineFactory FactoryOf() {
  return []() -> std::unique_ptr<LiveEngine> { return std::make_unique<SomeEngine>(); };
}

LiveSummary SummaryOf(LivePlan (*plan)(uint64_t, Random&), const char* suite_name, const LiveEngineFactory& engine) {
  LiveSuite suite = *FindLiveSuite(suite_name);
  suite.plan = plan;
  const SimClock clock;
  const LiveRun run{.engine = engine, .cpu = [] { return int64_t{0}; }};
  return SummarizeLive(suite, RunLiveSuite(suite, 0, kEpisodes, 1, run, clock, {}));
}

TEST(LiveSabotageTest, WithDurationsDealtAtRandomNobodyIsFound) {
  const LiveSummary intact = SummaryOf(SlowNic, "slow-64", CollectorEngine({}));
  const LiveSummary broken = SummaryOf(SlowNic, "slow-64", FactoryOf<DealtDurations>());
  ASSERT_GE(intact.top1.trials, kEpisodes - 2) << "most of these faults are dear enough to be accused";
  EXPECT_GE(intact.named.share(), 0.7);
  EXPECT_LE(broken.named.share(), 0.3);
  EXPECT_GT(broken.failures.total() + broken.innocents.accused, intact.innocents.accused);
}

TEST(LiveSabotageTest, WithHostsMixedUpTheInnocentAreAccused) {
  const LiveSummary intact = SummaryOf(Unreachable, "hangs", CollectorEngine({}));
  const LiveSummary broken = SummaryOf(Unreachable, "hangs", FactoryOf<SwappedHosts>());
  EXPECT_GE(intact.named.share(), 0.7);
  EXPECT_LE(broken.named.share(), 0.3);
  EXPECT_GT(broken.innocents.accused, intact.innocents.accused);
  EXPECT_GT(broken.innocents.false_incidents, intact.innocents.false_incidents);
}

}  // namespace
}  // namespace lockstep
