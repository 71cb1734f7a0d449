// The whole collector over real loopback gRPC, with history in memory: what streams carry, and restarts.

#include "collector/collector.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/collector_fixture.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "proto/place.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using CollectorTest = CollectorFixture;

TEST_F(CollectorTest, WhatIsAcknowledgedIsStored) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  for (uint64_t sequence = 1; sequence <= 20; ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
  }
  ASSERT_TRUE(agent.AwaitAck(20));
  EXPECT_EQ(store_.StoredSequence("node-1", 7).value(), 20u);
  int inputs = 0;
  for (const wire::CaptureEntry& entry : store_.log()) inputs += entry.has_input();
  EXPECT_EQ(inputs, 20);
}

TEST_F(CollectorTest, AReportOfTwoJobsIsStoredOncePerJobAndItsSamplesOnce) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  TestRanks ranks;
  wire::AgentReport report = MakeTestReport(1, ranks);
  ranks.job = "second";
  *report.add_processes() = MakeTestReport(1, ranks).processes(0);
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(1));
  EXPECT_EQ(store_.points().size(), 1u);
  wire::GetStatusResponse status;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.reports_stored(), 1u);
  ASSERT_EQ(status.agents_size(), 1);
  EXPECT_TRUE(status.agents(0).connected());
  EXPECT_EQ(status.agents(0).last_sequence(), 1u);
}

TEST_F(CollectorTest, PlacesOfAHostAreInAllItsInputsAndOddOnesAreCounted) {
  wire::AgentMessage hello = MakeTestHello("node-1", 7);
  const auto add = [&hello](wire::PlaceKind kind, const std::string& name) {
    hello.mutable_hello()->add_places()->set_kind(kind);
    hello.mutable_hello()->mutable_places()->rbegin()->set_name(name);
  };
  add(wire::PLACE_KIND_RACK, "r12");
  add(wire::PLACE_KIND_RACK, "r13");
  add(wire::PLACE_KIND_UNSPECIFIED, "nowhere");
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello(hello), 0);
  for (const uint64_t sequence : {1, 2}) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
  }
  ASSERT_TRUE(agent.AwaitAck(2));
  int inputs = 0;
  for (const wire::CaptureEntry& entry : store_.log()) {
    if (!entry.has_input()) continue;
    ++inputs;
    ASSERT_EQ(entry.input().places_size(), 1);
    EXPECT_EQ(entry.input().places(0).kind(), wire::PLACE_KIND_RACK);
    EXPECT_EQ(entry.input().places(0).name(), "r12");
  }
  EXPECT_EQ(inputs, 2);
  EXPECT_EQ(Dropped("odd_place"), 2);
}

TEST_F(CollectorTest, AnXidIsToldByAllNamesOfItsGpuAndTheListOfGpusIsInNoLog) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  TestRanks ranks;
  ranks.job = "job";
  wire::AgentReport report = MakeTestReport(1, ranks);
  report.mutable_processes(0)->set_gpu_index(3);
  wire::GpuIdentity& gpu = *report.add_gpus();
  gpu.set_index(3);
  gpu.set_uuid("GPU-3");
  gpu.set_pci_address("0000:3b:00.0");
  wire::KernelEvent& event = *report.add_kernel_events();
  event.set_kind(wire::KernelEvent::KIND_XID);
  event.set_code(79);
  event.set_device("gpu3");
  event.set_monotonic_ns(report.monotonic_ns());
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(1));
  wire::ListIncidentsResponse incidents;
  for (uint64_t sequence = 2; incidents.incidents().empty(); ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, ranks))));
    ASSERT_TRUE(agent.AwaitAck(sequence));
    clock_.Forward(kNanosPerSecond);
    grpc::ClientContext context;
    ASSERT_TRUE(query_->ListIncidents(&context, {}, &incidents).ok());
  }
  const wire::Culprit& culprit = incidents.incidents(0).verdict().culprits(0);
  EXPECT_EQ(culprit.gpu(), 3);
  EXPECT_EQ(culprit.gpu_uuid(), "GPU-3");
  EXPECT_EQ(culprit.gpu_pci_address(), "0000:3b:00.0");
  EXPECT_EQ(culprit.rank(), MakeTestReport(1, ranks).processes(0).rank()) << "the only one on it";
  for (const wire::CaptureEntry& entry : store_.log()) EXPECT_EQ(entry.input().report().gpus_size(), 0);
}

// A rank whose agent has named its job by the communicator that it knew first.
wire::AgentReport ReportOfPart(uint64_t sequence, const std::string& job, const std::vector<uint64_t>& communicators) {
  TestRanks ranks;
  ranks.job = job;
  wire::AgentReport report = MakeTestReport(sequence, ranks);
  wire::ProcessReport& process = *report.mutable_processes(0);
  process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
  process.set_uid(1000);
  process.clear_communicators();
  for (const uint64_t id : communicators) process.add_communicators()->set_id(id);
  return report;
}

TEST_F(CollectorTest, PartsOfOneJobAreOneAlsoInTheNextLife) {
  const std::string first = "nccl-000000000000000a", second = "nccl-000000000000000b";
  const auto log_of = [this](const std::string& job) {
    int inputs = 0;
    for (const wire::CaptureEntry& entry : store_.log()) {
      if (!entry.has_input() || entry.input().job() != job) continue;
      EXPECT_EQ(entry.input().report().processes(0).job(), job);
      ++inputs;
    }
    return inputs;
  };
  {
    TestAgent one(channel_), other(channel_);
    ASSERT_EQ(one.Hello("node-1", 7), 0);
    ASSERT_EQ(other.Hello("node-2", 8), 0);
    ASSERT_TRUE(one.Send(ToMessage(ReportOfPart(1, first, {10, 12}))));
    ASSERT_TRUE(one.AwaitAck(1));
    ASSERT_TRUE(other.Send(ToMessage(ReportOfPart(1, second, {11, 12}))));
    ASSERT_TRUE(other.AwaitAck(1));
  }
  EXPECT_EQ(log_of(first), 2);
  StartCollector();
  TestAgent other(channel_);
  ASSERT_EQ(other.Hello("node-2", 9), 0);
  ASSERT_TRUE(other.Send(ToMessage(ReportOfPart(1, second, {11}))));
  ASSERT_TRUE(other.AwaitAck(1));
  EXPECT_EQ(log_of(first), 3);
  EXPECT_EQ(log_of(second), 0);
}

TEST_F(CollectorTest, TwoRunsAtOneAddressAreTwoJobsAlsoInTheNextLife) {
  const auto report = [](uint64_t sequence, int32_t pid, wire::ProcessState state) {
    TestRanks ranks;
    ranks.job = "torch-node-1:29500";
    wire::AgentReport made = MakeTestReport(sequence, ranks);
    wire::ProcessReport& process = *made.mutable_processes(0);
    process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
    process.set_pid(pid);
    process.set_launcher_pid(pid + 1'000);
    process.set_recorded_ns(kNanosPerSecond);
    process.set_state(state);
    return ToMessage(made);
  };
  const auto newest_job = [this] {
    std::string job;
    for (const wire::CaptureEntry& entry : store_.log()) {
      if (entry.has_input()) job = entry.input().job();
    }
    return job;
  };
  std::string first, second;
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    ASSERT_TRUE(agent.Send(report(1, 100, wire::PROCESS_STATE_RUNNING)));
    ASSERT_TRUE(agent.AwaitAck(1));
    first = newest_job();
    ASSERT_TRUE(agent.Send(report(2, 100, wire::PROCESS_STATE_GONE)));
    ASSERT_TRUE(agent.AwaitAck(2));
    EXPECT_EQ(newest_job(), first);
    clock_.Forward(60 * kNanosPerSecond);
    ASSERT_TRUE(agent.Send(report(3, 200, wire::PROCESS_STATE_RUNNING)));
    ASSERT_TRUE(agent.AwaitAck(3));
    second = newest_job();
  }
  EXPECT_THAT(first, testing::MatchesRegex("torch-node-1:29500-[0-9]{8}T[0-9]{6}Z"));
  EXPECT_THAT(second, testing::MatchesRegex("torch-node-1:29500-[0-9]{8}T[0-9]{6}Z"));
  EXPECT_NE(first, second);
  StartCollector();
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 3);
  ASSERT_TRUE(agent.Send(report(4, 200, wire::PROCESS_STATE_RUNNING)));
  ASSERT_TRUE(agent.AwaitAck(4));
  EXPECT_EQ(newest_job(), second);
}

TEST_F(CollectorTest, AHalfClosedStreamEndsWellAfterItsLastAcknowledgement) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  agent.HalfClose();
  EXPECT_TRUE(agent.AwaitAck(1));
  EXPECT_TRUE(agent.AwaitEnd().ok());
}

TEST_F(CollectorTest, AfterAReconnectWhatWasStoredIsNotTakenTwice) {
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    for (uint64_t sequence : {1, 2}) ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(sequence, 0.5))));
    ASSERT_TRUE(agent.AwaitAck(2));
  }
  TestAgent agent(channel_);
  EXPECT_EQ(agent.Hello("node-1", 7), 2);
  for (uint64_t sequence : {1, 2, 3}) ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(sequence, 0.5))));
  ASSERT_TRUE(agent.AwaitAck(3));
  EXPECT_EQ(store_.points().size(), 3u);
  EXPECT_EQ(metrics_->reports_duplicate.Value(), 2);
}

TEST_F(CollectorTest, ANewCollectorKnowsFromHistoryWhatIsStored) {
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
    ASSERT_TRUE(agent.AwaitAck(1));
  }
  StartCollector();
  TestAgent agent(channel_);
  EXPECT_EQ(agent.Hello("node-1", 7), 1);
  TestAgent restarted(channel_);
  EXPECT_EQ(restarted.Hello("node-2", 8), 0);
}

struct Hostile {
  const char* name;
  std::vector<wire::AgentMessage> messages;
  grpc::StatusCode code;
  const char* message;
};

std::vector<Hostile> HostileAgents() {
  wire::AgentReport malformed = MakeTestReport(1, TestRanks());
  malformed.mutable_processes(0)->set_rank(-9);
  wire::AgentMessage future = MakeTestHello("evil", 1);
  future.mutable_hello()->set_protocol_version(2);
  const auto invalid = grpc::StatusCode::INVALID_ARGUMENT;
  const wire::AgentMessage hello = MakeTestHello("evil", 1);
  return {
      {"report before hello", {ToMessage(MakeHostReport(1, 0))}, invalid, "report before hello"},
      {"second hello", {hello, hello}, invalid, "second hello"},
      {"nothing", {wire::AgentMessage()}, invalid, "neither hello nor report"},
      {"no host", {MakeTestHello("", 1)}, invalid, "hello.host: is empty"},
      {"huge host", {MakeTestHello(std::string(1'000, 'h'), 1)}, invalid, "hello.host: 1000 bytes"},
      {"no incarnation", {MakeTestHello("evil", 0)}, invalid, "hello.incarnation: is 0"},
      {"future protocol", {future}, grpc::StatusCode::FAILED_PRECONDITION, "this collector speaks 1"},
      {"malformed", {hello, ToMessage(malformed)}, invalid, "report 1: processes[0].rank: -9"},
      {"back in time",
       {hello, ToMessage(MakeHostReport(5, 0)), ToMessage(MakeHostReport(4, 0))},
       invalid,
       "report.sequence: 4 after 5"},
  };
}

TEST_F(CollectorTest, AHostileStreamEndsWithAReasonAndOthersGoOn) {
  TestAgent innocent(channel_);
  ASSERT_EQ(innocent.Hello("node-1", 7), 0);
  uint64_t sequence = 0;
  for (const Hostile& hostile : HostileAgents()) {
    SCOPED_TRACE(hostile.name);
    TestAgent agent(channel_);
    for (const wire::AgentMessage& message : hostile.messages) agent.Send(message);
    const grpc::Status status = agent.AwaitEnd();
    EXPECT_EQ(status.error_code(), hostile.code);
    EXPECT_THAT(status.error_message(), HasSubstr(hostile.message));
    ASSERT_TRUE(innocent.Send(ToMessage(MakeHostReport(++sequence, 0.5))));
    ASSERT_TRUE(innocent.AwaitAck(sequence));
  }
}

TEST_F(CollectorTest, DrainingEndsStreamsUnavailableAndStoresWhatWasTaken) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  ASSERT_TRUE(agent.AwaitAck(1));
  const int64_t begun = RealClock().MonotonicNanos();
  collector_->Drain();
  EXPECT_LT(RealClock().MonotonicNanos() - begun, 4 * kNanosPerSecond);
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(store_.flushes(), 1);
}

TEST_F(CollectorTest, IncidentsSurviveTheCollectorAndIdsGoOn) {
  collector_.reset();
  wire::Incident incident;
  incident.set_id(41);
  incident.set_job("train");
  incident.set_key("cause");
  incident.set_state(wire::Incident::STATE_OPEN);
  ASSERT_OK(store_.PutIncident(incident));
  StartCollector();
  wire::ListIncidentsRequest request;
  request.set_open_only(true);
  wire::ListIncidentsResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->ListIncidents(&context, request, &response).ok());
  ASSERT_EQ(response.incidents_size(), 1);
  EXPECT_EQ(response.incidents(0).id(), 41u);
  wire::GetIncidentRequest missing;
  missing.set_id(42);
  wire::Incident found;
  grpc::ClientContext second;
  EXPECT_EQ(query_->GetIncident(&second, missing, &found).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CollectorTest, EveryMetricHasOurPrefixAndTheUnitInItsName) {
  for (const std::string& name : metrics_->FamilyNames()) {
    EXPECT_EQ(name.rfind("lockstep_", 0), 0u) << name;
    EXPECT_EQ(name.find("_ms"), std::string::npos) << name;
  }
}

TEST_F(CollectorTest, APortInUseIsAnErrorThatSaysSo) {
  CollectorOptions options;
  options.listen_address = absl::StrCat("127.0.0.1:", collector_->grpc_port());
  options.pages.address = "127.0.0.1:0";
  CollectorMetrics metrics("test");
  MemoryStore store;
  EXPECT_THAT(Collector::Start(options, {RealClock(), time_line_, store, receivers_, metrics}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(options.listen_address)));
}

}  // namespace
}  // namespace lockstep
