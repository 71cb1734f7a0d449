// The whole collector over real loopback gRPC, with history in memory.

#include "collector/collector.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "proto/admin.grpc.pb.h"
#include "proto/place.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class NoReceivers final : public AlertReceivers {
 public:
  std::vector<std::string> names() const override { return {}; }
  void Tell(const IncidentEvent& event, uint64_t number) override {}
  bool TellAgain(const std::string& name, const IncidentEvent& event, uint64_t number) override { return false; }
};

// The time of day and of the machine, put forward by as much as a test wants. Thread-safe.
class ForwardClock final : public Clock {
 public:
  int64_t WallNanos() const override { return RealClock().WallNanos() + forward_ns_.load(); }
  int64_t MonotonicNanos() const override { return RealClock().MonotonicNanos() + forward_ns_.load(); }
  void Forward(int64_t nanos) { forward_ns_ += nanos; }

 private:
  std::atomic<int64_t> forward_ns_{0};
};

class CollectorTest : public testing::Test {
 protected:
  void SetUp() override { StartCollector(); }
  void TearDown() override { store_.set_blocked(false); }

  void StartCollector() {
    collector_.reset();
    CollectorOptions options;
    options.listen_address = "127.0.0.1:0";
    options.http_listen_address = "127.0.0.1:0";
    options.shards = 2;
    options.detector.host_silent = host_silent_;
    metrics_ = std::make_unique<CollectorMetrics>("test");
    auto collector = Collector::Start(options, {clock_, store_, receivers_, *metrics_});
    ASSERT_OK(collector);
    collector_ = *std::move(collector);
    channel_ =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", collector_->grpc_port()), grpc::InsecureChannelCredentials());
    query_ = wire::Query::NewStub(channel_);
  }

  double Dropped(const std::string& reason) {
    for (const prometheus::MetricFamily& family : metrics_->registry()->Collect()) {
      if (family.name != "lockstep_collector_dropped_total") continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (metric.label.at(0).value == reason) return metric.counter.value;
      }
    }
    return 0;
  }

  // Of all shards, since the start.
  uint64_t Evaluations() {
    for (const prometheus::MetricFamily& family : metrics_->registry()->Collect()) {
      if (family.name == "lockstep_collector_detection_duration_seconds") {
        return family.metric.at(0).histogram.sample_count;
      }
    }
    return 0;
  }

  absl::Duration host_silent_ = DetectorSettings().host_silent;
  ForwardClock clock_;
  MemoryStore store_;
  NoReceivers receivers_;
  std::unique_ptr<CollectorMetrics> metrics_;
  std::unique_ptr<Collector> collector_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Query::Stub> query_;
};

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

TEST_F(CollectorTest, StatusNamesSourcesThatFail) {
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
  EXPECT_GE(status.now_wall_ns() - status.failing_sources(0).since_wall_ns(), 40 * kNanosPerSecond);
}

TEST_F(CollectorTest, AHostThatReportedOnceIsMissedAcrossARestartUntilSomebodyForgetsIt) {
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
    ASSERT_TRUE(agent.AwaitAck(1));
  }
  collector_->Housekeep();
  collector_->Drain();
  ASSERT_EQ(store_.LoadHosts()->size(), 1u);
  host_silent_ = absl::Nanoseconds(1);
  StartCollector();
  wire::GetStatusResponse status;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.agents_size(), 0);
  ASSERT_EQ(status.missing_hosts_size(), 1);
  EXPECT_EQ(status.missing_hosts(0).host(), "node-1");
  EXPECT_GT(status.missing_hosts(0).last_report_wall_ns(), 0);

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
}

TEST_F(CollectorTest, HostsOfTheInventoryAreMissedUntilTheyReport) {
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

TEST_F(CollectorTest, AStoreThatHangsHoldsBackAcknowledgementsOnly) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  store_.set_blocked(true);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
  }
  EXPECT_EQ(store_.StoredSequence("node-2", 1).value(), 0u);
  store_.set_blocked(false);
  EXPECT_TRUE(agent.AwaitAck(5));
}

TEST_F(CollectorTest, ASickStoreIsSaidInWordsAndAgentsAreTakenInAllTheSame) {
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

TEST_F(CollectorTest, WhatHangsIsNamedOnceItHasWorkForTooLongAndNothingElseIs) {
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

TEST_F(CollectorTest, HistoryAnswersByMetricHostAndDevice) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  wire::AgentReport report = MakeHostReport(1, 0.5);
  *report.add_metrics() = report.metrics(0);
  report.mutable_metrics(1)->set_device("eth0");
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(1));
  wire::GetHistoryRequest request;
  request.set_metric(std::string(FindMetric(Metric::kHostLoad1)->name));
  for (const auto& [device, answer] : std::map<std::string, std::vector<std::string>>{
           {"", {""}}, {"eth0", {"eth0"}}, {"eth1", {}}, {"*", {"", "eth0"}}}) {
    request.set_device(device);
    wire::GetHistoryResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(query_->GetHistory(&context, request, &response).ok());
    std::vector<std::string> devices;
    for (const wire::Series& series : response.series()) {
      devices.push_back(series.device());
      EXPECT_EQ(series.host(), "node-1");
      EXPECT_EQ(series.values(0), 0.5);
    }
    EXPECT_EQ(devices, answer) << device;
  }
  request.set_metric("no_such_metric");
  wire::GetHistoryResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(query_->GetHistory(&context, request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(CollectorTest, ACaptureIsTheWholeLogInOrderHoweverLong) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  constexpr uint64_t kReports = 1'500;  // several chunks
  for (uint64_t sequence = 1; sequence <= kReports; ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, TestRanks()))));
  }
  ASSERT_TRUE(agent.AwaitAck(kReports));
  wire::CaptureRequest request;
  request.set_job("train");
  grpc::ClientContext context;
  const auto reader = query_->Capture(&context, request);
  wire::CaptureEntry entry;
  uint64_t inputs = 0;
  while (reader->Read(&entry)) {
    if (!entry.has_input()) continue;
    ASSERT_EQ(entry.input().report().sequence(), ++inputs);
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(inputs, kReports);

  request.set_job("unknown");
  grpc::ClientContext second;
  const auto missing = query_->Capture(&second, request);
  EXPECT_FALSE(missing->Read(&entry));
  EXPECT_EQ(missing->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CollectorTest, AHistoryThatIsTooLongForOneAnswerGoesOnWhereTheAnswerEnds) {
  const int64_t now = RealClock().WallNanos();
  StoreBatch batch;
  const int points = static_cast<int>(kHistoryPage.max_points) + 10;
  for (int i = 0; i < points; ++i)
    batch.points.push_back({"node-1", "", Metric::kHostLoad1, now - points + i, 1.0 * i});
  ASSERT_OK(store_.Write(batch));
  wire::GetHistoryRequest request;
  request.set_metric(std::string(FindMetric(Metric::kHostLoad1)->name));
  request.set_to_wall_ns(now);
  wire::GetHistoryResponse first;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->GetHistory(&context, request, &first).ok());
  ASSERT_EQ(first.series_size(), 1);
  EXPECT_EQ(first.series(0).values_size(), static_cast<int>(kHistoryPage.max_points));
  EXPECT_LT(first.ByteSizeLong(), size_t{4} << 20) << "what usual clients accept";
  ASSERT_TRUE(first.has_next());
  EXPECT_EQ(first.next().host(), "node-1");
  EXPECT_EQ(metrics_->queries.cut.Value(), 1);

  *request.mutable_resume() = first.next();
  wire::GetHistoryResponse second;
  grpc::ClientContext again;
  ASSERT_TRUE(query_->GetHistory(&again, request, &second).ok());
  ASSERT_EQ(second.series_size(), 1);
  EXPECT_EQ(second.series(0).values_size(), 10);
  EXPECT_EQ(second.series(0).values(0), static_cast<double>(kHistoryPage.max_points));
  EXPECT_FALSE(second.has_next());
}

TEST_F(CollectorTest, CapturesThatNobodyReadsAreBoundedPerClientAndCostTheOthersNothing) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  TestRanks many;
  many.ranks = 500;
  many.world_size = 500;
  for (uint64_t sequence = 1; sequence <= 40; ++sequence) {
    ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(sequence, many))));
  }
  ASSERT_TRUE(agent.AwaitAck(40));
  wire::CaptureRequest request;
  request.set_job("train");
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<wire::CaptureEntry>>> unread;
  wire::CaptureEntry entry;
  for (size_t i = 0; i < kMaxCapturesOfClient; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    unread.push_back(query_->Capture(contexts.back().get(), request));
    ASSERT_TRUE(unread.back()->Read(&entry));
  }
  {
    grpc::ClientContext context;
    const auto refused = query_->Capture(&context, request);
    EXPECT_FALSE(refused->Read(&entry));
    const grpc::Status status = refused->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(),
                HasSubstr(absl::StrCat("captures are under way, at most ", kMaxCapturesOfClient)));
  }
  EXPECT_EQ(metrics_->queries.refused_client.Value(), 1);
  ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(41, many))));
  EXPECT_TRUE(agent.AwaitAck(41));
  {
    grpc::ClientContext context;
    wire::GetStatusResponse status;
    EXPECT_TRUE(query_->GetStatus(&context, {}, &status).ok()) << "captures take no place of a query";
  }
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& reader : unread) reader->Finish();
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    grpc::ClientContext context;
    const auto reader = query_->Capture(&context, request);
    if (reader->Read(&entry)) {
      context.TryCancel();
      reader->Finish();
      return;
    }
    reader->Finish();
  }
  FAIL() << "the places of captures that have ended are not given back";
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
  options.http_listen_address = "127.0.0.1:0";
  CollectorMetrics metrics("test");
  MemoryStore store;
  EXPECT_THAT(Collector::Start(options, {RealClock(), store, receivers_, metrics}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(options.listen_address)));
}

}  // namespace
}  // namespace lockstep
