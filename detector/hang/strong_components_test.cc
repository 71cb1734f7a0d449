#include "detector/hang/strong_components.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Edges = std::vector<std::vector<int32_t>>;

// [a][b]: a path leads from a to b.
std::vector<std::vector<char>> Closure(const Edges& edges) {
  const size_t n = edges.size();
  std::vector<std::vector<char>> leads(n, std::vector<char>(n, 0));
  for (size_t a = 0; a < n; ++a) {
    leads[a][a] = 1;
    for (const int32_t b : edges[a]) leads[a][static_cast<size_t>(b)] = 1;
  }
  for (size_t via = 0; via < n; ++via) {
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) leads[a][b] |= static_cast<char>(leads[a][via] & leads[via][b]);
    }
  }
  return leads;
}

TEST(StrongComponents, AgreesWithTheClosureOnRandomGraphs) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Edges edges(1 + random.Below(14));
    const uint64_t count = random.Below(2 * edges.size() + 1);
    for (uint64_t i = 0; i < count; ++i) {
      edges[random.Below(edges.size())].push_back(static_cast<int32_t>(random.Below(edges.size())));
    }
    const StrongComponents found = FindStrongComponents(edges);
    const auto leads = Closure(edges);
    for (size_t a = 0; a < edges.size(); ++a) {
      bool sink = true;
      for (size_t b = 0; b < edges.size(); ++b) {
        ASSERT_EQ(found.of[a] == found.of[b], leads[a][b] != 0 && leads[b][a] != 0) << "seed " << seed;
        sink = sink && (leads[a][b] == 0 || leads[b][a] != 0);
      }
      ASSERT_EQ(found.sink[static_cast<size_t>(found.of[a])] != 0, sink) << "seed " << seed;
    }
  }
}

TEST(StrongComponents, ALongChainNeedsNoDeepStack) {
  Edges edges(200'000);
  for (size_t i = 0; i + 1 < edges.size(); ++i) edges[i].push_back(static_cast<int32_t>(i) + 1);
  EXPECT_EQ(FindStrongComponents(edges).nodes.size(), edges.size());
}

}  // namespace
}  // namespace lockstep
