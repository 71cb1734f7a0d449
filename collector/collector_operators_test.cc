// What operators do to incidents and windows of maintenance, asked of a whole collector over TLS: who may, that it is
// on disk, that it holds after a restart, that saying it twice is saying it once, and that the audit knows.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/testing/secured_collector.h"
#include "proto/admin.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr int64_t kHour = 3'600 * kNanosPerSecond;

class CollectorOperatorsTest : public SecuredCollector {
 protected:
  void SetUp() override {
    for (const auto& [id, job] : {std::pair<uint64_t, std::string>{7, "vision-1"}, {8, "speech-1"}}) {
      wire::Incident incident;
      incident.set_id(id);
      incident.set_job(job);
      incident.set_key("cause");
      incident.set_state(wire::Incident::STATE_OPEN);
      incident.set_opened_wall_ns(time_line_.WallNanos());
      incident.mutable_verdict()->set_scope("machine");
      incident.mutable_verdict()->add_culprits()->set_host("node-1");
      ASSERT_OK(store_.PutIncident(incident));
    }
    SecuredCollector::SetUp();
  }

  template <typename Request, typename Response>
  grpc::StatusCode Change(const std::string& who,
                          grpc::Status (wire::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                          const Request& request, Response* response) {
    grpc::ClientContext context;
    response->Clear();
    return ((*wire::Admin::NewStub(ConnectAs(who))).*method)(&context, request, response).error_code();
  }

  grpc::StatusCode Silence(const std::string& who, uint64_t id, int64_t until_ns) {
    wire::SilenceRequest request;
    request.set_incident(id);
    request.set_until_wall_ns(until_ns);
    request.set_note("parts are ordered");
    return Change(who, &wire::Admin::Stub::Silence, request, &incident_);
  }

  grpc::StatusCode AddMaintenance(const std::string& who, const std::string& host, const std::string& job) {
    wire::AddMaintenanceRequest request;
    if (!host.empty()) request.add_hosts(host);
    if (!job.empty()) request.add_jobs(job);
    request.set_begin_wall_ns(begin_ns_);
    request.set_end_wall_ns(begin_ns_ + kHour);
    return Change(who, &wire::Admin::Stub::AddMaintenance, request, &window_);
  }

  grpc::StatusCode EndMaintenance(const std::string& who, uint64_t id) {
    wire::EndMaintenanceRequest request;
    request.set_id(id);
    return Change(who, &wire::Admin::Stub::EndMaintenance, request, &window_);
  }

  wire::Incident Show(uint64_t id, const std::string& who = "viewer") {
    grpc::ClientContext context;
    wire::GetIncidentRequest request;
    request.set_id(id);
    wire::Incident shown;
    EXPECT_TRUE(wire::Query::NewStub(ConnectAs(who))->GetIncident(&context, request, &shown).ok());
    return shown;
  }

  std::vector<wire::MaintenanceWindow> Windows(const std::string& who) {
    grpc::ClientContext context;
    wire::ListMaintenanceResponse response;
    EXPECT_TRUE(wire::Query::NewStub(ConnectAs(who))->ListMaintenance(&context, {}, &response).ok());
    return {response.windows().begin(), response.windows().end()};
  }

  const int64_t begin_ns_ = time_line_.WallNanos();
  wire::Incident incident_;         // of the last answer
  wire::MaintenanceWindow window_;  // likewise
};

TEST_F(CollectorOperatorsTest, ASilenceIsForOperatorsOfTheJobAndHoldsAfterARestart) {
  const int64_t until_ns = begin_ns_ + kHour;
  EXPECT_EQ(Silence("viewer", 7, until_ns), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Silence("speaker", 7, until_ns), grpc::StatusCode::NOT_FOUND) << "of another tenant";
  EXPECT_EQ(Silence("operator", 7, begin_ns_ - kHour), grpc::StatusCode::INVALID_ARGUMENT) << "is over";
  EXPECT_EQ(Silence("operator", 7, begin_ns_ + 91 * 24 * kHour), grpc::StatusCode::INVALID_ARGUMENT) << "too long";
  ASSERT_EQ(Silence("operator", 7, until_ns), grpc::StatusCode::OK);
  EXPECT_EQ(store_.LoadIncidents()->at(0).silence().note(), "parts are ordered") << "before it is answered";
  const int transitions = incident_.transitions_size();
  ASSERT_EQ(Silence("operator", 7, until_ns), grpc::StatusCode::OK);
  EXPECT_EQ(incident_.transitions_size(), transitions) << "the call was repeated";
  Start();
  EXPECT_EQ(Show(7).silence().by(), "certificate operator");
  EXPECT_EQ(Silence("speaker", 8, until_ns), grpc::StatusCode::OK);
  clock_.Forward(2 * kHour);
  while (Show(7).has_silence()) StopSignal().WaitFor(10 * kNanosPerMilli);
  EXPECT_EQ(Show(7).transitions().rbegin()->what(), "unsilenced");
}

TEST_F(CollectorOperatorsTest, ResolvingAndCommentingAreKeptWithWhoDid) {
  wire::CommentRequest comment;
  comment.set_incident(7);
  EXPECT_EQ(Change("operator", &wire::Admin::Stub::Comment, comment, &incident_), grpc::StatusCode::INVALID_ARGUMENT);
  comment.set_text("fan 3 is loud");
  EXPECT_EQ(Change("operator", &wire::Admin::Stub::Comment, comment, &incident_), grpc::StatusCode::OK);
  wire::ResolveRequest resolve;
  resolve.set_incident(7);
  resolve.set_note("GPU replaced");
  EXPECT_EQ(Change("operator", &wire::Admin::Stub::Resolve, resolve, &incident_), grpc::StatusCode::OK);
  EXPECT_EQ(Change("admin", &wire::Admin::Stub::Resolve, resolve, &incident_), grpc::StatusCode::FAILED_PRECONDITION);
  Start();
  const wire::Incident shown = Show(7);
  EXPECT_EQ(shown.state(), wire::Incident::STATE_RESOLVED);
  EXPECT_EQ(shown.resolved_by().by(), "certificate operator");
  EXPECT_EQ(shown.comments(0).text(), "fan 3 is loud");
  grpc::ClientContext context;
  wire::ListAuditResponse audit;
  ASSERT_TRUE(wire::Admin::NewStub(ConnectAs("admin"))->ListAudit(&context, {}, &audit).ok());
  std::vector<std::string> lines;
  for (const wire::AuditRecord& record : audit.records()) {
    lines.push_back(absl::StrCat(record.action(), "|", record.of(), "|", record.by(), "|", record.outcome()));
  }
  EXPECT_THAT(lines, ElementsAre(HasSubstr("resolve|incident 7|certificate admin|incident 7 is resolved"),
                                 "resolve|incident 7|certificate operator|ok",
                                 "comment|incident 7|certificate operator|ok", HasSubstr("a comment says something")));
}

TEST_F(CollectorOperatorsTest, AWindowOfMaintenanceQuietensWhatItIsAboutUntilItEnds) {
  EXPECT_EQ(AddMaintenance("viewer", "node-1", ""), grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_EQ(AddMaintenance("operator", "node-1", ""), grpc::StatusCode::OK);
  const uint64_t id = window_.id();
  EXPECT_EQ(window_.by(), "certificate operator");
  ASSERT_EQ(AddMaintenance("operator", "node-1", ""), grpc::StatusCode::OK);
  EXPECT_EQ(window_.id(), id) << "the call was repeated";
  while (Show(7).maintenance() != id) StopSignal().WaitFor(10 * kNanosPerMilli);
  Start();
  EXPECT_EQ(Windows("viewer").size(), 1u);
  EXPECT_EQ(EndMaintenance("operator", id + 1), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(EndMaintenance("operator", id), grpc::StatusCode::OK);
  EXPECT_EQ(window_.ended_by(), "certificate operator");
  while (Show(7).maintenance() != 0) StopSignal().WaitFor(10 * kNanosPerMilli);
  EXPECT_TRUE(Windows("viewer").empty());
}

TEST_F(CollectorOperatorsTest, ATenantNamesItsOwnJobsAndSeesWindowsAboutThem) {
  EXPECT_EQ(AddMaintenance("speaker", "node-1", ""), grpc::StatusCode::NOT_FOUND) << "hosts are of all tenants";
  EXPECT_EQ(AddMaintenance("speaker", "", "vision-1"), grpc::StatusCode::NOT_FOUND);
  ASSERT_EQ(AddMaintenance("speaker", "", "speech-1"), grpc::StatusCode::OK);
  ASSERT_EQ(AddMaintenance("operator", "node-9", "speech-2"), grpc::StatusCode::OK);
  const uint64_t of_others = window_.id();
  ASSERT_EQ(AddMaintenance("operator", "", "vision-1"), grpc::StatusCode::OK);
  const std::vector<wire::MaintenanceWindow> seen = Windows("speaker");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[1].jobs(), ElementsAre("speech-2"));
  EXPECT_EQ(seen[1].hosts_size(), 0) << "a host that runs none of its jobs";
  EXPECT_EQ(EndMaintenance("speaker", of_others), grpc::StatusCode::NOT_FOUND) << "it is about a host too";
  EXPECT_EQ(EndMaintenance("speaker", seen[0].id()), grpc::StatusCode::OK);
}

TEST_F(CollectorOperatorsTest, AHostIsTheSameInAllJobsThatTheCallerSees) {
  EXPECT_EQ(Show(7).host_history().jobs(), 2u);
  EXPECT_EQ(Show(7).host_history().host(), "node-1");
  EXPECT_EQ(Show(8, "speaker").host_history().jobs(), 1u) << "of others it knows nothing";
  grpc::ClientContext context;
  wire::GetStatusResponse status;
  ASSERT_TRUE(wire::Query::NewStub(ConnectAs("viewer"))->GetStatus(&context, {}, &status).ok());
  ASSERT_EQ(status.host_histories_size(), 1);
  EXPECT_NEAR(status.host_histories(0).score(), 2, 0.01);
}

}  // namespace
}  // namespace lockstep
