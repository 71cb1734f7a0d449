// What a tenant sees of a collector that others use as well: its jobs, its incidents, and its share of machines.

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/secured_collector.h"
#include "collector/testing/test_agent.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::IsSubsetOf;
using ::testing::Not;
using ::testing::SizeIs;

class CollectorTenantsTest : public SecuredCollector {
 protected:
  // Of all devices, "DEVICE/VALUE" each.
  static std::pair<grpc::Status, std::vector<std::string>> History(wire::Query::Stub& query, const std::string& metric,
                                                                   const std::string& host) {
    grpc::ClientContext context;
    wire::GetHistoryRequest request;
    request.set_metric(metric);
    request.set_host(host);
    request.set_device("*");
    wire::GetHistoryResponse response;
    const grpc::Status status = query.GetHistory(&context, request, &response);
    std::vector<std::string> points;
    for (const wire::Series& series : response.series()) {
      for (const double value : series.values()) points.push_back(absl::StrCat(series.device(), "/", value));
    }
    return {status, points};
  }

  // "INDEX JOB:RANK" of each.
  static std::vector<std::string> Gpus(wire::Query::Stub& query) {
    grpc::ClientContext context;
    wire::ListGpusResponse response;
    EXPECT_TRUE(query.ListGpus(&context, {}, &response).ok());
    std::vector<std::string> rows;
    for (const wire::Gpu& gpu : response.gpus()) {
      std::string& row = rows.emplace_back(absl::StrCat(gpu.index()));
      for (const wire::GpuRank& rank : gpu.ranks()) absl::StrAppend(&row, " ", rank.job(), ":", rank.rank());
    }
    return rows;
  }
};

TEST_F(CollectorTenantsTest, ATenantSeesItsJobsAndTheirHostsAlone) {
  TestAgent vision(ConnectAgent("node-1"));
  TestAgent speech(ConnectAgent("node-2"));
  ASSERT_EQ(vision.Hello("node-1", 1), 0);
  ASSERT_EQ(speech.Hello("node-2", 2), 0);
  ASSERT_TRUE(vision.Send(ToMessage(MakeTestReport(1, {.job = "vision-1"}))));
  ASSERT_TRUE(speech.Send(ToMessage(MakeTestReport(1, {.job = "speech-1"}))));
  ASSERT_TRUE(vision.AwaitAck(1) && speech.AwaitAck(1));
  const auto everybody = wire::Query::NewStub(ConnectAs("viewer"));
  const auto tenant = wire::Query::NewStub(ConnectAs("vision"));
  const auto jobs = [](wire::Query::Stub& query) {
    grpc::ClientContext context;
    wire::ListJobsResponse response;
    EXPECT_TRUE(query.ListJobs(&context, {}, &response).ok());
    std::vector<std::string> names;
    for (const wire::Job& job : response.jobs()) names.push_back(job.job());
    return names;
  };
  while (jobs(*everybody).size() < 2) StopSignal().WaitFor(50 * kNanosPerMilli);
  EXPECT_EQ(jobs(*tenant), std::vector<std::string>({"vision-1"}));

  const auto ranks = [&](const std::string& job) {
    grpc::ClientContext context;
    wire::ListRanksRequest request;
    request.set_job(job);
    wire::ListRanksResponse response;
    return tenant->ListRanks(&context, request, &response).error_code();
  };
  EXPECT_EQ(ranks("vision-1"), grpc::StatusCode::OK);
  EXPECT_EQ(ranks("speech-1"), grpc::StatusCode::NOT_FOUND);

  grpc::ClientContext status_context;
  wire::GetStatusResponse status;
  ASSERT_TRUE(tenant->GetStatus(&status_context, {}, &status).ok());
  ASSERT_EQ(status.agents_size(), 1);
  EXPECT_EQ(status.agents(0).host(), "node-1");

  const auto history = [&](const std::string& host) { return History(*tenant, "host_load1", host).first.error_code(); };
  EXPECT_EQ(history("node-1"), grpc::StatusCode::OK);
  EXPECT_EQ(history("node-2"), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(history("no-such-node"), grpc::StatusCode::NOT_FOUND) << "what others have looks like what nobody has";
  EXPECT_EQ(history(""), grpc::StatusCode::PERMISSION_DENIED);

  const auto capture = [&](const std::string& job) {
    grpc::ClientContext context;
    wire::CaptureRequest request;
    request.set_job(job);
    const auto reader = tenant->Capture(&context, request);
    wire::CaptureEntry entry;
    while (reader->Read(&entry)) {
    }
    return reader->Finish().error_code();
  };
  EXPECT_EQ(capture("vision-1"), grpc::StatusCode::OK);
  EXPECT_EQ(capture("speech-1"), grpc::StatusCode::NOT_FOUND);
}

// One machine, first used by one tenant, then by two.
TEST_F(CollectorTenantsTest, ATenantSeesOfAHostItsTimeItsGpusAndItsProcesses) {
  TestAgent agent(ConnectAgent("node-1"));
  ASSERT_EQ(agent.Hello("node-1", 1), 0);
  const auto add_gpu = [](int gpu, int64_t monotonic_ns, wire::AgentReport& report) {
    wire::MetricBlock& block = *report.add_metrics();
    block.set_device(absl::StrCat("gpu", gpu));
    block.set_monotonic_ns(monotonic_ns);
    block.add_metrics(static_cast<uint32_t>(Metric::kGpuTemperatureCelsius));
    block.add_values(40 + gpu);
  };
  const auto send = [&](uint64_t sequence, const std::vector<std::string>& jobs) {
    wire::AgentReport report = MakeHostReport(sequence, static_cast<double>(sequence));
    for (int gpu = 0; gpu < 2; ++gpu) report.add_gpus()->set_index(gpu);
    for (size_t i = 0; i < jobs.size(); ++i) {
      *report.add_processes() = MakeTestReport(1, {.job = jobs[i], .first_rank = static_cast<int>(i)}).processes(0);
      report.mutable_processes(static_cast<int>(i))->set_gpu_index(static_cast<int>(i));
      add_gpu(static_cast<int>(i), report.monotonic_ns(), report);
    }
    wire::KernelEvent& event = *report.add_kernel_events();
    event.set_kind(wire::KernelEvent::KIND_OUT_OF_MEMORY);
    event.set_pid(1'000);  // of the first job
    event.set_text("Killed process 1000 (secret)");
    ASSERT_TRUE(agent.Send(ToMessage(report)));
    ASSERT_TRUE(agent.AwaitAck(sequence));
  };
  const auto everybody = wire::Query::NewStub(ConnectAs("viewer"));
  const auto tenant = wire::Query::NewStub(ConnectAs("vision"));
  send(1, {"speech-1"});
  send(2, {"speech-1"});
  for (uint64_t sequence = 3; sequence <= 5; ++sequence) send(sequence, {"speech-1", "vision-1"});
  // The first report of a job may be a moment older than its being seen.
  const std::vector<std::string> loads = {"/1", "/2", "/3", "/4", "/5"};
  EXPECT_EQ(History(*everybody, "host_load1", "node-1").second, loads);
  std::vector<std::string> own;
  while (own.empty() || own.back() != "/5") {
    StopSignal().WaitFor(50 * kNanosPerMilli);
    own = History(*tenant, "host_load1", "node-1").second;
  }
  EXPECT_THAT(own, AllOf(IsSubsetOf(loads), Contains("/4"), Not(Contains("/1")), Not(Contains("/2"))))
      << "from when its job came on";
  const std::string temperature(FindMetric(Metric::kGpuTemperatureCelsius)->name);
  EXPECT_THAT(History(*everybody, temperature, "node-1").second, AllOf(Contains("gpu0/40"), Contains("gpu1/41")));
  EXPECT_THAT(History(*tenant, temperature, "node-1").second, AllOf(SizeIs(own.size()), Each("gpu1/41")));

  EXPECT_EQ(Gpus(*everybody), std::vector<std::string>({"0 speech-1:0", "1 vision-1:1"}));
  EXPECT_EQ(Gpus(*tenant), std::vector<std::string>({"1 vision-1:1"}));

  const auto capture = [](wire::Query::Stub& query) {
    grpc::ClientContext context;
    wire::CaptureRequest request;
    request.set_job("vision-1");
    const auto reader = query.Capture(&context, request);
    wire::CaptureInput input;
    for (wire::CaptureEntry entry; reader->Read(&entry);) {
      if (entry.has_input()) input = entry.input();
    }
    EXPECT_TRUE(reader->Finish().ok());
    return std::pair(input.report().metrics_size(), input.report().kernel_events_size());
  };
  EXPECT_EQ(capture(*everybody), std::pair(3, 1)) << "load and two GPUs; the kernel";
  EXPECT_EQ(capture(*tenant), std::pair(2, 0));
}

TEST_F(CollectorTenantsTest, AStatusTellsATenantOfItsHostsAndIncidentsAlone) {
  wire::Incident incident;
  incident.set_state(wire::Incident::STATE_OPEN);
  for (const char* job : {"vision-1", "speech-1", "speech-2"}) {
    incident.set_id(incident.id() + 1);
    incident.set_job(job);
    incident.set_key(job);
    ASSERT_OK(store_.PutIncident(incident));
  }
  Start();
  TestAgent vision(ConnectAgent("node-1"));
  TestAgent speech(ConnectAgent("node-2"));
  ASSERT_EQ(vision.Hello("node-1", 1), 0);
  ASSERT_EQ(speech.Hello("node-2", 2), 0);
  for (const auto& [agent, job] : {std::pair(&vision, "vision-1"), std::pair(&speech, "speech-1")}) {
    wire::AgentReport report = MakeTestReport(1, {.job = job});
    report.add_sources()->set_name("nvml");
    report.mutable_sources(0)->set_failing_ns(kNanosPerSecond);
    ASSERT_TRUE(agent->Send(ToMessage(report)));
    ASSERT_TRUE(agent->AwaitAck(1));
  }
  collector_->Housekeep();
  clock_.Forward(2 * absl::ToInt64Nanoseconds(options_.detector.host_silent));
  const auto status = [&](const std::string& who) {
    grpc::ClientContext context;
    wire::GetStatusResponse response;
    EXPECT_TRUE(wire::Query::NewStub(ConnectAs(who))->GetStatus(&context, {}, &response).ok());
    return response;
  };
  while (status("vision").agents_size() == 0) StopSignal().WaitFor(50 * kNanosPerMilli);
  const wire::GetStatusResponse all = status("viewer");
  const wire::GetStatusResponse own = status("vision");
  EXPECT_EQ(all.open_incidents(), 3u);
  EXPECT_EQ(own.open_incidents(), 1u);
  ASSERT_EQ(all.failing_sources_size(), 2);
  ASSERT_EQ(own.failing_sources_size(), 1);
  EXPECT_EQ(own.failing_sources(0).host(), "node-1");
  ASSERT_EQ(all.missing_hosts_size(), 2);
  ASSERT_EQ(own.missing_hosts_size(), 1);
  EXPECT_EQ(own.missing_hosts(0).host(), "node-1");
}

TEST_F(CollectorTenantsTest, ATenantSeesNoIncidentOfOthers) {
  wire::Incident incident;
  for (const char* job : {"vision-1", "speech-1", ""}) {
    incident.set_id(incident.id() + 1);
    incident.set_job(job);
    ASSERT_OK(store_.PutIncident(incident));
  }
  Start();
  const auto tenant = wire::Query::NewStub(ConnectAs("vision"));
  grpc::ClientContext context;
  wire::ListIncidentsResponse response;
  ASSERT_TRUE(tenant->ListIncidents(&context, {}, &response).ok());
  ASSERT_EQ(response.incidents_size(), 1);
  EXPECT_EQ(response.incidents(0).job(), "vision-1");
  for (uint64_t id = 1; id <= 3; ++id) {
    grpc::ClientContext one;
    wire::GetIncidentRequest request;
    request.set_id(id);
    wire::Incident found;
    EXPECT_EQ(tenant->GetIncident(&one, request, &found).ok(), id == 1) << id;
  }
}

}  // namespace
}  // namespace lockstep
