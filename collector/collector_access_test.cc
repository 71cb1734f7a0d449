// A collector with keys over real TLS: who gets in, as whom, and what each may do and see.

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metric_catalog.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/access/role.h"
#include "collector/admin_service.h"
#include "collector/collector.h"
#include "collector/collector_options.h"
#include "collector/metrics.h"
#include "collector/store/history_backups.h"
#include "collector/store/rocks_store.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/collector_fixture.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/test_agent.h"
#include "collector/time_line.h"
#include "daemon/settings_reload.h"
#include "daemon/tls/channel_security.h"
#include "daemon/tls/testing/empty_call.h"
#include "daemon/tls/testing/test_keys.h"
#include "proto/admin.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kRules[] = R"yaml(
certificates:
  - {match: "spiffe://example.org/agent/{host}", role: agent}
  - {match: "spiffe://example.org/vision/{host}", role: agent, jobs: [vision-*, resnet]}
  - {match: "cn:viewer", role: viewer}
  - {match: "cn:operator", role: operator}
  - {match: "cn:speaker", role: operator, tenant: speech}
  - {match: "cn:admin", role: admin}
  - {match: "cn:vision", role: viewer, tenant: vision}
tenants:
  vision: [vision-*]
  speech: [speech-*]
)yaml";

class CollectorAccessTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.listen_address = "127.0.0.1:0";
    options_.pages.address = "127.0.0.1:0";
    options_.tls = authority_.Issue("collector", "collector", "IP:127.0.0.1");
    options_.access_rules = directory_.Write("access.yaml", kRules).string();
    Start();
  }

  void Start() {
    collector_.reset();
    auto collector = Collector::Start(options_, {clock_, time_line_, store_, receivers_, metrics_});
    ASSERT_OK(collector);
    collector_ = *std::move(collector);
  }

  std::shared_ptr<grpc::Channel> Connect(const TlsFiles& files) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials = MakeChannelCredentials({files, ""}, arguments);
    EXPECT_OK(credentials);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", collector_->grpc_port()), *credentials, arguments);
  }
  std::shared_ptr<grpc::Channel> ConnectAs(const std::string& common_name) {
    return Connect(authority_.Issue(common_name, common_name, ""));
  }
  std::shared_ptr<grpc::Channel> ConnectAgent(const std::string& host) {
    return Connect(authority_.Issue("agent-" + host, "agent", "URI:spiffe://example.org/agent/" + host));
  }

  // How a method is answered that gets an empty message. One that is let in may fail in any other way.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, absl::string_view method) {
    std::string path = absl::StrCat("/", method);
    path[path.rfind('.')] = '/';
    return CallWithNothing(channel, path);
  }

  double Metric(const std::string& name, const std::string& label) {
    for (const prometheus::MetricFamily& family : metrics_.registry()->Collect()) {
      if (family.name != name) continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (metric.label.at(0).value == label) return metric.counter.value;
      }
    }
    return 0;
  }

  grpc::Status Acknowledge(const std::string& who, uint64_t id, const std::string& note, wire::Incident* now) {
    grpc::ClientContext context;
    wire::AcknowledgeRequest request;
    request.set_incident(id);
    request.set_note(note);
    return wire::Admin::NewStub(ConnectAs(who))->Acknowledge(&context, request, now);
  }

  wire::ListAuditResponse Audit(const std::string& who, const wire::ListAuditRequest& request) {
    grpc::ClientContext context;
    wire::ListAuditResponse response;
    const grpc::Status status = wire::Admin::NewStub(ConnectAs(who))->ListAudit(&context, request, &response);
    EXPECT_EQ(status.ok(), who == "admin") << status.error_message();
    return response;
  }

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

  static bool IsRefusal(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
           status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
  }

  TemporaryDirectory directory_;
  TestAuthority authority_{directory_.path(), "fleet"};
  CollectorOptions options_;
  ForwardClock clock_;
  TimeLine time_line_{clock_};
  MemoryStore store_;
  NoReceivers receivers_;
  CollectorMetrics metrics_{"test"};
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorAccessTest, EveryMethodAsksWhoCalls) {
  const auto stranger = ConnectAs("stranger");
  for (const MethodRole& row : MethodRoles()) {
    const grpc::Status status = Call(stranger, row.method);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << row.method << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("no rule fits the certificate of stranger"));
  }
  EXPECT_EQ(Metric("lockstep_collector_calls_refused_total", "unknown"), MethodRoles().size());
}

TEST_F(CollectorAccessTest, EveryMethodIsForThoseWhoseRoleSuffices) {
  const std::pair<const char*, Role> people[] = {
      {"viewer", Role::kViewer}, {"operator", Role::kOperator}, {"admin", Role::kAdmin}};
  for (const auto& [name, role] : people) {
    const auto channel = ConnectAs(name);
    for (const MethodRole& row : MethodRoles()) {
      const grpc::Status status = Call(channel, row.method);
      EXPECT_EQ(IsRefusal(status), !Suffices(role, row.least)) << name << " " << row.method << status.error_message();
    }
  }
  const auto agent = ConnectAgent("node-1");
  for (const MethodRole& row : MethodRoles()) {
    if (row.least == Role::kAgent) continue;
    EXPECT_TRUE(IsRefusal(Call(agent, row.method))) << row.method;
  }
  EXPECT_THAT(Call(agent, "lockstep.wire.Query.ListJobs").error_message(),
              HasSubstr("agent/node-1 has the role agent; this needs the role viewer"));
  EXPECT_GT(Metric("lockstep_collector_calls_refused_total", "role"), 0);
}

TEST_F(CollectorAccessTest, WithoutACertificateThereIsNoConnection) {
  EXPECT_EQ(Call(Connect({"", "", authority_.path()}), "lockstep.wire.Query.ListJobs").error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(Connect({}), "lockstep.wire.Query.ListJobs").error_code(), grpc::StatusCode::UNAVAILABLE);
  TestAuthority other(directory_.path(), "other");
  TlsFiles forged = other.Issue("forged", "admin", "");
  forged.authorities = authority_.path();
  EXPECT_EQ(Call(Connect(forged), "lockstep.wire.Query.ListJobs").error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CollectorAccessTest, AnAgentReportsForItsOwnHostOnly) {
  const auto channel = ConnectAgent("node-1");
  TestAgent own(channel);
  ASSERT_EQ(own.Hello("node-1", 7), 0);
  ASSERT_TRUE(own.Send(ToMessage(MakeHostReport(1, 0.5))));
  EXPECT_TRUE(own.AwaitAck(1));
  TestAgent foreign(channel);
  EXPECT_EQ(foreign.Hello("node-2", 8), -1);
  const grpc::Status status = foreign.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("may not report for the host node-2"), HasSubstr("node-1"), Not(HasSubstr("\n"))));
  EXPECT_EQ(Metric("lockstep_collector_streams_rejected_total", "foreign_host"), 1);
  EXPECT_TRUE(own.Send(ToMessage(MakeHostReport(2, 0.5)))) << "the other stream is not touched";
  EXPECT_TRUE(own.AwaitAck(2));
}

TEST_F(CollectorAccessTest, AnAgentIsBelievedOfTheJobsThatItsRuleNames) {
  TestAgent agent(Connect(authority_.Issue("vision-1", "agent", "URI:spiffe://example.org/vision/node-1")));
  ASSERT_EQ(agent.Hello("node-1", 1), 0);
  wire::AgentReport report = MakeTestReport(1, {.job = "speech-1"});
  for (const char* job : {"vision-1", "resnet", "resnet-2", ""}) {
    *report.add_processes() = report.processes(0);
    report.mutable_processes()->rbegin()->set_job(job);
  }
  ASSERT_TRUE(agent.Send(ToMessage(report)));
  ASSERT_TRUE(agent.AwaitAck(1));
  std::vector<std::string> stored;
  for (const wire::CaptureEntry& entry : store_.log()) {
    for (const wire::ProcessReport& process : entry.input().report().processes()) stored.push_back(process.job());
  }
  EXPECT_THAT(stored, UnorderedElementsAre("vision-1", "resnet", ""));
  EXPECT_EQ(Metric("lockstep_collector_dropped_total", "foreign_job"), 2);

  ASSERT_TRUE(agent.Send(ToMessage(MakeTestReport(2, {.job = "speech-1"}))));
  EXPECT_TRUE(agent.AwaitAck(2)) << "what it says of its host is taken";
  directory_.Write("access.yaml", "certificates: [{match: 'spiffe://example.org/vision/{host}', role: agent}]\n");
  collector_->Housekeep();
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED) << "it is asked anew";
}

TEST_F(CollectorAccessTest, AnAgentThatIsBelievedOfSomeJobsDrawsNobodyIntoThem) {
  const auto member_of = [](const std::string& job) {
    wire::AgentReport report = MakeTestReport(1, {.job = job});
    wire::ProcessReport& process = *report.mutable_processes(0);
    process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
    process.set_uid(1000);  // whatever it says
    return report;
  };
  TestAgent vision(Connect(authority_.Issue("vision-1", "agent", "URI:spiffe://example.org/vision/node-1")));
  TestAgent other(ConnectAgent("node-2"));
  ASSERT_EQ(vision.Hello("node-1", 1), 0);
  ASSERT_EQ(other.Hello("node-2", 2), 0);
  ASSERT_TRUE(vision.Send(ToMessage(member_of("vision-1"))));
  ASSERT_TRUE(vision.AwaitAck(1));
  const std::string own = "nccl-0000000000c0ffee";  // the communicator of these reports
  ASSERT_TRUE(other.Send(ToMessage(member_of(own))));
  ASSERT_TRUE(other.AwaitAck(1));
  std::vector<std::string> stored;
  for (const wire::CaptureEntry& entry : store_.log()) {
    for (const wire::ProcessReport& process : entry.input().report().processes()) stored.push_back(process.job());
  }
  EXPECT_THAT(stored, UnorderedElementsAre("vision-1", own));
}

TEST_F(CollectorAccessTest, ATenantSeesItsJobsAndTheirHostsAlone) {
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
TEST_F(CollectorAccessTest, ATenantSeesOfAHostItsTimeItsGpusAndItsProcesses) {
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

TEST_F(CollectorAccessTest, AStatusTellsATenantOfItsHostsAndIncidentsAlone) {
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

TEST_F(CollectorAccessTest, ATenantSeesNoIncidentOfOthers) {
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

TEST_F(CollectorAccessTest, ChangedRulesCountFromTheNextCallOn) {
  const auto alice = ConnectAs("alice");
  EXPECT_TRUE(IsRefusal(Call(alice, "lockstep.wire.Query.ListJobs")));
  directory_.Write("access.yaml", "certificates: [{match: 'cn:alice', role: viewer}]\n");
  collector_->Housekeep();
  EXPECT_TRUE(Call(alice, "lockstep.wire.Query.ListJobs").ok());
  directory_.Write("access.yaml", "certificates: []\n");
  EXPECT_OK(collector_->ReloadAccess());
  EXPECT_TRUE(IsRefusal(Call(alice, "lockstep.wire.Query.ListJobs")));
}

TEST_F(CollectorAccessTest, StreamsOfAgentsThatAreLetInNoMoreEnd) {
  collector_->Housekeep();
  TestAgent stays(ConnectAgent("node-1"));
  TestAgent goes(ConnectAgent("node-2"));
  ASSERT_EQ(stays.Hello("node-1", 1), 0);
  ASSERT_EQ(goes.Hello("node-2", 2), 0);
  directory_.Write("access.yaml",
                   "certificates: [{match: 'spiffe://example.org/agent/node-2', role: viewer},\n"
                   " {match: 'spiffe://example.org/agent/{host}', role: agent}]\n");
  collector_->Housekeep();
  EXPECT_EQ(goes.AwaitEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Metric("lockstep_collector_streams_rejected_total", "revoked"), 1);
  ASSERT_TRUE(stays.Send(ToMessage(MakeHostReport(1, 0.5))));
  EXPECT_TRUE(stays.AwaitAck(1));
}

TEST_F(CollectorAccessTest, WhoChangesWhatIsKept) {
  options_.audit_file = directory_.Write("audit.log", "before\n").string();
  Start();
  ASSERT_OK(SetLogThreshold("error"));
  testing::internal::CaptureStderr();
  const auto admin = wire::Admin::NewStub(ConnectAs("admin"));
  wire::ForgetHostRequest request;
  request.set_host("node\n1");
  wire::ForgetHostResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(admin->ForgetHost(&context, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_OK(SetLogThreshold("info"));
  std::stringstream file;
  file << std::ifstream(options_.audit_file).rdbuf();
  const std::string kept = file.str();
  EXPECT_THAT(kept, ContainsRegex("^before\nlevel=info at=[^ ]+ msg=\"audit\" action=forget_host "
                                  "of=\"node.*1\" by=\"certificate admin\" from=ipv4:127.* outcome=.*node"));
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 2) << "a name forges no line";
  EXPECT_THAT(log, HasSubstr("msg=\"audit\"")) << "whatever the level of the log";
  options_.audit_file = directory_.path();
  EXPECT_THAT(Collector::Start(options_, {clock_, time_line_, store_, receivers_, metrics_}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be appended to")));
}

TEST_F(CollectorAccessTest, FilesThatSayWhoGetsInAreInTheAuditWheneverTheyChange) {
  const auto kept = [&] {
    std::vector<std::string> lines;
    const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
    for (const wire::AuditRecord& record : records) {
      if (record.action() != "refused_call") lines.push_back(absl::StrCat(record.action(), " ", record.from()));
    }
    return lines;
  };
  const auto await = [&](size_t count) {
    while (kept().size() < count) StopSignal().WaitFor(kNanosPerMilli);
  };
  collector_->Housekeep();
  await(2);
  EXPECT_THAT(kept(), UnorderedElementsAre("change_access_rules file, found at the start",
                                           "change_authorities file, found at the start"));
  const std::string before = store_.LoadAudit()->at(0).of();
  directory_.Write("access.yaml", absl::StrCat(kRules, "# another\n"));
  collector_->Housekeep();
  collector_->Housekeep();
  await(3);
  const wire::AuditRecord newest = store_.LoadAudit()->at(0);
  EXPECT_THAT(newest.of(), ContainsRegex("access.yaml sha256:[0-9a-f]{64}$"));
  EXPECT_NE(newest.of(), before);
  EXPECT_EQ(newest.by(), "") << "who writes files is not known";

  directory_.Write("access.yaml", "tokens: nonsense\n");
  collector_->Housekeep();
  directory_.Write("access.yaml", absl::StrCat(kRules, "# another\n"));
  Start();
  collector_->Housekeep();
  collector_.reset();  // waits for what is to be kept
  EXPECT_EQ(kept().size(), 3u) << "neither what was not taken on nor a start with the same files";
  directory_.Write("access.yaml", kRules);
  Start();
  collector_->Housekeep();
  collector_.reset();
  EXPECT_EQ(kept().size(), 4u) << "a change while nobody looked";
  EXPECT_EQ(kept().at(0), "change_access_rules file, found at the start");
}

TEST_F(CollectorAccessTest, WhatAReloadCameToIsInTheAudit) {
  collector_->NoteReload({}, 7);
  collector_->NoteReload({.applied = {"log_level", "webhook_url"}, .need_restart = {"shards"}}, 7);
  collector_->NoteReload({.problems = {"collector.yaml:2: shards: must be from 1 to 64"}}, 8);
  collector_.reset();
  const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
  ASSERT_EQ(records.size(), 2u) << "what changes nothing is no change";
  EXPECT_EQ(records[1].action(), "reload_settings");
  EXPECT_EQ(records[1].of(), "applied: log_level webhook_url; need a restart: shards");
  EXPECT_EQ(records[1].by(), "uid 7");
  EXPECT_EQ(records[1].outcome(), "ok");
  EXPECT_THAT(records[0].outcome(), HasSubstr("must be from 1 to 64"));
}

TEST_F(CollectorAccessTest, BackupsAreForAdminsAreCountedAndKeptLikeOtherChanges) {
  options_.audit_file = directory_.Write("audit.log", "").string();
  const auto history = OpenRocksStore({.directory = directory_.path() / "history"}, clock_);
  ASSERT_OK(history);
  HistoryBackups backups({.directory = directory_.path() / "backups"}, **history, clock_);
  collector_.reset();
  auto collector = Collector::Start(options_, {clock_, time_line_, **history, receivers_, metrics_, &backups});
  ASSERT_OK(collector);
  collector_ = *std::move(collector);
  EXPECT_EQ(Call(ConnectAs("operator"), "lockstep.wire.Admin.Backup").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  const auto admin = wire::Admin::NewStub(ConnectAs("admin"));
  grpc::ClientContext context;
  wire::BackupResponse response;
  ASSERT_TRUE(admin->Backup(&context, {}, &response).ok());
  EXPECT_THAT(response.directory(), HasSubstr("/backups/history-"));
  EXPECT_OK(OpenRocksStore({.directory = response.directory()}, clock_));
  EXPECT_EQ(Metric("lockstep_collector_backups_total", "ok"), 1);
  std::stringstream file;
  file << std::ifstream(options_.audit_file).rdbuf();
  EXPECT_THAT(file.str(), HasSubstr("action=backup of=" + response.directory() + " by=\"certificate admin\""));
  collector_.reset();
}

TEST_F(CollectorAccessTest, OperatorsAcknowledgeIncidentsDurablyAndAdminsSeeWhoDid) {
  const auto history = OpenRocksStore({.directory = directory_.path() / "history"}, clock_);
  ASSERT_OK(history);
  wire::Incident incident;
  incident.set_id(7);
  incident.set_job("vision-1");
  incident.set_key("cause");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(clock_.WallNanos());
  ASSERT_OK((*history)->PutIncident(incident));
  const auto start = [&] {
    collector_.reset();
    auto collector = Collector::Start(options_, {clock_, time_line_, **history, receivers_, metrics_});
    ASSERT_OK(collector);
    collector_ = *std::move(collector);
    while (!collector_->Ready().ok()) StopSignal().WaitFor(kNanosPerMilli);
  };
  start();
  wire::Incident now;
  EXPECT_EQ(Acknowledge("viewer", 7, "", &now).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Acknowledge("speaker", 7, "", &now).error_code(), grpc::StatusCode::NOT_FOUND) << "of another tenant";
  EXPECT_EQ(Acknowledge("operator", 8, "", &now).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Acknowledge("operator", 7, "two\nlines", &now).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Acknowledge("operator", 7, std::string(kMaxNoteBytes + 1, 'x'), &now).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  const grpc::Status done = Acknowledge("operator", 7, "drained", &now);
  ASSERT_TRUE(done.ok()) << done.error_message();
  EXPECT_EQ(now.acknowledgement().by(), "certificate operator");
  EXPECT_EQ((*history)->LoadIncidents()->at(0).acknowledgement().note(), "drained") << "before it is answered";

  start();
  grpc::ClientContext show_context;
  wire::GetIncidentRequest show;
  show.set_id(7);
  wire::Incident shown;
  ASSERT_TRUE(wire::Query::NewStub(ConnectAs("viewer"))->GetIncident(&show_context, show, &shown).ok());
  EXPECT_EQ(shown.acknowledgement().SerializeAsString(), now.acknowledgement().SerializeAsString());

  EXPECT_EQ(Audit("operator", {}).records_size(), 0);
  wire::ListAuditRequest request;
  std::vector<std::string> lines;
  while (lines.size() < 7) {  // refusals are written soon
    lines.clear();
    const wire::ListAuditResponse kept = Audit("admin", request);
    for (const wire::AuditRecord& record : kept.records()) {
      lines.push_back(absl::StrCat(record.action(), "|", record.of(), "|", record.by(), "|", record.outcome()));
    }
  }
  EXPECT_THAT(lines, ElementsAre(HasSubstr("refused_call|lockstep.wire.Admin.ListAudit||certificate operator has the"),
                                 "acknowledge|incident 7|certificate operator|ok", HasSubstr("|note"),
                                 HasSubstr("|note"), HasSubstr("incident 8|certificate operator|no incident 8"),
                                 HasSubstr("incident 7|certificate speaker|no incident 7"),
                                 HasSubstr("refused_call|lockstep.wire.Admin.Acknowledge||certificate viewer has")));
  request.set_limit(2);
  EXPECT_EQ(Audit("admin", request).left_out(), 5u);
  request.set_since_wall_ns(clock_.WallNanos() + kNanosPerSecond);
  EXPECT_EQ(Audit("admin", request).records_size(), 0);
  collector_.reset();
}

TEST_F(CollectorAccessTest, ACollectorWithoutAPlaceForBackupsSaysSo) {
  const grpc::Status status = Call(ConnectAs("admin"), "lockstep.wire.Admin.Backup");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("keeps no history to back up"));
}

TEST_F(CollectorAccessTest, TheProbeOfTheStreamsIsNoStranger) {
  for (int i = 0; i < 3; ++i) collector_->Housekeep();
  EXPECT_OK(collector_->Moving());
  EXPECT_EQ(Metric("lockstep_collector_calls_refused_total", "unknown"), 0);
}

TEST_F(CollectorAccessTest, KeysAndRulesThatLetNobodyInAreRefusedAtTheStart) {
  const auto start = [this] {
    return Collector::Start(options_, {clock_, time_line_, store_, receivers_, metrics_}).status();
  };
  options_.tls.authorities.clear();
  EXPECT_THAT(start(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nobody could get in")));
  options_.tls.key = options_.tls.certificate;
  directory_.Write("access.yaml", "tokens: [{name: a, hash: '$5$a$b', role: viewer}]\n");
  EXPECT_THAT(start(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("holds no private key")));
  directory_.Write("access.yaml", "tokens: 1\n");
  EXPECT_THAT(start(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("access.yaml: line 1")));
}

}  // namespace
}  // namespace lockstep
