// To whom each moment belongs: by hand, and against the slow reference.

#include "detector/patterns/critical_path.h"

#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "detector/testing/reference_path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

PathEvent Event(int64_t begin_ns, int64_t end_ns, uint32_t function, uint64_t lane = 0) {
  PathEvent event = {};
  event.begin_ns = begin_ns;
  event.duration_ns = static_cast<uint32_t>(end_ns - begin_ns);
  event.function = function;
  event.lane = lane;
  return event;
}

constexpr PathFunction kKernel{.priority = 0};
constexpr PathFunction kCopy{.priority = 1};
constexpr PathFunction kCollective{.priority = 2};
constexpr PathFunction kCall{.priority = 3};
constexpr PathFunction kPython{.priority = 3, .gives_calls = true};
constexpr PathFunction kLoader{.priority = 3, .takes_calls = true};

CriticalPath PathOf(std::vector<PathEvent> events, const std::vector<PathFunction>& functions, int64_t begin_ns,
                    int64_t end_ns) {
  return FindCriticalPath(absl::MakeSpan(events), functions, begin_ns, end_ns);
}

TEST(CriticalPathTest, WhoIsHiddenDelaysNobody) {
  // A kernel over a collective over a call; a copy behind.
  const CriticalPath path = PathOf({Event(0, 100, 3, 1), Event(10, 60, 2, 2), Event(20, 40, 0, 3), Event(55, 65, 1, 4)},
                                   {kKernel, kCopy, kCollective, kCall}, 0, 120);
  EXPECT_THAT(path.function_ns, ElementsAre(20, 10, 10 + 15, 10 + 35));
  EXPECT_EQ(path.idle_ns, 20);
}

TEST(CriticalPathTest, OfAStackTheInnermostCounts) {
  const CriticalPath path =
      PathOf({Event(0, 100, 0), Event(10, 90, 1), Event(20, 30, 2)}, {kCall, kCall, kCall}, 0, 100);
  EXPECT_THAT(path.function_ns, ElementsAre(20, 70, 10));
}

TEST(CriticalPathTest, WhatALoaderCallsIsLoading) {
  const std::vector<PathFunction> functions = {kPython, kLoader, kCall};
  // Python calls the loader, which calls Python, which calls the driver.
  const CriticalPath path =
      PathOf({Event(0, 100, 0), Event(10, 80, 1), Event(20, 70, 0), Event(30, 40, 2)}, functions, 0, 100);
  EXPECT_THAT(path.function_ns, ElementsAre(30, 60, 10));
  // On another thread nobody calls it.
  EXPECT_THAT(PathOf({Event(10, 80, 1), Event(20, 70, 0, 1)}, functions, 0, 100).function_ns, ElementsAre(50, 20, 0));
}

TEST(CriticalPathTest, OnlyTheWindowCounts) {
  const CriticalPath path = PathOf({Event(-50, 10, 0), Event(90, 500, 0), Event(200, 300, 0)}, {kCall}, 0, 100);
  EXPECT_THAT(path.function_ns, ElementsAre(20));
  EXPECT_EQ(path.idle_ns, 80);
}

TEST(CriticalPathTest, AgreesWithTheReference) {
  const std::vector<PathFunction> functions = {kKernel, kCopy, kCollective, kCall, kPython, kPython, kLoader, kLoader};
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    // No two events begin alike on one lane in the same order: the reference would not know who calls whom.
    std::set<std::tuple<int64_t, int64_t, uint64_t, uint32_t>> seen;
    std::vector<PathEvent> events;
    for (uint64_t n = random.Below(40); n > 0; --n) {
      const auto begin = static_cast<int64_t>(random.Below(200));
      const auto end = begin + 1 + static_cast<int64_t>(random.Below(80));
      const auto function = static_cast<uint32_t>(random.Below(functions.size()));
      // Stacks of the host nest; those of the GPU do as they like.
      const uint64_t lane = function < 3 ? random.Below(4) : 4 + random.Below(3);
      if (seen.emplace(begin, end, lane, function).second) events.push_back(Event(begin, end, function, lane));
    }
    std::vector<PathEvent> nested;
    for (const PathEvent& event : events) {
      bool crosses = false;
      for (const PathEvent& other : nested) {
        const bool apart = other.end_ns() <= event.begin_ns || event.end_ns() <= other.begin_ns;
        const bool inside = (other.begin_ns <= event.begin_ns && event.end_ns() <= other.end_ns()) ||
                            (event.begin_ns <= other.begin_ns && other.end_ns() <= event.end_ns());
        crosses |= other.lane == event.lane && !apart && !inside;
      }
      if (!crosses) nested.push_back(event);
    }
    const CriticalPath expected = ReferenceCriticalPath(nested, functions, 20, 220);
    const CriticalPath path = PathOf(nested, functions, 20, 220);
    EXPECT_EQ(path.function_ns, expected.function_ns) << seed;
    EXPECT_EQ(path.idle_ns, expected.idle_ns) << seed;
    EXPECT_EQ(std::accumulate(path.function_ns.begin(), path.function_ns.end(), path.idle_ns), 200) << seed;
  }
}

}  // namespace
}  // namespace lockstep
