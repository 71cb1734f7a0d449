#include "eval/live/live_player.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_job.h"
#include "eval/live/live_suite.h"
#include "eval/live/played_episode.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

PlayedEpisode SmallJob() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 12;
  return MakePlayedEpisode(Simulate(job, {}, 5), {}, 9);
}

// Writes down how it is treated, and asks one host for operations at its fourth evaluation.
class WitnessEngine final : public LiveEngine {
 public:
  void ObservePlaces(const std::string& host, const Places&) override { placed.insert(host); }
  void Observe(const HostReport& report) override {
    EXPECT_TRUE(placed.count(report.host) > 0) << "places come before reports";
    EXPECT_GT(report.received_ns, newest_ns);
    newest_ns = report.received_ns;
    ++reports[report.host];
    for (const PullAnswer& answer : report.answers) {
      EXPECT_EQ(report.host, "node-00001");
      EXPECT_EQ(answer.request, 7u);
      answered_ns = report.received_ns;
      for (const PulledOperations& pulled : answer.pulled) operations += pulled.operations.size();
    }
  }
  JobEngine::Conclusion Evaluate(int64_t watermark_ns) override {
    EXPECT_GT(watermark_ns, newest_ns);
    newest_ns = watermark_ns;
    watermarks.push_back(watermark_ns);
    JobEngine::Conclusion conclusion;
    if (watermarks.size() != 4) return conclusion;
    asked_ns = watermark_ns;
    conclusion.requests.push_back({.host = "node-00001", .id = 7, .newest_ns = 10 * kNanosPerSecond});
    return conclusion;
  }
  JobSummary summary() const override { return {}; }

  std::set<std::string> placed;
  std::map<std::string, int> reports;
  std::vector<int64_t> watermarks;
  int64_t newest_ns = 0, asked_ns = 0, answered_ns = 0;
  size_t operations = 0;
};

TEST(LivePlayerTest, TheEngineIsTreatedAsTheCollectorTreatsIt) {
  const PlayedEpisode played = SmallJob();
  WitnessEngine engine;
  int64_t cpu_ns = 0;
  int64_t looks = 0;
  const LivePlay play = PlayJob(
      LiveJobOf(played), {}, 1, engine, [&] { return cpu_ns += kNanosPerMilli; }, [&](const LiveLook&) { ++looks; });
  ASSERT_GT(engine.watermarks.size(), 10u);
  for (size_t i = 1; i < engine.watermarks.size(); ++i) {
    EXPECT_EQ(engine.watermarks[i] - engine.watermarks[i - 1], 500 * kNanosPerMilli);
  }
  EXPECT_EQ(play.looks, looks);
  EXPECT_EQ(engine.reports.size(), 4u);
  EXPECT_GT(engine.operations, 50u);
  EXPECT_GT(engine.answered_ns, engine.asked_ns);
  EXPECT_LE(engine.answered_ns, engine.asked_ns + kNanosPerSecond);
  EXPECT_EQ(play.pulls, 1u);
  EXPECT_GT(play.pulled_bytes, 1000u);
  int64_t calls = looks;
  for (const auto& [host, reports] : engine.reports) calls += reports;
  EXPECT_EQ(play.engine_cpu_ns, calls * kNanosPerMilli);
}

TEST(LivePlayerTest, ThePlayEndsWithTheJobSoThatItsSilenceIsNoHang) {
  const PlayedEpisode played = SmallJob();
  const std::unique_ptr<LiveEngine> engine = CollectorEngine({})();
  JobState state = JobState::kUnknown;
  size_t verdicts = 0;
  const LivePlay play = PlayJob(
      LiveJobOf(played), {}, 1, *engine, [] { return int64_t{0}; },
      [&](const LiveLook& look) {
        state = look.summary.state;
        verdicts += look.conclusion.verdicts.size();
      });
  EXPECT_EQ(verdicts, 0u);
  EXPECT_NE(state, JobState::kHung);
  EXPECT_GT(play.operations, played.seen.evidence.trace.operations.size() / 2);
}

TEST(LivePlayerTest, AJobThatStandsStillIsNotCalledHealthyThoughItsHangIsNotFound) {
  // Its GPU is lost ten seconds after the start, before steps are known, and some agents come later still.
  const LivePlan plan = LivePlanOf(*FindLiveSuite("hangs"), 0);
  JobState state = JobState::kHealthy;
  const auto see = [&state](const LiveLook& look) { state = look.summary.state; };
  const PlayedEpisode played = MakePlayedEpisode(SimulateLivePlan(plan), plan.delivery.recorder, plan.seed);
  const std::unique_ptr<LiveEngine> engine = CollectorEngine({})();
  PlayJob(
      LiveJobOf(played), plan.delivery, plan.seed + 1, *engine, [] { return int64_t{0}; }, see);
  EXPECT_NE(state, JobState::kHealthy);
}

}  // namespace
}  // namespace lockstep
