// What a collector answers over real loopback gRPC: history and captures, in pages and within limits.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/testing/status_matchers.h"
#include "collector/query_service.h"
#include "collector/testing/collector_fixture.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using CollectorQueriesTest = CollectorFixture;

TEST_F(CollectorQueriesTest, HistoryAnswersByMetricHostAndDevice) {
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

TEST_F(CollectorQueriesTest, AGpuIsListedByAllItsNamesAndWithTheTimeAtWhichItTookTheIndexOfAnother) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  wire::AgentReport report = MakeTestReport(1, {.job = "job", .first_rank = 17, .world_size = 32});
  report.mutable_processes(0)->set_gpu_index(3);
  report.add_gpus()->set_index(3);
  report.mutable_gpus(0)->set_uuid("GPU-old");
  report.mutable_gpus(0)->set_pci_address("0000:3b:00.0");
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(1));
  const int64_t before = clock_.WallNanos();
  constexpr int64_t kWaited = 3'600 * kNanosPerSecond;
  report.set_sequence(2);
  report.set_waited_ns(kWaited);
  report.mutable_gpus(0)->set_uuid("GPU-new");
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(2));
  const int64_t after = clock_.WallNanos();
  wire::ListGpusRequest request;
  request.add_hosts("node-1");
  request.set_gpu("0000:3b:00.0");
  wire::ListGpusResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->ListGpus(&context, request, &response).ok());
  ASSERT_EQ(response.gpus_size(), 2);
  const wire::Gpu& old = response.gpus(0);
  const wire::Gpu& now = response.gpus(1);
  EXPECT_EQ(old.uuid(), "GPU-old");
  EXPECT_EQ(old.from_wall_ns(), 0);
  EXPECT_EQ(old.to_wall_ns(), now.from_wall_ns());
  EXPECT_EQ(old.ranks_size(), 0);
  EXPECT_EQ(now.uuid(), "GPU-new");
  EXPECT_EQ(now.index(), 3);
  EXPECT_GE(now.from_wall_ns(), before - kWaited) << "when the agent saw it, not when it told";
  EXPECT_LE(now.from_wall_ns(), after - kWaited);
  ASSERT_EQ(now.ranks_size(), 1);
  EXPECT_EQ(now.ranks(0).job(), "job");
  EXPECT_EQ(now.ranks(0).rank(), 17);
}

TEST_F(CollectorQueriesTest, AGpuThatWasReplacedWhileTheCollectorWasAwayIsAnother) {
  const auto report_of = [](const std::string& uuid) {
    wire::AgentReport report = MakeHostReport(1, 0.5);
    report.add_gpus()->set_uuid(uuid);
    return report;
  };
  {
    TestAgent agent(channel_);
    ASSERT_EQ(agent.Hello("node-1", 7), 0);
    ASSERT_TRUE(agent.Send(ToMessage(report_of("GPU-old"))));
    ASSERT_TRUE(agent.AwaitAck(1));
  }
  collector_->Housekeep();
  collector_->Drain();
  ASSERT_EQ(store_.LoadGpus()->size(), 1u);
  StartCollector();
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 8), 0);
  ASSERT_TRUE(agent.Send(ToMessage(report_of("GPU-new"))));
  ASSERT_TRUE(agent.AwaitAck(1));
  wire::ListGpusResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(query_->ListGpus(&context, {}, &response).ok());
  ASSERT_EQ(response.gpus_size(), 2);
  EXPECT_EQ(response.gpus(0).uuid(), "GPU-old");
  EXPECT_NE(response.gpus(0).to_wall_ns(), 0);
  EXPECT_EQ(response.gpus(1).uuid(), "GPU-new");
}

TEST_F(CollectorQueriesTest, ACaptureIsTheWholeLogInOrderHoweverLong) {
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

TEST_F(CollectorQueriesTest, ATimeOfDayThatIsSetBackHidesNothingOfWhatCameBeforeAndAfter) {
  TestAgent agent(channel_);
  ASSERT_EQ(agent.Hello("node-1", 7), 0);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(2, TestRanks()))));
  ASSERT_TRUE(agent.AwaitAck(2));
  clock_.SetWall(-3'600 * kNanosPerSecond);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(3, 0.75))));
  ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(4, TestRanks()))));
  ASSERT_TRUE(agent.AwaitAck(4));

  wire::GetHistoryRequest history;
  history.set_metric(std::string(FindMetric(Metric::kHostLoad1)->name));
  wire::GetHistoryResponse samples;
  grpc::ClientContext first;
  ASSERT_TRUE(query_->GetHistory(&first, history, &samples).ok());
  ASSERT_EQ(samples.series_size(), 1);
  EXPECT_THAT(samples.series(0).values(), ElementsAre(0.5, 1.5, 0.75, 1.5));

  wire::CaptureRequest capture;
  capture.set_job("train");
  grpc::ClientContext second;
  const auto reader = query_->Capture(&second, capture);
  std::vector<uint64_t> sequences;
  for (wire::CaptureEntry entry; reader->Read(&entry);) {
    if (entry.has_input()) sequences.push_back(entry.input().report().sequence());
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(sequences, ElementsAre(2, 4));
}

TEST_F(CollectorQueriesTest, AHistoryThatIsTooLongForOneAnswerGoesOnWhereTheAnswerEnds) {
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

TEST_F(CollectorQueriesTest, CapturesThatNobodyReadsAreBoundedPerClientAndCostTheOthersNothing) {
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
  // gRPC lets windows grow by what it measures of the connection, up to more than these captures hold.
  grpc::ChannelArguments narrow;
  narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto reader_of_captures = wire::Query::NewStub(grpc::CreateCustomChannel(
      absl::StrCat("127.0.0.1:", collector_->grpc_port()), grpc::InsecureChannelCredentials(), narrow));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<wire::CaptureEntry>>> unread;
  wire::CaptureEntry entry;
  for (size_t i = 0; i < kMaxCapturesOfClient; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    unread.push_back(reader_of_captures->Capture(contexts.back().get(), request));
    ASSERT_TRUE(unread.back()->Read(&entry));
  }
  {
    grpc::ClientContext context;
    const auto refused = query_->Capture(&context, request);
    if (refused->Read(&entry)) context.TryCancel();
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

}  // namespace
}  // namespace lockstep
