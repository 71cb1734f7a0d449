#include "collector/store/history_age.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kHour = 3'600 * kNanosPerSecond;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kNewest = 1'000 * kDay;

TEST(HistoryAgeTest, NothingGoesBeforeItIsKnownWhatIsThere) {
  HistoryAge age;
  EXPECT_EQ(age.Cutoff(kNewest, kDay), HistoryAge::kNothingGoes);
  EXPECT_FALSE(age.Begin({}, 0, kNewest));
  EXPECT_EQ(age.Cutoff(kNewest, kDay), kNewest - kDay);
}

TEST(HistoryAgeTest, APauseAgesNothing) {
  for (const int64_t pause : {2 * kHour, 7 * kDay, 400 * kDay}) {
    const int64_t start = kNewest + pause;
    HistoryAge age;
    EXPECT_TRUE(age.Begin({}, kNewest, start));
    EXPECT_EQ(age.Cutoff(start, kDay), kNewest - kDay);
    EXPECT_EQ(age.Cutoff(start + kHour, kDay), kNewest - 23 * kHour);
    EXPECT_EQ(age.Cutoff(start + kDay - 1, kDay), kNewest - 1) << "it has run for nearly as long as that is kept";
    EXPECT_EQ(age.Cutoff(start + kDay, kDay), start) << "all from before has gone, and nothing from after";
    EXPECT_EQ(age.Cutoff(start + 5 * kDay, kDay), start + 4 * kDay);
  }
}

TEST(HistoryAgeTest, AShortPauseIsTimeLikeAnyOther) {
  HistoryAge age;
  EXPECT_FALSE(age.Begin({}, kNewest, kNewest + kHour));
  EXPECT_EQ(age.Cutoff(kNewest + kHour, kDay), kNewest - 23 * kHour);
  EXPECT_FALSE(age.Begin({}, kNewest, kNewest - kDay)) << "a date that was set back";
  EXPECT_THAT(age.pauses(), IsEmpty());
}

TEST(HistoryAgeTest, PausesOfEarlierLivesStayAsLongAsThereIsSomethingBehindThem) {
  const Pause wrong_date = {kNewest, kNewest + 40 * kDay};
  HistoryAge age;
  EXPECT_FALSE(age.Begin({wrong_date}, wrong_date.until_wall_ns + kHour, kNewest + 2 * kHour));
  EXPECT_THAT(age.pauses(), ElementsAre(wrong_date)) << "that life has written";
  EXPECT_EQ(age.Cutoff(wrong_date.until_wall_ns + kHour, kDay), kNewest - 23 * kHour);
  EXPECT_TRUE(age.Begin({wrong_date}, kNewest, kNewest + 2 * kHour));
  EXPECT_THAT(age.pauses(), ElementsAre(Pause{kNewest, kNewest + 2 * kHour})) << "that life has not";
}

TEST(HistoryAgeTest, ManyPausesAddUpAndTheCutoffNeverGoesBack) {
  const std::vector<Pause> earlier = {{10 * kDay, 20 * kDay}, {21 * kDay, 22 * kDay}};
  HistoryAge age;
  EXPECT_TRUE(age.Begin(earlier, 23 * kDay, 30 * kDay));
  EXPECT_EQ(age.Cutoff(31 * kDay, kDay / 2), 31 * kDay - kDay / 2);
  EXPECT_EQ(age.Cutoff(31 * kDay, 5 * kDay), 8 * kDay);
  int64_t before = HistoryAge::kNothingGoes;
  for (int64_t now = 30 * kDay; now < 60 * kDay; now += kHour) {
    const int64_t cutoff = age.Cutoff(now, 5 * kDay);
    EXPECT_GE(cutoff, before);
    before = cutoff;
  }
  EXPECT_EQ(before, 55 * kDay - kHour);
}

TEST(HistoryAgeTest, BeyondTheMostTheOldestPauseIsTime) {
  std::vector<Pause> earlier;
  for (size_t i = 0; i < HistoryAge::kMostPauses; ++i) {
    const int64_t from = static_cast<int64_t>(i) * kDay;
    earlier.push_back({from, from + 2 * kHour});
  }
  const int64_t newest = earlier.back().until_wall_ns + kHour;
  HistoryAge age;
  EXPECT_TRUE(age.Begin(earlier, newest, newest + kDay));
  ASSERT_EQ(age.pauses().size(), HistoryAge::kMostPauses);
  EXPECT_EQ(age.pauses().front(), earlier[1]);
  EXPECT_EQ(age.pauses().back(), (Pause{newest, newest + kDay}));
}

}  // namespace
}  // namespace lockstep
