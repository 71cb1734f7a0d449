#include "cli/render/quantity_text.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/sim_clock.h"

namespace lockstep {
namespace {

TEST(QuantityTextTest, Times) {
  EXPECT_EQ(WallText(SimClock::kStartWallNanos), "2026-01-02 03:04:05 UTC");
  EXPECT_EQ(TimeOfDayText(SimClock::kStartWallNanos + 678 * kNanosPerMilli), "03:04:05.678");
  EXPECT_EQ(WallText(0), "-");
  EXPECT_EQ(TimeOfDayText(0), "-");
}

TEST(QuantityTextTest, Durations) {
  struct Row {
    int64_t millis;
    const char* text;
  };
  constexpr Row kRows[] = {
      {-5, "0ms"},
      {0, "0ms"},
      {850, "850ms"},
      {999, "999ms"},
      {1000, "1.0s"},
      {8249, "8.2s"},
      {9999, "9.9s"},
      {10'000, "10s"},
      {59'999, "59s"},
      {60'000, "1m00s"},
      {192'000, "3m12s"},
      {3'599'000, "59m59s"},
      {18'420'000, "5h07m"},
      {86'399'000, "23h59m"},
      {1'047'600'000, "12d03h"},
  };
  for (const Row& row : kRows) EXPECT_EQ(DurationText(row.millis * kNanosPerMilli), row.text);
  EXPECT_EQ(AgeText(0, 5), "-");
  EXPECT_EQ(AgeText(kNanosPerSecond, 6 * kNanosPerSecond), "5.0s");
}

TEST(QuantityTextTest, Numbers) {
  EXPECT_EQ(PercentText(0.3512), "35 %");
  EXPECT_EQ(PercentText(0.0424), "4.2 %");
  EXPECT_EQ(PercentText(0.0999), "10 %");
  EXPECT_EQ(PercentText(1), "100 %");
  EXPECT_EQ(SecondsText(0), "-");
  EXPECT_EQ(SecondsText(0.0000523), "52.3 us");
  EXPECT_EQ(SecondsText(0.0523), "52.3 ms");
  EXPECT_EQ(SecondsText(1.2149), "1.21 s");
  EXPECT_EQ(NumberText(1234567.0), "1.23457e+06");
  EXPECT_EQ(NumberText(0.25), "0.25");
}

}  // namespace
}  // namespace lockstep
