#include "detector/counters/behaviour.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

struct Units {
  std::vector<float> levels;
  std::vector<int32_t> hosts;
  void Add(int hosts_of_it, double level, Random* random) {
    for (int i = 0; i < hosts_of_it; ++i) {
      hosts.push_back(static_cast<int32_t>(hosts.size()));
      levels.push_back(static_cast<float>(level * (1 + 0.02 * random->Gaussian())));
    }
  }
};

TEST(BehaviourTest, OneCrowdIsOneDuty) {
  Random random(1);
  Units units;
  units.Add(40, 500, &random);
  EXPECT_EQ(DutiesByLevel(units.levels, units.hosts), std::vector<int32_t>(40, 0));
  EXPECT_TRUE(DutiesByLevel({}, {}).empty());
}

TEST(BehaviourTest, CrowdsFarApartAreDutiesByRisingLevel) {
  Random random(2);
  Units units;
  units.Add(10, 500, &random);
  units.Add(12, 100, &random);
  units.Add(14, 900, &random);
  const std::vector<int32_t> duties = DutiesByLevel(units.levels, units.hosts);
  for (size_t i = 0; i < duties.size(); ++i) EXPECT_EQ(duties[i], i < 10 ? 1 : i < 22 ? 0 : 2);
}

TEST(BehaviourTest, AFewOddMachinesAreSuspectsAndNoDuty) {
  Random random(3);
  Units units;
  units.Add(37, 500, &random);
  units.Add(3, 100, &random);
  EXPECT_EQ(DutiesByLevel(units.levels, units.hosts), std::vector<int32_t>(40, 0));
}

}  // namespace
}  // namespace lockstep
