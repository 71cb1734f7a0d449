#include "eval/live/live_suite.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/live/counter_episode.h"
#include "eval/suites/episode_run.h"

namespace lockstep {

const LiveSuite* FindLiveSuite(absl::string_view name) {
  const auto suites = AllLiveSuites();
  const auto* const found =
      std::find_if(suites.begin(), suites.end(), [&](const LiveSuite& suite) { return suite.name == name; });
  return found == suites.end() ? nullptr : found;
}

LivePlan LivePlanOf(const LiveSuite& suite, uint64_t number) {
  Random random = EpisodeRandom(absl::StrCat("live-", suite.name), number);
  LivePlan plan = suite.plan(number, random);
  plan.episode.seed = random.Next();
  plan.seed = random.Next();
  return plan;
}

Episode SimulateLivePlan(const LivePlan& plan) {
  return plan.counters.has_value() ? MakeCounterEpisode(*plan.counters) : SimulatePlan(plan.episode);
}

int32_t GpusOf(const LivePlan& plan) {
  if (!plan.counters.has_value()) return plan.episode.job.parallelism.gpus();
  return plan.counters->spec.hosts * plan.counters->spec.devices_per_host;
}

std::string DescribeLivePlan(const LivePlan& plan) {
  const DeliverySpec& delivery = plan.delivery;
  const RecorderErrors& recorder = delivery.recorder;
  std::string text = plan.counters.has_value() ? DescribeCounterPlan(*plan.counters) : Describe(plan.episode);
  absl::StrAppendFormat(&text, "; begins drift by %.3g ms, jitter %.3g ms, %.0f %% of ranks without begins",
                        1e3 * recorder.wander_seconds, 1e3 * recorder.jitter_seconds,
                        100 * recorder.enqueue_only_share);
  absl::StrAppendFormat(&text, "; reports %.3g ms late, %.2g %% break for %.2g s, %.2g %% lost",
                        1e3 * delivery.latency_seconds, 100 * delivery.stall_share, delivery.stall_seconds,
                        100 * delivery.lost_share);
  if (delivery.late_agent_share > 0) {
    absl::StrAppendFormat(&text, ", %.0f %% of agents up to %.0f s late", 100 * delivery.late_agent_share,
                          delivery.late_agent_seconds);
  }
  return text;
}

}  // namespace lockstep
