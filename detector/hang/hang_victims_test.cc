#include "detector/hang/hang_victims.h"

#include <cstdint>
#include <vector>

#include "detector/hang/hang.h"
#include "detector/hang/wait_graph.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Rank 0 waits in node 4 for rank 1, and that one in node 5 for rank 2. Rank 3 waits in node 5 as well.
WaitGraph Chain() {
  WaitGraph graph;
  graph.blocked_operations = {{.communicator = 0, .sequence = 7}, {.communicator = 1, .sequence = 7}};
  graph.edges = {{4}, {5}, {}, {5}, {1}, {2}};
  graph.not_begun.assign(4, 0);
  return graph;
}

TEST(HangVictimsTest, AreThoseThatWaitDirectlyAndOverOthers) {
  const WaitGraph graph = Chain();
  const HangVictims victims(graph);
  EXPECT_EQ(victims.waited_for(), (std::vector<std::vector<int32_t>>{{}, {4}, {5}, {}, {0}, {1, 3}}));
  EXPECT_EQ(victims.Of({.ranks = {2}, .communicator = 1, .sequence = 7}), (std::vector<char>{1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(victims.Of({.ranks = {1}, .communicator = 0, .sequence = 7}), (std::vector<char>{1, 0, 0, 0, 1, 0}));
}

TEST(HangVictimsTest, WhoStandsAtTheOperationOfACauseIsOneWithoutAnEdgeToIt) {
  WaitGraph graph = Chain();
  graph.edges[5].clear();
  EXPECT_EQ(HangVictims(graph).Of({.ranks = {2}, .communicator = 1, .sequence = 7}),
            (std::vector<char>{1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(HangVictims(graph).Of({.ranks = {2}, .communicator = 1, .sequence = 8}),
            (std::vector<char>{0, 0, 0, 0, 0, 0}))
      << "another operation";
}

// Rank 1 is inside of what is stuck, and keeps others waiting elsewhere: they wait over the operation alone.
TEST(HangVictimsTest, OfAStuckTransferOnlyTheOperationHoldsUpOthers) {
  WaitGraph graph = Chain();
  graph.edges = {{4}, {}, {}, {5}, {1}, {}};
  EXPECT_EQ(HangVictims(graph).Of({.kind = HangKind::kTransfer, .ranks = {1}, .communicator = 1, .sequence = 7}),
            (std::vector<char>{0, 0, 0, 1, 0, 1}));
  EXPECT_EQ(HangVictims(graph).Of({.kind = HangKind::kNotEntered, .ranks = {1}, .communicator = 1, .sequence = 7}),
            (std::vector<char>{1, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace lockstep
