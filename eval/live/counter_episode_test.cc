#include "eval/live/counter_episode.h"

#include <algorithm>
#include <set>
#include <string>

#include "eval/live/live_agents.h"
#include "eval/live/live_job.h"
#include "eval/live/played_episode.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

CounterPlan SmallPlan() {
  CounterPlan plan;
  plan.spec.hosts = 4;
  plan.spec.devices_per_host = 2;
  plan.spec.activity = {{.end_ms = 60'000}};
  plan.faults = {{.kind = FaultKind::kPcieDegraded, .host = 2, .device = 1, .begin_ms = 30'000, .end_ms = 60'000}};
  plan.seed = 3;
  return plan;
}

TEST(CounterEpisodeTest, TheCulpritIsTheHostFromTheBeginOfItsFault) {
  const Episode episode = MakeCounterEpisode(SmallPlan());
  ASSERT_EQ(episode.truth.causes.size(), 1u);
  ASSERT_EQ(episode.truth.causes[0].culprits.size(), 1u);
  EXPECT_EQ(episode.truth.causes[0].culprits[0].host, episode.evidence.trace.hosts[2]);
  EXPECT_EQ(episode.truth.causes[0].culprits[0].rank, -1);
  EXPECT_EQ(episode.truth.causes[0].onset_ns, 30'000'000'000);
  EXPECT_EQ(episode.evidence.trace.hosts, episode.evidence.metrics.hosts);
  EXPECT_EQ(episode.evidence.trace.ranks.size(), 8u);
}

TEST(CounterEpisodeTest, AgentsReportRanksAndNearlyAllSamples) {
  const PlayedEpisode played = MakePlayedEpisode(MakeCounterEpisode(SmallPlan()), {}, 5);
  size_t expected = 0;
  for (const MetricSeries& series : played.seen.evidence.metrics.series) expected += series.time_ms.size();
  const LiveJob job = LiveJobOf(played);
  LiveAgents agents(job);
  size_t samples = 0;
  std::set<int32_t> ranks;
  agents.MakeUntil(played.end_ns + 2 * kReportIntervalNanos, [&](const MadeReport& made) {
    for (const wire::MetricBlock& block : made.report.metrics()) samples += static_cast<size_t>(block.values_size());
    for (const wire::ProcessReport& process : made.report.processes()) ranks.insert(process.rank());
  });
  EXPECT_EQ(ranks.size(), 8u);
  EXPECT_GE(samples, expected * 95 / 100);
  EXPECT_LE(samples, expected);
}

}  // namespace
}  // namespace lockstep
