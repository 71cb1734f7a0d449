#include "detector/verdict/remedy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RemedyTest, SaysWhatToDoWithWhom) {
  Remedy remedy{.advice = Advice::kCordonAndReplace, .culprits = {{.host = "node-3", .rank = 24}}};
  EXPECT_EQ(ActionText(remedy), "take node-3 out");
  remedy.culprits[0].host.clear();
  EXPECT_EQ(ActionText(remedy), "take rank 24 out");
  EXPECT_THAT(HostsOf(remedy), IsEmpty());
  remedy = {.advice = Advice::kCheckLink, .culprits = {{.host = "a", .peer_host = "b"}}};
  EXPECT_EQ(ActionText(remedy), "mend the network at a - b");
  EXPECT_THAT(HostsOf(remedy), ElementsAre("a", "b"));
  EXPECT_EQ(ActionText({.advice = Advice::kRebalance}), "spread the work evenly");
  EXPECT_EQ(ActionText({}), "nothing is to be done");
}

TEST(RemedyTest, NamesAHostOnceAndNotAllOfMany) {
  Remedy remedy{.advice = Advice::kCordonAndReplace};
  for (const char* host : {"a", "a", "b", "c", "d", "e"}) remedy.culprits.push_back({.host = host});
  EXPECT_EQ(ActionText(remedy), "take a, b, c and 2 more out");
  EXPECT_THAT(HostsOf(remedy), ElementsAre("a", "b", "c", "d", "e"));
}

}  // namespace
}  // namespace lockstep
