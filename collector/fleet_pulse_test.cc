#include "collector/fleet_pulse.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "collector/ingest/agent_registry.h"
#include "detector/model/fleet_sight.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kNow = 1'000'000 * kNanosPerSecond;

AgentView Agent(const std::string& host, double age_seconds) {
  AgentView view;
  view.host = host;
  view.last_report_wall_ns = kNow - static_cast<int64_t>(age_seconds * kNanosPerSecond);
  return view;
}

std::vector<wire::Rank> Ranks(const std::vector<std::pair<std::string, std::string>>& hosts_and_states) {
  std::vector<wire::Rank> ranks;
  for (const auto& [host, state] : hosts_and_states) {
    ranks.emplace_back().set_host(host);
    ranks.back().set_process_state(state);
  }
  return ranks;
}

TEST(FleetPulseTest, CountsWhoReportsAndWhoDidNotLongAgo) {
  AgentView never;
  never.host = "never";
  const FleetPulse pulse({Agent("a", 0.5), Agent("b", 4.9), Agent("c", 5.5), Agent("d", 590), Agent("e", 610), never},
                         kNow);
  const FleetSight sight = pulse.Beside(Ranks({{"c", "running"}}));
  EXPECT_EQ(sight.reporting, 2);
  EXPECT_EQ(sight.silent, 2);
  EXPECT_TRUE(sight.goes_on());
}

TEST(FleetPulseTest, AFleetOfOneHostDoesNotGoOn) {
  EXPECT_FALSE(FleetPulse({Agent("a", 30)}, kNow).Beside(Ranks({{"a", "running"}})).goes_on());
  EXPECT_FALSE(FleetPulse({}, kNow).Beside(Ranks({{"a", "running"}})).goes_on());
}

TEST(FleetPulseTest, AHostThatReportsOfSomethingElseIsThere) {
  const FleetPulse pulse({Agent("a", 1), Agent("b", 1), Agent("c", 30)}, kNow);
  EXPECT_FALSE(pulse.Beside(Ranks({{"a", "running"}, {"c", "running"}})).goes_on());
  EXPECT_TRUE(pulse.Beside(Ranks({{"a", "finalized"}, {"b", "gone"}, {"c", "running"}})).goes_on())
      << "those have ended there";
}

}  // namespace
}  // namespace lockstep
