#include "detector/counters/crowd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kMachines = 8;

std::set<int32_t> InCrowds(const std::vector<HistoryCase>& cases) {
  std::vector<const HistoryCase*> pointers;
  for (const HistoryCase& found : cases) pointers.push_back(&found);
  return HostsInCrowds(pointers, kMachines);
}

HistoryCase Standing(int32_t host, int64_t onset_ms, int64_t last_ms, CaseKind kind = CaseKind::kAlarm) {
  return {.host = host, .kind = kind, .onset_ms = onset_ms, .last_ms = last_ms};
}

TEST(CrowdTest, MoreThanAQuarterAtOneTimeAreACrowd) {
  EXPECT_THAT(InCrowds({Standing(1, 0, 100), Standing(5, 50, 200)}), IsEmpty());
  EXPECT_THAT(InCrowds({Standing(1, 0, 100), Standing(5, 50, 200), Standing(7, 90, 300)}), ElementsAre(1, 5, 7));
  EXPECT_THAT(InCrowds({Standing(1, 0, 100), Standing(5, 50, 200), Standing(7, 110, 300)}), IsEmpty())
      << "one was over before another began";
}

TEST(CrowdTest, WhoStandsOutAtAnotherTimeIsInNone) {
  EXPECT_THAT(InCrowds({Standing(0, 1'000, 2'000), Standing(1, 0, 100), Standing(5, 50, 200), Standing(7, 90, 300)}),
              ElementsAre(1, 5, 7));
}

TEST(CrowdTest, SilenceAndLoadOfItsOwnMakeNone) {
  EXPECT_THAT(InCrowds({Standing(1, 0, 100), Standing(5, 50, 200), Standing(7, 90, 300, CaseKind::kSilence)}),
              IsEmpty());
  EXPECT_THAT(InCrowds({Standing(1, 0, 100), Standing(5, 50, 200), Standing(7, 90, 300, CaseKind::kSoft)}), IsEmpty());
  EXPECT_THAT(InCrowds({Standing(1, 0, 100), Standing(3, 20, 300, CaseKind::kSoft), Standing(5, 50, 200),
                        Standing(7, 90, 300)}),
              ElementsAre(1, 3, 5, 7));
}

}  // namespace
}  // namespace lockstep
