// What a collector says of itself and of its fleet: what fails, hangs or is missing.

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/testing/collector_fixture.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "proto/admin.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using CollectorHealthTest = CollectorFixture;

TEST_F(CollectorHealthTest, StatusNamesSourcesThatFail) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  wire::AgentReport report = MakeTestReport(1, TestRanks());
  wire::SourceStatus& source = *report.add_sources();
  source.set_name("nvml");
  source.set_outcome(wire::SourceStatus::OUTCOME_TIMED_OUT);
  source.set_failing_ns(40 * kNanosPerSecond);
  source.set_error("no answer for 40.0 s");
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(1));
  wire::GetStatusResponse status;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->GetStatus(&context, {}, &status).ok());
  ASSERT_EQ(status.failing_sources_size(), 1);
  EXPECT_EQ(status.failing_sources(0).host(), "node-1");
  EXPECT_EQ(status.failing_sources(0).source(), "nvml");
  EXPECT_TRUE(status.failing_sources(0).hangs());
  EXPECT_EQ(status.failing_sources(0).why(), "no answer for 40.0 s");
  EXPECT_GE(status.time_line_wall_ns() - status.failing_sources(0).since_wall_ns(), 40 * kNanosPerSecond);

  wire::GetStatusRequest request;
  request.set_only_times(true);
  wire::GetStatusResponse times;
  grpc::ClientContext again;
  ASSERT_TRUE(query_->GetStatus(&again, request, &times).ok());
  EXPECT_GE(times.time_line_wall_ns(), status.time_line_wall_ns());
  EXPECT_EQ(times.failing_sources_size() + times.agents_size(), 0);
}

TEST_F(CollectorHealthTest, AHostThatReportedOnceIsMissedAcrossARestartUntilSomebodyForgetsIt) {
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    wire::AgentReport report = MakeHostReport(1, 0.5);
    report.add_gpus()->set_uuid("GPU-A");
    ASSERT_TRUE(agent.Send(ToMessage(report)));
    ASSERT_TRUE(agent.AwaitAck(1));
  }
  collector_->Housekeep();
  collector_->Drain();
  ASSERT_EQ(store_.LoadHosts()->size(), 1u);
  ASSERT_EQ(store_.LoadGpus()->size(), 1u);
  host_silent_ = absl::Nanoseconds(1);
  StartCollector();
  wire::GetStatusResponse status;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.agents_size(), 0);
  ASSERT_EQ(status.missing_hosts_size(), 1);
  EXPECT_EQ(status.missing_hosts(0).host(), "node-1");
  EXPECT_GT(status.missing_hosts(0).last_report_wall_ns(), 0);
  wire::ListGpusResponse gpus;
  grpc::ClientContext list;
  ASSERT_TRUE(query_->ListGpus(&list, {}, &gpus).ok());
  EXPECT_EQ(gpus.gpus_size(), 1);

  const auto admin = wire::Admin::NewStub(channel_);
  wire::ForgetHostRequest request;
  wire::ForgetHostResponse response;
  request.set_host("node-1");
  grpc::ClientContext forget;
  ASSERT_TRUE(admin->ForgetHost(&forget, request, &response).ok());
  EXPECT_EQ(store_.LoadHosts()->size(), 0u);
  grpc::ClientContext again;
  EXPECT_EQ(admin->ForgetHost(&again, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  wire::GetStatusResponse after;
  grpc::ClientContext third;
  ASSERT_TRUE(query_->GetStatus(&third, {}, &after).ok());
  EXPECT_EQ(after.missing_hosts_size(), 0);
  EXPECT_EQ(store_.LoadGpus()->size(), 0u);
  wire::ListGpusResponse none;
  grpc::ClientContext fourth;
  ASSERT_TRUE(query_->ListGpus(&fourth, {}, &none).ok());
  EXPECT_EQ(none.gpus_size(), 0);
}

TEST_F(CollectorHealthTest, HostsOfTheInventoryAreMissedUntilTheyReport) {
  TemporaryDirectory directory;
  directory.Write("fleet", "node-1\nnode-2\n");
  host_silent_ = absl::Nanoseconds(1);
  StartCollector();
  ASSERT_OK(collector_->ReadInventory((directory.path() / "fleet").string()));
  wire::GetStatusResponse status;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->GetStatus(&context, {}, &status).ok());
  ASSERT_EQ(status.missing_hosts_size(), 2);
  EXPECT_TRUE(status.missing_hosts(1).in_inventory());
  EXPECT_EQ(status.missing_hosts(1).last_report_wall_ns(), 0);
  EXPECT_THAT(collector_->ReadInventory((directory.path() / "absent").string()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absent")));
  wire::GetStatusResponse kept;
  grpc::ClientContext second;
  ASSERT_TRUE(query_->GetStatus(&second, {}, &kept).ok());
  EXPECT_EQ(kept.missing_hosts_size(), 2) << "what cannot be read changes nothing";
}

TEST_F(CollectorHealthTest, AStoreThatHangsHoldsBackAcknowledgementsOnly) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  store_.set_blocked(true);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
  }
  TestAgent another(channel_);
  EXPECT_EQ(another.Hello("node-2", 1), 0);
  store_.set_blocked(false);
  EXPECT_TRUE(agent.AwaitAck(5));
}

TEST_F(CollectorHealthTest, ASickStoreIsSaidInWordsAndAgentsAreTakenInAllTheSame) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  while (!collector_->Ready().ok()) std::this_thread::yield();
  store_.set_refuses(true);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  while (collector_->Ready().ok()) std::this_thread::yield();
  EXPECT_THAT(collector_->Ready(), StatusIs(absl::StatusCode::kUnavailable,
                                            HasSubstr("history: the disk is full: no space left on device")));
  collector_->Housekeep();
  EXPECT_OK(collector_->Moving()) << "a restart makes no room on a disk";
  TestAgent another(channel_);
  EXPECT_EQ(another.Hello("node-2", 8), 0);
  store_.set_refuses(false);
  EXPECT_TRUE(agent.AwaitAck(1));
  EXPECT_OK(collector_->Ready());
}

// Nothing is written as long as no agent is let in: who says so has to be who reads.
TEST_F(CollectorHealthTest, AHistoryThatCannotSayHowFarAgentsGotIsDamagedThoughNothingIsWritten) {
  while (!collector_->Ready().ok()) std::this_thread::yield();
  store_.SetSequenceRefusal(absl::DataLossError("block checksum mismatch"));
  TestAgent agent(channel_);
  EXPECT_EQ(agent.Hello("node-1", 7), -1);
  const auto is_damaged = StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("history: it is damaged: block checksum mismatch; end the collector"));
  EXPECT_THAT(collector_->Ready(), is_damaged);
  store_.SetSequenceRefusal(absl::OkStatus());
  TestAgent another(channel_);
  EXPECT_EQ(another.Hello("node-2", 8), 0) << "elsewhere it can be read";
  EXPECT_THAT(collector_->Ready(), is_damaged);
}

TEST_F(CollectorHealthTest, WhatHangsIsNamedOnceItHasWorkForTooLongAndNothingElseIs) {
  // Puts the clock forward by ten seconds and waits until each of the two shards has noticed.
  const auto housekeep = [&] {
    const uint64_t before = Evaluations();
    clock_.Forward(10 * kNanosPerSecond);
    while (Evaluations() < before + 3) std::this_thread::yield();
    collector_->Housekeep();
    return collector_->Moving();
  };
  for (int look = 0; look < 5; ++look) EXPECT_OK(housekeep());
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  store_.set_blocked(true);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  while (metrics_->reports_received.Value() == 0) std::this_thread::yield();
  absl::Status moving;
  for (int look = 0; look < 20 && moving.ok(); ++look) moving = housekeep();
  EXPECT_EQ(moving.message(), "the store writer has work and has not moved for 130 s, at most 120 s are expected");
  EXPECT_THAT(collector_->Ready(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the store writer has work")));
  store_.set_blocked(false);
  ASSERT_TRUE(agent.AwaitAck(1));
  EXPECT_OK(housekeep());

  // Nobody housekeeps any more: whoever asks for the health finds that out.
  for (int look = 0; look < 5; ++look) {
    const uint64_t before = Evaluations();
    clock_.Forward(10 * kNanosPerSecond);
    while (Evaluations() < before + 3) std::this_thread::yield();
    moving = collector_->Moving();
  }
  EXPECT_THAT(moving, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the main loop has work")));
}

}  // namespace
}  // namespace lockstep
