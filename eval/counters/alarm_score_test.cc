#include "eval/counters/alarm_score.h"

#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

const CounterFault kFault{.host = 3, .begin_ms = 100'000, .end_ms = 400'000};

MachineAlarm Alarm(int32_t host, int64_t alarm_ms) { return {.host = host, .alarm_ms = alarm_ms}; }

AlarmScore Score(const std::vector<MachineAlarm>& alarms, const std::vector<CounterFault>& faults = {kFault}) {
  return ScoreAlarms(alarms, faults);
}

TEST(AlarmScoreTest, RightOnlyWithTheRightMachineInsideTheInterval) {
  struct Case {
    MachineAlarm alarm;
    bool found;
    int64_t wrong;
  };
  for (const Case& one : {Case{Alarm(3, 100'000), true, 0},
                          {Alarm(3, 400'000), true, 0},
                          {Alarm(3, 99'999), false, 1},
                          {Alarm(3, 400'001), false, 1},
                          {Alarm(4, 200'000), false, 1}}) {
    const AlarmScore score = Score({one.alarm});
    EXPECT_EQ(score.faults[0].found, one.found) << one.alarm.alarm_ms;
    EXPECT_EQ(score.false_accusations, one.wrong) << one.alarm.alarm_ms;
  }
}

TEST(AlarmScoreTest, TheDelayIsThatOfTheFirstRightAlarm) {
  const AlarmScore score = Score({Alarm(3, 160'000), Alarm(3, 130'000), Alarm(3, 300'000)});
  EXPECT_DOUBLE_EQ(score.faults[0].delay_seconds, 30);
  EXPECT_EQ(score.found(), 1);
  EXPECT_EQ(score.false_accusations, 0);
}

TEST(AlarmScoreTest, SilenceIsAsSlowAsTheFaultIsLong) {
  const AlarmScore score = Score({});
  EXPECT_FALSE(score.faults[0].found);
  EXPECT_DOUBLE_EQ(score.faults[0].delay_seconds, 300);
}

TEST(AlarmScoreTest, AMachineIsAccusedOnceHoweverOftenItIsRepeated) {
  EXPECT_EQ(Score({Alarm(4, 1000), Alarm(4, 2000), Alarm(5, 3000)}).false_accusations, 2);
}

TEST(AlarmScoreTest, TooEarlyIsWrongAndTheFaultIsStillToBeFound) {
  const AlarmScore score = Score({Alarm(3, 50'000), Alarm(3, 150'000)});
  EXPECT_EQ(score.found(), 1);
  EXPECT_EQ(score.false_accusations, 1);
}

TEST(AlarmScoreTest, WhatFollowsARightAlarmIsNeitherRightNorWrong) {
  const AlarmScore score = Score({Alarm(3, 150'000), Alarm(3, 900'000)});
  EXPECT_EQ(score.found(), 1);
  EXPECT_EQ(score.false_accusations, 0);
}

TEST(AlarmScoreTest, EveryFaultOfManyIsCounted) {
  const std::vector<CounterFault> faults = {kFault, {.host = 5, .begin_ms = 100'000, .end_ms = 200'000}};
  const AlarmScore score = Score({Alarm(5, 110'000), Alarm(6, 120'000)}, faults);
  EXPECT_FALSE(score.faults[0].found);
  EXPECT_TRUE(score.faults[1].found);
  EXPECT_EQ(score.false_accusations, 1);
}

}  // namespace
}  // namespace lockstep
