#include "collector/alert/nvsentinel_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/temporary_directory.h"
#include "collector/alert/testing/health_event_server.h"
#include "collector/alert/testing/sample_incident.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using Outcome = AnswerVerdict::Outcome;
using ::testing::HasSubstr;

class NvsentinelEndpointTest : public testing::Test {
 protected:
  std::unique_ptr<NvsentinelEndpoint> NewEndpoint(int64_t timeout_ns = 60 * kNanosPerSecond) {
    return std::make_unique<NvsentinelEndpoint>(receiver_, absl::StrCat("unix:", socket_), timeout_ns,
                                                [this] { return abort_.load(); });
  }

  AnswerVerdict Send(NvsentinelEndpoint& endpoint) { return endpoint.Send({Kind::kOpened, SlowRank()}, {}).verdict; }

  void WriteToken(const std::string& token) { std::ofstream(receiver_.token_file) << token; }

  TemporaryDirectory directory_;
  const std::string socket_ = (directory_.path() / "nvsentinel.sock").string();
  ReceiverSpec receiver_ = {.name = "nvs", .type = ReceiverType::kNvsentinel};
  std::atomic<bool> abort_{false};
};

TEST_F(NvsentinelEndpointTest, TheConnectorTakesEventsOverItsSocket) {
  HealthEventServer server(socket_);
  const auto endpoint = NewEndpoint();
  EXPECT_EQ(Send(*endpoint).outcome, Outcome::kTaken);
  ASSERT_EQ(server.calls().size(), 1u);
  EXPECT_EQ(server.calls()[0].events.events(0).node_name(), "node-17");
  EXPECT_EQ(server.calls()[0].events.events(0).processing_strategy(), datamodels::STORE_ONLY);
  EXPECT_EQ(server.calls()[0].authorization, "");
}

TEST_F(NvsentinelEndpointTest, TheTokenIsReadForEachMessage) {
  HealthEventServer server(socket_);
  receiver_.token_file = (directory_.path() / "token").string();
  const auto endpoint = NewEndpoint();
  EXPECT_EQ(Send(*endpoint).outcome, Outcome::kLater) << "it is not there yet";
  WriteToken("two words");
  EXPECT_EQ(Send(*endpoint).outcome, Outcome::kLater);
  EXPECT_THAT(Send(*endpoint).why, HasSubstr("expected one token"));
  for (const char* token : {"first\n", "second"}) {
    WriteToken(token);
    EXPECT_EQ(Send(*endpoint).outcome, Outcome::kTaken);
  }
  ASSERT_EQ(server.calls().size(), 2u);
  EXPECT_EQ(server.calls()[0].authorization, "Bearer first");
  EXPECT_EQ(server.calls()[1].authorization, "Bearer second");
}

TEST_F(NvsentinelEndpointTest, WhatMayPassOrBeMendedIsTriedAgainAndARefusalIsFinal) {
  HealthEventServer server(socket_);
  const auto endpoint = NewEndpoint();
  const auto outcome_of = [&](grpc::StatusCode code) {
    server.AnswerBy([code](const datamodels::HealthEvents&) { return grpc::Status(code, "the reason"); });
    const AnswerVerdict verdict = Send(*endpoint);
    EXPECT_THAT(verdict.why, HasSubstr("the reason"));
    return verdict.outcome;
  };
  for (const auto code : {grpc::UNAVAILABLE, grpc::RESOURCE_EXHAUSTED, grpc::INTERNAL, grpc::UNKNOWN, grpc::ABORTED,
                          grpc::PERMISSION_DENIED, grpc::UNAUTHENTICATED, grpc::UNIMPLEMENTED}) {
    EXPECT_EQ(outcome_of(code), Outcome::kLater) << code;
  }
  for (const auto code : {grpc::INVALID_ARGUMENT, grpc::OUT_OF_RANGE}) {
    EXPECT_EQ(outcome_of(code), Outcome::kRefused) << code;
  }
}

TEST_F(NvsentinelEndpointTest, WithoutAConnectorItIsTriedAgainUntilThereIsOne) {
  const auto endpoint = NewEndpoint();
  EXPECT_EQ(Send(*endpoint).outcome, Outcome::kLater);
  HealthEventServer server(socket_);
  const int64_t until_ns = RealClock().MonotonicNanos() + 60 * kNanosPerSecond;
  while (Send(*endpoint).outcome != Outcome::kTaken) ASSERT_LT(RealClock().MonotonicNanos(), until_ns);
}

TEST_F(NvsentinelEndpointTest, AConnectorThatHangsIsGivenUpInTime) {
  HealthEventServer server(socket_);
  server.Hold(true);
  EXPECT_EQ(Send(*NewEndpoint(200 * kNanosPerMilli)).outcome, Outcome::kLater);
  abort_ = true;
  const int64_t begin_ns = RealClock().MonotonicNanos();
  EXPECT_EQ(Send(*NewEndpoint(600 * kNanosPerSecond)).outcome, Outcome::kLater);
  EXPECT_LT(RealClock().MonotonicNanos() - begin_ns, 60 * kNanosPerSecond) << "the collector ends";
}

TEST_F(NvsentinelEndpointTest, WhatIsNoNodesBusinessIsNotSent) {
  HealthEventServer server(socket_);
  IncidentEvent event{Kind::kOpened, SlowRank()};
  event.incident.mutable_verdict()->set_scope("software");
  EXPECT_EQ(NewEndpoint()->Send(event, {}).verdict.outcome, Outcome::kTaken);
  EXPECT_TRUE(server.calls().empty());
}

}  // namespace
}  // namespace lockstep
