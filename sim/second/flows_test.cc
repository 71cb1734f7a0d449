// How transfers share what they load.

#include "sim/second/flows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/second/fabric.h"
#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {
namespace {

class FlowsTest : public testing::Test {
 protected:
  FlowsTest() : layout_(Shaped(world_)), fabric_(world_, layout_, {}), flows_(fabric_) {}

  static const World& Shaped(World& world) {
    world.shape.data = 16;
    world.network.nic_rate = 10;
    world.network.path_spread = 0;
    return world;
  }

  static int64_t EndOf(const std::vector<Flows::NewEnd>& ends, int flow) {
    for (const Flows::NewEnd& end : ends) {
      if (end.flow == flow) return end.end_ns;
    }
    return -1;
  }

  World world_;
  Layout layout_;
  Fabric fabric_;
  Flows flows_;
  const std::vector<Load> first_ = {{0, 1}};
  const std::vector<Load> both_ = {{0, 1}, {2, 4}};
};

TEST_F(FlowsTest, AloneAFlowTakesAll) { EXPECT_EQ(EndOf(flows_.Begin(0, &first_, 1000, 50), 0), 150); }

TEST_F(FlowsTest, TwoShareEvenlyAndTheRestIsQuickerAgain) {
  flows_.Begin(0, &first_, 1000, 0);
  const auto ends = flows_.Begin(1, &first_, 1000, 50);
  // 500 bytes are left of the first, 1,000 of the second, at half the rate each.
  EXPECT_EQ(EndOf(ends, 0), 150);
  EXPECT_EQ(EndOf(ends, 1), 250);
  EXPECT_EQ(EndOf(flows_.End(0, 150), 1), 200);
}

TEST_F(FlowsTest, WhatOneCannotUseTheOtherTakes) {
  // Resource 2 holds the second flow at a quarter of the rate.
  flows_.Begin(0, &both_, 1000, 0);
  const auto ends = flows_.Begin(1, &first_, 750, 0);
  EXPECT_EQ(EndOf(ends, 1), 100);
}

TEST_F(FlowsTest, NothingCarriesMoreThanItCan) {
  const std::vector<Load> twice = {{0, 2}};
  EXPECT_EQ(EndOf(flows_.Begin(0, &twice, 1000, 0), 0), 200);
}

}  // namespace
}  // namespace lockstep::second
