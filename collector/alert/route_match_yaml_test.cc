#include "collector/alert/route_match_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "collector/access/wildcard.h"
#include "collector/alert/alert_routes.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Tenants& Teams() {
  static const auto* const kTeams =
      new Tenants{{"vision", {Wildcard::Parse("vision-*", "*").value(), Wildcard::Parse("resnet", "*").value()}},
                  {"speech", {Wildcard::Parse("asr", "*").value()}},
                  {"new", {}}};
  return *kTeams;
}

AlertRoute Read(const std::string& text) {
  AlertRoute route;
  const absl::Status status = ReadMatch(YAML::Load(text), Teams(), route);
  EXPECT_TRUE(status.ok()) << status;
  return route;
}

std::string ErrorOf(const std::string& text) {
  AlertRoute route;
  return std::string(ReadMatch(YAML::Load(text), Teams(), route).message());
}

TEST(RouteMatchYamlTest, OneTextOrAListIsTheSame) {
  EXPECT_THAT(Read("{severity: critical}").severities, ElementsAre("critical"));
  EXPECT_THAT(Read("{scope: [machine, network]}").scopes, ElementsAre("machine", "network"));
  EXPECT_THAT(Read("{class: [gpu_fault, slow_unexplained]}").classes, ElementsAre("gpu_fault", "slow_unexplained"));
  const AlertRoute all = Read("{}");
  EXPECT_THAT(all.severities, IsEmpty());
  EXPECT_THAT(all.tenant_jobs, IsEmpty());
}

TEST(RouteMatchYamlTest, JobsAndHostsArePatterns) {
  const AlertRoute route = Read("{job: 'a-*', host: ['*-b', c]}");
  ASSERT_EQ(route.jobs.size(), 1u);
  EXPECT_TRUE(route.jobs[0].Match("a-1").has_value());
  ASSERT_EQ(route.hosts.size(), 2u);
  EXPECT_TRUE(route.hosts[0].Match("1-b").has_value());
  EXPECT_FALSE(route.hosts[1].Match("c-1").has_value());
  EXPECT_THAT(ErrorOf("{host: 'a*b*'}"), HasSubstr("line 1: "));
}

TEST(RouteMatchYamlTest, TenantsStandForTheirJobs) {
  EXPECT_EQ(Read("{tenant: vision}").tenant_jobs.size(), 2u);
  EXPECT_EQ(Read("{tenant: [vision, speech]}").tenant_jobs.size(), 3u);
  EXPECT_THAT(Read("{tenant: vision}").jobs, IsEmpty());
  EXPECT_EQ(ErrorOf("{tenant: new}"), "line 1: tenant 'new' has no jobs");
}

TEST(RouteMatchYamlTest, WhatNoIncidentHasIsRefused) {
  EXPECT_EQ(ErrorOf("{severity: fatal}"), "line 1: severity 'fatal' is not known");
  EXPECT_EQ(ErrorOf("{class: gpu_falt}"), "line 1: class 'gpu_falt' is not known; did you mean 'gpu_fault'?");
  EXPECT_THAT(ErrorOf("{scope: everything}"), HasSubstr("scope 'everything' is not known"));
  EXPECT_EQ(ErrorOf("{tenant: nobody}"), "line 1: tenant 'nobody' is not known");
  EXPECT_THAT(ErrorOf("{rank: 3}"), HasSubstr("unknown key 'rank'"));
}

}  // namespace
}  // namespace lockstep
