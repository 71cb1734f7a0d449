#include "detector/counters/host_duties.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// Two ranks per host; the class of both, by host.
struct Job {
  explicit Job(const std::vector<int32_t>& class_of_host) {
    for (size_t host = 0; host < class_of_host.size(); ++host) {
      trace.hosts.push_back("h" + std::to_string(host));
      for (int i = 0; i < 2; ++i) {
        trace.ranks.push_back({.rank = static_cast<int32_t>(trace.ranks.size()), .host = static_cast<int32_t>(host)});
        roles.class_of_rank.push_back(class_of_host[host]);
      }
    }
  }

  Trace trace;
  JobRoles roles;
};

TEST(HostDutiesTest, StagesOfAPipelineAreDuties) {
  const Job job({0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_EQ(DutiesOfHosts(job.trace, job.roles, job.trace.hosts), (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(HostDutiesTest, TheOrderOfTheCountersHostsCounts) {
  const Job job({0, 0, 0, 0, 1, 1, 1, 1});
  const std::vector<std::string> hosts = {"h7", "h0", "h6", "h1", "h5", "h2", "h4", "h3"};
  EXPECT_EQ(DutiesOfHosts(job.trace, job.roles, hosts), (std::vector<int32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(HostDutiesTest, RanksOfTwoStagesOnOneHostAreADutyOfTheirOwn) {
  Job job({0, 0, 0, 0, 0, 0, 0, 0});
  for (size_t host = 0; host < 4; ++host) job.roles.class_of_rank[2 * host + 1] = 1;
  EXPECT_EQ(DutiesOfHosts(job.trace, job.roles, job.trace.hosts), (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(HostDutiesTest, DutiesOfTooFewMachinesDoNotHelp) {
  const Job job({0, 0, 0, 0, 1, 1, 1});
  EXPECT_TRUE(DutiesOfHosts(job.trace, job.roles, job.trace.hosts).empty());
}

TEST(HostDutiesTest, AHostWithoutRecordsHasNoDuty) {
  const Job job({0, 0, 0, 0});
  EXPECT_TRUE(DutiesOfHosts(job.trace, job.roles, std::vector<std::string>{"h0", "h1", "h2", "h3", "x"}).empty());
}

}  // namespace
}  // namespace lockstep
