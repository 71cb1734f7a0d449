#include "cli/render/fleet_overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/render/colour.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'767'323'045'000'000'000;

wire::Job& AddJob(FleetOverview& overview, const std::string& name, const std::string& state, int ranks, int world) {
  wire::Job& job = *overview.jobs.add_jobs();
  job.set_job(name);
  job.set_state(state);
  job.set_ranks(ranks);
  job.set_world_size(world);
  job.set_step_seconds_median(0.5);
  job.set_steps_per_second(2);
  return job;
}

void AddIncident(FleetOverview& overview, uint64_t id, const std::string& job, const std::string& verdict_class,
                 double cost) {
  wire::Incident& incident = *overview.incidents.add_incidents();
  incident.set_id(id);
  incident.set_job(job);
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(kNow - 90'000'000'000);
  incident.mutable_verdict()->set_class_(verdict_class);
  incident.mutable_verdict()->mutable_cost()->set_slowdown_fraction(cost);
  wire::Culprit& culprit = *incident.mutable_verdict()->add_culprits();
  culprit.set_host("node-" + std::to_string(id));
  culprit.set_rank(-1);
  culprit.set_gpu(-1);
}

FleetOverview SomeFleet() {
  FleetOverview overview;
  overview.status.set_time_line_wall_ns(kNow);
  overview.status.set_open_incidents(3);
  overview.status.add_agents()->set_connected(true);
  overview.status.add_agents();
  overview.status.add_missing_hosts()->set_host("node-9");
  AddJob(overview, "a", "slow", 4, 4);
  AddJob(overview, "b", "healthy", 6, 8);
  AddJob(overview, "c", "unknown", 2, -1).set_note("too few steps");
  AddJob(overview, "d", "ended", 1, 8);
  AddIncident(overview, 1, "a", "compute_slow", 0.35);
  AddIncident(overview, 2, "a", "hang_not_entered", 0);
  AddIncident(overview, 3, "a", "link_slow", 0.9);
  return overview;
}

TEST(FleetOverviewTest, AJobIsShownWithWhatCostsItMost) {
  const std::string text = OverviewText(SomeFleet(), /*width=*/0, /*height=*/0, /*coloured=*/false);
  EXPECT_THAT(text, HasSubstr("agents 1 connected of 2, hosts missing 1, jobs 4, open incidents 3"));
  EXPECT_THAT(text, HasSubstr("stopped  node-2 hang_not_entered\n")) << "a standstill costs more than all else";
  EXPECT_THAT(text, HasSubstr("35 %"));
  EXPECT_THAT(text, HasSubstr("too few steps"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FleetOverviewTest, AStoppingFaultOfAGpuCostsMoreThanASlowLink) {
  FleetOverview overview;
  AddJob(overview, "a", "hung", 4, 4);
  AddIncident(overview, 1, "a", "link_slow", 0.9);
  AddIncident(overview, 2, "a", "gpu_fault", 0);
  const std::string text = OverviewText(overview, /*width=*/0, /*height=*/0, /*coloured=*/false);
  EXPECT_THAT(text, HasSubstr("stopped  node-2 gpu_fault\n"));
}

TEST(FleetOverviewTest, FitsTheTerminalAndIsColouredOnlyIfAskedFor) {
  const std::string text = OverviewText(SomeFleet(), /*width=*/60, /*height=*/6, /*coloured=*/true);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
  EXPECT_THAT(text, AllOf(HasSubstr("lines more\n"), HasSubstr(Coloured("slow   ", Colour::kYellow))));
}

TEST(FleetOverviewTest, WhichJobsAreNotSeenWholeAndWhy) {
  const std::vector<JobGap> gaps = JobGaps(SomeFleet().jobs);
  ASSERT_EQ(gaps.size(), 2u) << "one that is over is not missed";
  EXPECT_EQ(gaps[0].job, "b");
  EXPECT_EQ(gaps[0].seen, 6);
  EXPECT_EQ(gaps[0].expected, 8);
  EXPECT_THAT(gaps[0].why, HasSubstr("2 ranks tell nothing"));
  EXPECT_EQ(gaps[1].job, "c");
  EXPECT_EQ(gaps[1].why, "too few steps");
}

}  // namespace
}  // namespace lockstep
