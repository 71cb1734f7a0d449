#include "agent/demands/demand_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/stop_signal.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

wire::Command Demand(uint64_t id, const std::string& kind, int64_t patience_ns = 60 * kNanosPerSecond) {
  wire::Command command;
  command.set_id(id);
  command.mutable_demand()->set_kind(kind);
  command.mutable_demand()->set_patience_ns(patience_ns);
  command.mutable_demand()->set_parameters("parameters");
  return command;
}

DemandedProcess Process(int32_t pid) { return {.job = "job", .rank = pid, .pid = pid, .start_ticks = 1000, .uid = 7}; }

// What the runner gives over reports, until there are `answers`.
std::vector<wire::DemandAnswer> Await(DemandRunner& runner, size_t answers) {
  std::vector<wire::DemandAnswer> all;
  StopSignal never;
  for (int i = 0; i < 60'000 && all.size() < answers; ++i) {
    wire::AgentReport report;
    runner.AppendAnswers(report);
    EXPECT_LE(report.ByteSizeLong(), DemandRunner::kMaxPartBytes + 4096);
    for (const wire::DemandAnswer& answer : report.demand_answers()) all.push_back(answer);
    if (all.size() < answers) never.WaitFor(kNanosPerMilli);
  }
  EXPECT_GE(all.size(), answers);
  return all;
}

TEST(DemandRunnerTest, AnswersInPartsThatFitIntoReports) {
  const std::string large(DemandRunner::kMaxAnswerBytes, 'x');
  DemandRunner runner({{"echo", [&](const DemandCall& call) { return call.parameters + large.substr(10); }}},
                      RealClock());
  runner.Take(Demand(7, "echo"), Process(1));
  const std::vector<wire::DemandAnswer> parts = Await(runner, 2);
  ASSERT_EQ(parts.size(), 2u);
  std::string payload;
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].id(), 7u);
    EXPECT_EQ(parts[i].part(), i);
    EXPECT_EQ(parts[i].parts(), 2u);
    EXPECT_EQ(parts[i].outcome(), wire::DemandAnswer::OUTCOME_DONE);
    payload += parts[i].payload();
  }
  EXPECT_EQ(payload, "parameters" + large.substr(10));
  EXPECT_EQ(runner.statistics().done, 1u);
}

TEST(DemandRunnerTest, SaysWhyItDoesNot) {
  DemandRunner runner(
      {{"fails", [](const DemandCall&) { return absl::NotFoundError("it has\nended"); }},
       {"large", [](const DemandCall&) { return std::string(DemandRunner::kMaxAnswerBytes + 1, 'x'); }}},
      RealClock());
  runner.Take(Demand(1, "unheard of"), Process(1));
  runner.Take(Demand(2, "fails"), absl::NotFoundError("no rank 3"));
  runner.Take(Demand(3, "fails"), Process(1));
  runner.Take(Demand(4, "large"), Process(2));
  runner.Take(Demand(5, "fails", /*patience_ns=*/0), Process(3));
  const std::pair<wire::DemandAnswer::Outcome, const char*> expected[] = {
      {wire::DemandAnswer::OUTCOME_REFUSED, "does not do that"}, {wire::DemandAnswer::OUTCOME_REFUSED, "no rank 3"},
      {wire::DemandAnswer::OUTCOME_FAILED, "it has?ended"},      {wire::DemandAnswer::OUTCOME_FAILED, "too many"},
      {wire::DemandAnswer::OUTCOME_FAILED, "time was over"},
  };
  std::vector<wire::DemandAnswer> answers = Await(runner, 5);
  ASSERT_EQ(answers.size(), 5u);
  for (const wire::DemandAnswer& answer : answers) {
    EXPECT_EQ(answer.outcome(), expected[answer.id() - 1].first) << answer.id();
    EXPECT_THAT(answer.reason(), HasSubstr(expected[answer.id() - 1].second));
    EXPECT_EQ(answer.parts(), 1u);
  }
  EXPECT_EQ(runner.statistics().refused, 2u);
  EXPECT_EQ(runner.statistics().failed, 3u);
}

TEST(DemandRunnerTest, LooksAtAProcessOnceAtATimeAndHoldsNoMoreThanItsLimit) {
  StopSignal go_on;
  DemandRunner runner({{"waits",
                        [&](const DemandCall&) -> absl::StatusOr<std::string> {
                          go_on.WaitFor(60 * kNanosPerSecond);
                          return "done";
                        }}},
                      RealClock());
  runner.Take(Demand(1, "waits"), Process(1));
  runner.Take(Demand(2, "waits"), Process(1));
  const std::vector<wire::DemandAnswer> refused = Await(runner, 1);
  EXPECT_EQ(refused[0].id(), 2u);
  EXPECT_THAT(refused[0].reason(), HasSubstr("being looked at already"));
  for (size_t i = 1; i < DemandRunner::kMaxOpen; ++i) {
    runner.Take(Demand(100 + i, "waits"), Process(100 + static_cast<int32_t>(i)));
  }
  runner.Take(Demand(3, "waits"), Process(2));
  EXPECT_THAT(Await(runner, 1)[0].reason(), HasSubstr("demands open already"));
  go_on.Stop();
  EXPECT_EQ(Await(runner, DemandRunner::kMaxOpen).size(), DemandRunner::kMaxOpen);
  runner.Take(Demand(4, "waits"), Process(1));
  EXPECT_EQ(Await(runner, 1)[0].outcome(), wire::DemandAnswer::OUTCOME_DONE);
}

TEST(DemandRunnerTest, EndsWhileWorkIsUnderWay) {
  StopSignal begun;
  {
    DemandRunner runner({{"waits",
                          [&](const DemandCall& call) -> absl::StatusOr<std::string> {
                            begun.Stop();
                            EXPECT_TRUE(call.stop.WaitFor(60 * kNanosPerSecond));
                            return absl::CancelledError("the agent ends");
                          }}},
                        RealClock());
    runner.Take(Demand(1, "waits"), Process(1));
    runner.Take(Demand(2, "waits"), Process(2));
    EXPECT_TRUE(begun.WaitFor(60 * kNanosPerSecond));
  }
}

}  // namespace
}  // namespace lockstep
