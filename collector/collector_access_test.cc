// Who gets into a collector with keys, as whom, and what each may do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/access/role.h"
#include "collector/access/testing/signed_tokens.h"
#include "collector/collector.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/secured_collector.h"
#include "collector/testing/test_agent.h"
#include "daemon/tls/testing/test_keys.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CollectorAccessTest : public SecuredCollector {};

TEST_F(CollectorAccessTest, EveryMethodAsksWhoCalls) {
  const auto stranger = ConnectAs("stranger");
  for (const MethodRole& row : MethodRoles()) {
    const grpc::Status status = Call(stranger, row.method);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << row.method << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("no rule fits the certificate of stranger"));
  }
  EXPECT_EQ(Counter("lockstep_collector_calls_refused_total", "unknown"), MethodRoles().size());
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
  EXPECT_GT(Counter("lockstep_collector_calls_refused_total", "role"), 0);
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
  EXPECT_EQ(Counter("lockstep_collector_streams_rejected_total", "foreign_host"), 1);
  EXPECT_TRUE(own.Send(ToMessage(MakeHostReport(2, 0.5)))) << "the other stream is not touched";
  EXPECT_TRUE(own.AwaitAck(2));
}

TEST_F(CollectorAccessTest, AnAgentMayShowATokenThatNamesItsHost) {
  const SigningKey key = MakeRsaKey("a");
  const std::string keys = directory_.Write("jwks.json", KeySetOf(key)).string();
  const std::string rules = absl::StrCat(kSecuredRules, R"yaml(
oidc:
  issuer: https://kubernetes.default.svc.cluster.local
  audience: lockstep
  keys: )yaml",
                                         keys, R"yaml(
  rules:
    - {claim: sub, value: "system:serviceaccount:lockstep:lockstep-agent", role: agent,
       host_claim: kubernetes.io.node.name}
)yaml");
  directory_.Write("access.yaml", rules);
  Start();
  const int64_t later_s = clock_.WallNanos() / kNanosPerSecond + 600;
  const auto token = [&](const char* account) {
    return absl::StrCat("Bearer ", SignToken(key, "RS256", ClaimsOfPod(account, "node-1", later_s), "a"));
  };
  const auto without_certificate = Connect({"", "", authority_.path()});
  TestAgent agent(without_certificate, token("lockstep-agent"));
  ASSERT_EQ(agent.Hello("node-1", 1), 0);
  TestAgent with_both(ConnectAgent("node-2"), token("lockstep-agent"));
  EXPECT_EQ(with_both.Hello("node-2", 2), -1);
  EXPECT_THAT(with_both.AwaitEnd().error_message(), AllOf(HasSubstr("lockstep-agent of https://kubernetes"),
                                                          HasSubstr("may not report for the host node-2")));
  TestAgent other(without_certificate, token("someone-else"));
  EXPECT_EQ(other.Hello("node-1", 3), -1);
  EXPECT_EQ(other.AwaitEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);

  directory_.Write("access.yaml", absl::StrCat(rules, "# the same in other words\n"));
  clock_.SetWall(3'600 * kNanosPerSecond);
  collector_->Housekeep();
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  EXPECT_TRUE(agent.AwaitAck(1)) << "it was let in while its token counted";
  directory_.Write("access.yaml", kSecuredRules);
  collector_->Housekeep();
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);
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
  EXPECT_EQ(Counter("lockstep_collector_dropped_total", "foreign_job"), 2);

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
  EXPECT_EQ(Counter("lockstep_collector_streams_rejected_total", "revoked"), 1);
  ASSERT_TRUE(stays.Send(ToMessage(MakeHostReport(1, 0.5))));
  EXPECT_TRUE(stays.AwaitAck(1));
}

TEST_F(CollectorAccessTest, AnOldConnectionEndsAndWhoComesAgainShowsACertificateAgain) {
  const auto believe = [this](const TestAuthority& authority) {
    std::stringstream text;
    text << std::ifstream(authority.path()).rdbuf();
    return directory_.Write("clients.crt", text.str()).string();
  };
  options_.tls.authorities = believe(authority_);
  options_.tls_max_connection_age = absl::Milliseconds(100);
  Start();
  const auto channel = ConnectAgent("node-1");
  TestAgent agent(channel);
  ASSERT_EQ(agent.Hello("node-1", 1), 0);
  ASSERT_TRUE(agent.Send(ToMessage(MakeHostReport(1, 0.5))));
  ASSERT_TRUE(agent.AwaitAck(1));
  believe(TestAuthority(directory_.path(), "other"));
  collector_->Housekeep();
  EXPECT_FALSE(agent.AwaitEnd().ok()) << "nothing else ends it";
  TestAgent withdrawn(channel);
  EXPECT_EQ(withdrawn.Hello("node-1", 1), -1);
  EXPECT_EQ(withdrawn.AwaitEnd().error_code(), grpc::StatusCode::UNAVAILABLE) << "there is no handshake";

  believe(authority_);
  collector_->Housekeep();
  while (TestAgent(ConnectAgent("node-1")).Hello("node-1", 1) != 1) StopSignal().WaitFor(kNanosPerMilli);
}

TEST_F(CollectorAccessTest, TheProbeOfTheStreamsIsNoStranger) {
  for (int i = 0; i < 3; ++i) collector_->Housekeep();
  EXPECT_OK(collector_->Moving());
  EXPECT_EQ(Counter("lockstep_collector_calls_refused_total", "unknown"), 0);
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
