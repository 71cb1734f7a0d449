#include "detector/engine/standing_duties.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Duties = std::vector<int32_t>;
using Said = std::map<std::string, int32_t>;

Roster RosterOf(const std::vector<std::string>& hosts) {
  Roster roster({});
  for (const std::string& host : hosts) {
    RankView view;
    view.rank = static_cast<int32_t>(roster.ranks().size());
    view.world_size = static_cast<int32_t>(hosts.size());
    view.process_start_ticks = 5;
    roster.Update(roster.TouchHost(host, 1), view, 1, 0);
  }
  return roster;
}

const Said kTwo = {{"a", 0}, {"b", 1}, {"c", 0}};
const Said kOne = {{"a", 0}, {"b", 0}, {"c", 0}};

TEST(StandingDutiesTest, TheFirstThatIsSaidHoldsAndHasTheNumbersOfTheRoster) {
  StandingDuties duties;
  EXPECT_TRUE(duties.of_host().empty());
  duties.Take(kTwo, RosterOf({"b", "c", "a"}));
  EXPECT_EQ(duties.of_host(), (Duties{0, 1, 1}));
  duties.Take({{"a", 1}, {"b", 0}, {"c", 1}}, RosterOf({"b", "c", "a"}));
  EXPECT_EQ(duties.of_host(), (Duties{0, 1, 1})) << "the same in other numbers";
}

TEST(StandingDutiesTest, OthersTakeTheirPlaceWhenTwoLooksInARowSayThem) {
  const Roster roster = RosterOf({"a", "b", "c"});
  StandingDuties duties;
  duties.Take(kTwo, roster);
  duties.Take(kOne, roster);
  EXPECT_EQ(duties.of_host(), (Duties{0, 1, 0}));
  duties.Take(kTwo, roster);
  duties.Take(kOne, roster);
  EXPECT_EQ(duties.of_host(), (Duties{0, 1, 0})) << "looks that contradict each other";
  duties.Take(kOne, roster);
  EXPECT_EQ(duties.of_host(), (Duties{0, 0, 0}));
}

TEST(StandingDutiesTest, ALookThatSawAPartOfTheMachinesSaysNothing) {
  StandingDuties duties;
  duties.Take(kTwo, RosterOf({"a", "b", "c", "d"}));
  EXPECT_TRUE(duties.of_host().empty());
  duties.Take(kTwo, RosterOf({"a", "b", "c"}));
  duties.Take({}, RosterOf({"a", "b", "c"}));
  EXPECT_EQ(duties.of_host(), (Duties{0, 1, 0}));
  Roster with_idle = RosterOf({"a", "b", "c"});
  with_idle.TouchHost("d", 1);
  duties.Take(kTwo, with_idle);
  duties.Take(kTwo, with_idle);
  EXPECT_EQ(duties.of_host(), (Duties{0, 1, 0, -1})) << "a host without a rank has no duty";
  duties.Clear();
  EXPECT_TRUE(duties.of_host().empty());
}

}  // namespace
}  // namespace lockstep
