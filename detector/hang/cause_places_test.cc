#include "detector/hang/cause_places.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/hang/hang.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Ranks are numbered host by host.
Trace JobOf(int32_t hosts, int32_t gpus) {
  Trace trace;
  for (int32_t host = 0; host < hosts; ++host) {
    trace.hosts.push_back(absl::StrCat("h", host));
    for (int32_t gpu = 0; gpu < gpus; ++gpu) {
      trace.ranks.push_back({.rank = static_cast<int32_t>(trace.ranks.size()), .host = host, .gpu = gpu});
    }
  }
  return trace;
}

Hang Of(std::vector<int32_t> ranks, HangKind kind = HangKind::kNotEntered) {
  return {.kind = kind, .ranks = std::move(ranks)};
}

TEST(CausePlacesTest, OneRankIsFewAndTwoWhereThereAreSomeHosts) {
  EXPECT_TRUE(CausesAreFew(JobOf(4, 8), {}));
  EXPECT_TRUE(CausesAreFew(JobOf(4, 8), {Of({3})}));
  EXPECT_FALSE(CausesAreFew(JobOf(4, 8), {Of({3, 4})}));
  EXPECT_TRUE(CausesAreFew(JobOf(8, 8), {Of({3}), Of({40}, HangKind::kNotFinished)}));
  EXPECT_FALSE(CausesAreFew(JobOf(8, 8), {Of({3}), Of({4}), Of({40})}));
}

TEST(CausePlacesTest, AWholeHostIsOnePlaceAndPartOfItIsNot) {
  EXPECT_TRUE(CausesAreFew(JobOf(4, 4), {Of({4, 5}), Of({6, 7})}));
  EXPECT_FALSE(CausesAreFew(JobOf(4, 4), {Of({4, 5, 6})}));
  EXPECT_FALSE(CausesAreFew(JobOf(8, 4), {Of({0, 1, 2, 3}), Of({4, 5, 6, 7})})) << "hosts do not break in twos";
  EXPECT_TRUE(CausesAreFew(JobOf(8, 1), {Of({0}), Of({1})})) << "a host of one rank is that rank";
}

TEST(CausePlacesTest, LargeJobsMayHaveOneForEachTwentyHosts) {
  EXPECT_TRUE(CausesAreFew(JobOf(60, 1), {Of({0}), Of({1}), Of({2})}));
  EXPECT_FALSE(CausesAreFew(JobOf(59, 1), {Of({0}), Of({1}), Of({2})}));
  EXPECT_TRUE(CausesAreFew(JobOf(40, 2), {Of({0, 1}), Of({2, 3})}));
  EXPECT_FALSE(CausesAreFew(JobOf(39, 2), {Of({0, 1}), Of({2, 3})}));
}

TEST(CausePlacesTest, OneOperationMayBeStuckWhoeverIsInside) {
  EXPECT_TRUE(CausesAreFew(JobOf(4, 8), {Of({1, 9, 17}, HangKind::kTransfer), Of({3})}));
  EXPECT_FALSE(CausesAreFew(JobOf(4, 8), {Of({1, 9}, HangKind::kTransfer), Of({2, 3}, HangKind::kDeadlock)}));
}

TEST(CausePlacesTest, ManyAreThoseThatAreNotFewAndShareNoHost) {
  const Trace trace = JobOf(4, 8);
  EXPECT_TRUE(CausesAreMany(trace, {Of({1}), Of({9})}));
  EXPECT_FALSE(CausesAreMany(trace, {Of({1, 9})})) << "one cause";
  EXPECT_FALSE(CausesAreMany(trace, {Of({1}), Of({2, 9})})) << "host 0 is part of both";
  EXPECT_FALSE(CausesAreMany(JobOf(8, 8), {Of({1}), Of({9})})) << "few";
}

TEST(CausePlacesTest, RanksOfMoreThanAQuarterOfTheHostsAreOfManyUnlessTheyHoldUpOneAnother) {
  const Trace trace = JobOf(8, 1);
  EXPECT_FALSE(IsOfManyHosts(trace, Of({0, 1})));
  EXPECT_TRUE(IsOfManyHosts(trace, Of({0, 1, 2})));
  EXPECT_FALSE(IsOfManyHosts(trace, Of({0, 1, 2}, HangKind::kTransfer)));
  EXPECT_FALSE(IsOfManyHosts(trace, Of({0, 1, 2}, HangKind::kDeadlock)));
  EXPECT_FALSE(IsOfManyHosts(JobOf(2, 8), Of({0, 1, 2, 3}))) << "of one host";
}

}  // namespace
}  // namespace lockstep
