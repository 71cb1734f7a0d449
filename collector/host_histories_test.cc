#include "collector/host_histories.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kDay = 24LL * 3'600 * 1'000'000'000;
constexpr int64_t kNow = 1'000 * kDay;

class HostHistoriesTest : public testing::Test {
 protected:
  wire::Incident Blame(const std::string& job, const std::string& host, int64_t resolved_ns) {
    wire::Incident incident;
    incident.set_id(index_.NextId());
    incident.set_job(job);
    incident.set_state(resolved_ns == 0 ? wire::Incident::STATE_OPEN : wire::Incident::STATE_RESOLVED);
    incident.set_resolved_wall_ns(resolved_ns);
    incident.mutable_verdict()->set_scope("machine");
    incident.mutable_verdict()->add_culprits()->set_host(host);
    index_.Put(incident);
    return incident;
  }

  std::vector<wire::HostHistory> Of(const std::string& hidden_job = "none") const {
    return HostHistories(index_, kNow, [&](const std::string& job) { return job != hidden_job; });
  }

  IncidentIndex index_{1'000};
};

TEST_F(HostHistoriesTest, AHostIsTheSameInAllOfItsJobsAndThePastFades) {
  Blame("a", "lemon", kNow - 14 * kDay);
  Blame("b", "lemon", kNow - 28 * kDay);
  Blame("c", "lemon", 0);
  Blame("c", "lemon", kNow);
  Blame("c", "pear", kNow - 7 * kDay);
  const auto histories = Of();
  ASSERT_EQ(histories.size(), 2u);
  EXPECT_EQ(histories[0].host(), "lemon");
  EXPECT_DOUBLE_EQ(histories[0].score(), 0.5 + 0.25 + 1 + 1);
  EXPECT_EQ(histories[0].incidents(), 3u) << "within 14 days";
  EXPECT_EQ(histories[0].jobs(), 2u) << "a and c";
  EXPECT_EQ(histories[0].days(), 14u);
  EXPECT_EQ(histories[0].newest_wall_ns(), kNow);
  EXPECT_EQ(histories[1].host(), "pear");
  EXPECT_NEAR(histories[1].score(), std::exp2(-0.5), 1e-9);
}

TEST_F(HostHistoriesTest, WhatAccusesNoHostDoesNotCountAndOfOthersJobsNothingIsSeen) {
  wire::Incident incident = Blame("a", "lemon", kNow);
  incident.set_suspected(true);
  index_.Put(incident);
  EXPECT_TRUE(Of().empty());
  incident.set_suspected(false);
  incident.set_maintenance(3);
  index_.Put(incident);
  EXPECT_TRUE(Of().empty());
  incident.set_maintenance(0);
  incident.mutable_verdict()->set_scope("software");
  index_.Put(incident);
  EXPECT_TRUE(Of().empty());
  incident.mutable_verdict()->set_scope("network");
  index_.Put(incident);
  EXPECT_EQ(Of().size(), 1u);
  EXPECT_TRUE(Of("a").empty());
}

TEST_F(HostHistoriesTest, ALemonIsBlamedInTwoOtherJobsOfLate) {
  wire::Incident odd;
  odd.set_job("c");
  odd.mutable_verdict()->add_culprits()->set_host("lemon");
  Blame("c", "lemon", kNow);
  Blame("c", "lemon", kNow - kDay);
  Blame("a", "lemon", kNow - kDay);
  Blame("a", "lemon", kNow);
  Blame("b", "lemon", kNow - 15 * kDay);
  Blame("b", "pear", kNow);
  EXPECT_FALSE(IsLemon(index_, odd, kNow)) << "its own job and one of long ago do not count";
  Blame("b", "lemon", 0);
  EXPECT_TRUE(IsLemon(index_, odd, kNow));
  odd.mutable_verdict()->mutable_culprits(0)->set_host("pear");
  EXPECT_FALSE(IsLemon(index_, odd, kNow));
  odd.mutable_verdict()->clear_culprits();
  EXPECT_FALSE(IsLemon(index_, odd, kNow));
}

}  // namespace
}  // namespace lockstep
