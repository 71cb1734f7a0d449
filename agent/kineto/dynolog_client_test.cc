// A dynolog of the test's own, which speaks as dynolog does, and others that do not.

#include "agent/kineto/dynolog_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "agent/kineto/dynolog_message.h"
#include "agent/kineto/testing/fake_dynolog.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOrder[] = "ACTIVITIES_LOG_FILE=/tmp/t.json\nACTIVITIES_DURATION_MSECS=500\n";

class DynologClientTest : public ::testing::Test {
 protected:
  absl::Status Order(const FakeDynolog& dynolog, const DynologProcess& process) {
    return DynologClient(dynolog.port(), RealClock()).Order(process, kOrder, stop_);
  }

  // To an answer of these bytes.
  absl::Status OrderWhenAnswered(const std::string& bytes) {
    const FakeDynolog dynolog([bytes](int connection) { FakeDynolog::Send(connection, bytes); });
    return Order(dynolog, {.pid = 7});
  }

  StopSignal stop_;
};

TEST_F(DynologClientTest, TheProcessGetsTheOrderOnce) {
  FakeDynolog dynolog;
  dynolog.Register(0, {7, 1});
  dynolog.Register(55, {7, 1});
  EXPECT_OK(Order(dynolog, {.pid = 7, .job = 0}));
  EXPECT_THAT(dynolog.questions(),
              ElementsAre(R"({"config":"ACTIVITIES_LOG_FILE=/tmp/t.json\nACTIVITIES_DURATION_MSECS=500\n",)"
                          R"("fn":"setKinetOnDemandRequest","job_id":0,"pids":[7],"process_limit":1})"));
  const absl::Status again = Order(dynolog, {.pid = 7, .job = 0});
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists) << again;
  EXPECT_EQ(dynolog.TakeOrder(7), kOrder);
  EXPECT_OK(Order(dynolog, {.pid = 7, .job = 0}));
  EXPECT_OK(Order(dynolog, {.pid = 7, .job = 55})) << "the same pid of another job is another process";
}

TEST_F(DynologClientTest, RefusalsSayWhy) {
  FakeDynolog dynolog;
  dynolog.Register(0, {8, 7, 1});
  const absl::Status unknown = Order(dynolog, {.pid = 9});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("KINETO_USE_DAEMON=1"));
  const absl::Status child = Order(dynolog, {.pid = 7});
  EXPECT_EQ(child.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(child.message()), HasSubstr("children"));
  const absl::Status refused = OrderWhenAnswered(FakeDynolog::Framed(R"({"status": "failed\u001b[31m"})"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "dynolog refuses: failed?[31m");
}

TEST_F(DynologClientTest, WhatIsNoAnswerOfDynologsIsNone) {
  const std::string answers[] = {"",
                                 "HT",
                                 "HTTP/1.1 400 Bad Request\r\n\r\n",
                                 std::string("\xff\xff\xff\xff", 4),
                                 std::string("\0\0\0\0", 4),
                                 std::string("\0\0\0\x7f", 4),
                                 FakeDynolog::Framed("{\"processesMatched\": [7]").substr(0, 9),
                                 FakeDynolog::Framed("no JSON \xff"),
                                 FakeDynolog::Framed("[7]"),
                                 FakeDynolog::Framed("{}"),
                                 FakeDynolog::Framed(std::string(50'000, '[')),
                                 FakeDynolog::Framed(R"({"activityProfilersTriggered": 7})")};
  for (const std::string& answer : answers) {
    const absl::Status status = OrderWhenAnswered(answer);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << answer.substr(0, 40) << ": " << status;
  }
  EXPECT_EQ(OrderWhenAnswered(FakeDynolog::Framed(R"({"processesMatched": "7"})")).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(DynologClientTest, WhereNobodyListensThatIsSaid) {
  int port = 0;
  { port = FakeDynolog().port(); }
  EXPECT_EQ(DynologClient(port, RealClock()).Order({.pid = 7}, kOrder, stop_).code(), absl::StatusCode::kUnavailable);
}

TEST_F(DynologClientTest, OneThatStallsIsNotWaitedForForEver) {
  StopSignal answered;
  const FakeDynolog dynolog([&](int connection) {
    FakeDynolog::Send(connection, std::string("\x09\0\0\0", 4));  // and no more
    answered.WaitFor(60 * kNanosPerSecond);
  });
  const int64_t begin_ns = RealClock().MonotonicNanos();
  EXPECT_EQ(Order(dynolog, {.pid = 7}).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(RealClock().MonotonicNanos() - begin_ns, 30 * kNanosPerSecond);
  answered.Stop();
}

TEST_F(DynologClientTest, TheAgentDoesNotWaitForItAtItsEnd) {
  StopSignal answered;
  const FakeDynolog dynolog([&](int /*connection*/) {
    stop_.Stop();
    answered.WaitFor(60 * kNanosPerSecond);
  });
  EXPECT_EQ(Order(dynolog, {.pid = 7}).code(), absl::StatusCode::kCancelled);
  answered.Stop();
}

TEST(SlurmJobTest, IsThatOfTheEnvironment) {
  EXPECT_EQ(SlurmJobOf(absl::string_view("PATH=/bin\0SLURM_JOB_ID=4711\0A=b\0", 33)), 4711);
  for (const char* none : {"", "SLURM_JOB_ID=", "SLURM_JOB_ID=4711x", "SLURM_JOB_ID=-1", "XSLURM_JOB_ID=1",
                           "SLURM_JOB_ID=99999999999999999999"}) {
    EXPECT_EQ(SlurmJobOf(none), 0) << none;
  }
}

}  // namespace
}  // namespace lockstep
