#include "collector/hook/hook_ration.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr int64_t kNow = 1'767'323'045'000'000'000;
constexpr int64_t kMinute = 60'000'000'000;
const HookSpec kSpec = {.command = "/hook", .max_per_hour = 2, .max_share = 0.05};

TEST(HookRationTest, RunsOfAnHourAreCapped) {
  HookRation ration;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ration.Ask(kSpec, {"a"}, 100, kNow), HookAnswer::kYes);
    ration.Note({kNow, {"a"}});
  }
  EXPECT_EQ(ration.Ask(kSpec, {"a"}, 100, kNow + 59 * kMinute), HookAnswer::kTooManyRuns);
  EXPECT_EQ(ration.Ask(kSpec, {"a"}, 100, kNow + 60 * kMinute), HookAnswer::kYes);
  EXPECT_EQ(ration.Ask(kSpec, {"a"}, 100, kNow - 60 * kMinute), HookAnswer::kTooManyRuns) << "the clock was put back";
}

TEST(HookRationTest, HostsOfADayAreCappedByTheirShareOfTheFleet) {
  HookRation ration;
  ration.Note({kNow - 120 * kMinute, {"a", "b"}});
  EXPECT_EQ(ration.Ask(kSpec, {"c"}, 59, kNow), HookAnswer::kTooManyHosts);
  EXPECT_EQ(ration.Ask(kSpec, {"c"}, 60, kNow), HookAnswer::kYes);
  EXPECT_EQ(ration.Ask(kSpec, {"a"}, 40, kNow), HookAnswer::kYes) << "it counts once";
  EXPECT_EQ(ration.HostsActedOn(kNow), 2u);
  EXPECT_EQ(ration.HostsActedOn(kNow + kHookDayNanos), 0u);
}

TEST(HookRationTest, OfASmallFleetNoHostIsActedOn) {
  HookRation ration;
  EXPECT_EQ(ration.Ask(kSpec, {"a"}, 19, kNow), HookAnswer::kTooManyHosts);
  EXPECT_EQ(ration.Ask(kSpec, {}, 19, kNow), HookAnswer::kYes) << "it names none";
}

}  // namespace
}  // namespace lockstep
