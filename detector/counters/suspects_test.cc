#include "detector/counters/suspects.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(SuspectsTest, NobodyHasARivalAtFirst) {
  Suspects suspects;
  EXPECT_EQ(suspects.RivalOf(3), 0);
  suspects.Add(3, 7);
  EXPECT_EQ(suspects.RivalOf(3), 0);
  EXPECT_EQ(suspects.RivalOf(4), 7);
}

TEST(SuspectsTest, AgreesWithALookAtAllOtherHosts) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Suspects suspects;
    std::map<int32_t, double> most;
    for (int i = 0; i < 20; ++i) {
      const auto host = static_cast<int32_t>(random.Below(6));
      const double nats = 20 * random.Unit();
      suspects.Add(host, nats);
      most[host] = std::max(most[host], nats);
    }
    for (int32_t host = 0; host < 6; ++host) {
      double rival = 0;
      for (const auto& [other, nats] : most) rival = other == host ? rival : std::max(rival, nats);
      EXPECT_EQ(suspects.RivalOf(host), rival) << round << " " << host;
    }
  }
}

}  // namespace
}  // namespace lockstep
