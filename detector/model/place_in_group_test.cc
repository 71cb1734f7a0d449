#include "detector/model/place_in_group.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kNobody = -1;

// A job in which communicator i has the members and the role number i.
struct Job {
  Trace trace;
  JobRoles roles;

  explicit Job(size_t ranks) { trace.ranks.resize(ranks); }
  void Add(GroupRole role, std::vector<int32_t> members) {
    trace.communicators.emplace_back();
    trace.communicators.back().members = std::move(members);
    roles.communicators.emplace_back();
    roles.communicators.back().role = role;
  }
};

TEST(PlacesInTest, ARankSitsAtItsPlaceInTheGroupOfTheRole) {
  Job job(5);
  job.Add(GroupRole::kData, {0, 2});
  job.Add(GroupRole::kTensor, {0, 1});
  job.Add(GroupRole::kData, {1, kNobody, 3});
  EXPECT_EQ(PlacesIn(job.trace, job.roles, GroupRole::kData), (std::vector<int32_t>{0, 0, 1, 2, 0}));
  EXPECT_EQ(PlacesIn(job.trace, job.roles, GroupRole::kTensor), (std::vector<int32_t>{0, 1, 0, 0, 0}));
  EXPECT_EQ(PlacesIn(job.trace, job.roles, GroupRole::kExpert), std::vector<int32_t>(5, 0));
}

TEST(PlacesInTest, OfSeveralGroupsTheLargestCountsWhateverTheirOrder) {
  Job job(4);
  job.Add(GroupRole::kData, {1, 0});
  job.Add(GroupRole::kData, {0, 1, 2, 3});
  job.Add(GroupRole::kData, {3, 2});
  EXPECT_EQ(PlacesIn(job.trace, job.roles, GroupRole::kData), (std::vector<int32_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace lockstep
