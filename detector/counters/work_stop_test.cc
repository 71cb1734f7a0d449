#include "detector/counters/work_stop.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kUnits = 32;
constexpr double kPart = 100;

// Units that do between a third and all of their part, since bursts are cut by sampling.
class WorkStopsTest : public testing::Test {
 protected:
  WorkStopsTest() : random_(1) {
    for (size_t unit = 0; unit < kUnits; ++unit) stops_.AddUnit();
    for (int64_t second = 1; second <= 300; ++second) Second(1000 * second);
  }

  void Second(int64_t time_ms) {
    for (size_t unit = 0; unit < kUnits; ++unit) {
      stops_.Observe(unit, kPart, kPart * (1 + 2 * random_.Unit()) / 3, 1, true, time_ms);
    }
  }

  Random random_;
  WorkStops stops_;
};

TEST_F(WorkStopsTest, OneReadingWithoutWorkIsASurprisalWhereNobodyEverStopped) {
  stops_.Observe(7, kPart, kPart / 1000, 1, true, 301'000);
  EXPECT_EQ(stops_.Of(7).since_ms, 301'000);
  // 9,600 readings at most three times less than their part; then one that is a thousand times less.
  EXPECT_NEAR(stops_.Of(7).surprisal, std::log(32 * 300) + std::log(1000 / 3.0), 0.5);
  EXPECT_EQ(stops_.Of(8).since_ms, 0);
}

TEST_F(WorkStopsTest, LastsFromTheFirstReadingUntilTheUnitWorksAgain) {
  for (int64_t second = 301; second < 305; ++second) stops_.Observe(7, kPart, 0, 1, true, 1000 * second);
  EXPECT_EQ(stops_.Of(7).since_ms, 301'000);
  EXPECT_GT(stops_.Of(7).surprisal, 20);
  stops_.Observe(7, kPart, kPart / 2, 1, true, 305'000);
  EXPECT_EQ(stops_.Of(7).since_ms, 0);
  EXPECT_EQ(stops_.Of(7).surprisal, 0);
}

TEST_F(WorkStopsTest, WhereUnitsOftenDoNothingForAMomentItSaysNothing) {
  for (int64_t second = 301; second < 400; ++second) {
    Second(1000 * second);
    stops_.Observe(static_cast<size_t>(second) % kUnits, kPart, 0, 1, true, 1000 * second);
  }
  stops_.Observe(7, kPart, 0, 1, true, 400'000);
  EXPECT_LT(stops_.Of(7).surprisal, 6) << "one reading in a hundred";
}

TEST_F(WorkStopsTest, WhoHasNoPartCannotStopAndAnOddUnitTeachesNothing) {
  stops_.Observe(7, 0, 0, 1, true, 301'000);
  EXPECT_EQ(stops_.Of(7).since_ms, 0);
  for (int64_t second = 301; second < 400; ++second) stops_.Observe(3, kPart, 0, 1, /*usual=*/false, 1000 * second);
  stops_.Observe(7, kPart, 0, 1, true, 400'000);
  EXPECT_GT(stops_.Of(7).surprisal, 20);
}

}  // namespace
}  // namespace lockstep
