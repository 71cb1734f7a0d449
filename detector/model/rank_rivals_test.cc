#include "detector/model/rank_rivals.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {
namespace {

constexpr int64_t kSilentNs = 8;

// Rank 0 is process 10 of host "h", in communicator 1; others say that they are it.
class RankRivalsTest : public ::testing::Test {
 protected:
  RankRivalsTest() { Keep(100); }

  void Keep(int64_t received_ns) {
    const RankView kept{.rank = 0, .pid = 10};
    roster_.Update(roster_.TouchHost("h", received_ns), kept, received_ns, received_ns);
    roster_.Join(0, {.id = 1, .size = 2, .communicator_rank = 0});
  }
  void Note(int32_t pid, int64_t received_ns, CommunicatorId communicator = 2) {
    const RankView other{.rank = 0, .pid = pid, .communicators = {{.id = communicator}}};
    rivals_.Note(roster_, {.host = "i", .received_ns = received_ns, .ranks = {other}}, other);
  }

  Roster roster_{RosterLimits{}};
  RankRivals rivals_{2, kSilentNs};
};

TEST_F(RankRivalsTest, AreAConflictOnceBothHaveReportedForLong) {
  Note(11, 100);
  Keep(107);
  Note(11, 107);
  EXPECT_EQ(rivals_.conflicts(), 0u);
  Note(11, 108);
  EXPECT_EQ(rivals_.conflicts(), 0u) << "the first one may have ended meanwhile";
  Keep(108);
  Note(11, 109);
  EXPECT_EQ(rivals_.conflicts(), 1u);
  ASSERT_TRUE(rivals_.newest().has_value());
  EXPECT_EQ(rivals_.newest()->kept_host, "h");
  EXPECT_EQ(rivals_.newest()->kept_pid, 10);
  EXPECT_EQ(rivals_.newest()->other_host, "i");
  EXPECT_EQ(rivals_.newest()->other_pid, 11);
  EXPECT_EQ(rivals_.newest()->seen_ns, 109);
}

TEST_F(RankRivalsTest, SeveralAreToldApart) {
  for (int64_t now_ns = 100; now_ns < 112; ++now_ns) {
    Keep(now_ns);
    Note(11, now_ns);
    Note(12, now_ns);
  }
  EXPECT_EQ(rivals_.conflicts(), 2u * 4);
}

TEST_F(RankRivalsTest, AJobThatBeginsAgainHasNone) {
  Note(11, 100);
  Keep(110);
  Note(11, 110);
  rivals_.Forget();
  EXPECT_EQ(rivals_.conflicts(), 1u) << "what was counted stays";
  EXPECT_FALSE(rivals_.newest().has_value());
  Keep(111);
  Note(11, 111);
  EXPECT_EQ(rivals_.conflicts(), 1u);
}

TEST_F(RankRivalsTest, BeyondItsRoomAllAreForgotten) {
  Note(11, 100);
  Note(12, 100);
  Keep(120);
  Note(13, 120);
  Note(11, 120);
  EXPECT_EQ(rivals_.conflicts(), 0u) << "it is new again";
}

TEST_F(RankRivalsTest, ARankThatSharesACommunicatorWithThemIsTheirsUnlessItIsOurs) {
  const RankView theirs{.rank = 1, .communicators = {{.id = 2}}};
  EXPECT_FALSE(rivals_.IsOfOthers(theirs, roster_));
  Note(11, 100);
  EXPECT_TRUE(rivals_.IsOfOthers(theirs, roster_));
  EXPECT_FALSE(rivals_.IsOfOthers({.rank = 1, .communicators = {{.id = 2}, {.id = 1}}}, roster_));
  EXPECT_FALSE(rivals_.IsOfOthers({.rank = 1, .communicators = {{.id = 3}}}, roster_));
  EXPECT_FALSE(rivals_.IsOfOthers({.rank = 1}, roster_));
}

}  // namespace
}  // namespace lockstep
