// What is demanded of nodes, asked of a whole collector over TLS by people, and carried out by an agent of the test:
// who may, whom it reaches, what comes back, and that the audit knows.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/demands/demand_book.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/secured_collector.h"
#include "collector/testing/test_agent.h"
#include "formats/testing/simple_profiles.h"
#include "proto/admin.grpc.pb.h"
#include "proto/demand.pb.h"
#include "proto/incident.pb.h"
#include "proto/ingest.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class CollectorDemandsTest : public SecuredCollector {
 protected:
  struct Answers {
    grpc::Status status;
    std::vector<wire::OnDemandAnswer> all;
  };

  Answers Demand(const std::string& who, const std::string& kind, const std::vector<int>& ranks,
                 const std::string& parameters = "") {
    grpc::ClientContext context;
    wire::OnDemandRequest request;
    request.set_kind(kind);
    request.set_job("train");
    request.set_parameters(parameters);
    for (const int rank : ranks) request.add_ranks(rank);
    const auto reader = wire::Admin::NewStub(ConnectAs(who))->OnDemand(&context, request);
    Answers answers;
    for (wire::OnDemandAnswer answer; reader->Read(&answer);) answers.all.push_back(answer);
    answers.status = reader->Finish();
    return answers;
  }

  // An agent with ranks of the job, which the engine has seen when this returns.
  std::unique_ptr<TestAgent> StartAgent(const std::vector<std::string>& offers, int ranks = 2) {
    auto agent = std::make_unique<TestAgent>(ConnectAgent("node-1"));
    wire::AgentMessage hello = MakeTestHello("node-1", 7);
    for (const std::string& kind : offers) hello.mutable_hello()->add_demands(kind);
    EXPECT_EQ(agent->Hello(hello), 0);
    EXPECT_TRUE(agent->Send(ToMessage(MakeTestReport(1, {.ranks = ranks, .world_size = ranks}))));
    EXPECT_TRUE(agent->AwaitAck(1));
    const auto stub = wire::Query::NewStub(ConnectAs("viewer"));
    for (int i = 0; i < 60'000; ++i) {
      grpc::ClientContext context;
      wire::ListRanksRequest request;
      request.set_job("train");
      wire::ListRanksResponse response;
      if (stub->ListRanks(&context, request, &response).ok() && response.ranks_size() == ranks) return agent;
      StopSignal().WaitFor(kNanosPerMilli);
    }
    ADD_FAILURE() << "the engine does not see the ranks";
    return agent;
  }

  static void Answer(TestAgent& agent, uint64_t sequence, const std::vector<wire::DemandAnswer>& parts) {
    wire::AgentReport report = MakeHostReport(sequence, 0.5);
    for (const wire::DemandAnswer& part : parts) *report.add_demand_answers() = part;
    EXPECT_TRUE(agent.Send(ToMessage(report)));
  }

  // The incidents of the job, as soon as there are any.
  std::vector<wire::Incident> AwaitIncidents() {
    const auto stub = wire::Query::NewStub(ConnectAs("viewer"));
    for (int i = 0; i < 60'000; ++i) {
      grpc::ClientContext context;
      wire::ListIncidentsRequest request;
      request.set_job("train");
      wire::ListIncidentsResponse response;
      if (stub->ListIncidents(&context, request, &response).ok() && response.incidents_size() > 0) {
        return {response.incidents().begin(), response.incidents().end()};
      }
      StopSignal().WaitFor(kNanosPerMilli);
    }
    ADD_FAILURE() << "there is no incident";
    return {};
  }

  std::vector<wire::AuditRecord> Audit() {
    grpc::ClientContext context;
    wire::ListAuditResponse response;
    EXPECT_TRUE(wire::Admin::NewStub(ConnectAs("admin"))->ListAudit(&context, {}, &response).ok());
    return {response.records().begin(), response.records().end()};
  }
};

TEST_F(CollectorDemandsTest, AnOperatorGetsWhatTheAgentAnswersAndTheAuditKnows) {
  const auto agent = StartAgent({"stacks"});
  std::thread node([&] {
    for (uint64_t i = 0; i < 2; ++i) {
      const wire::Command command = agent->AwaitDemand();
      EXPECT_EQ(command.job(), "train");
      EXPECT_EQ(command.demand().parameters(), "ten times");
      wire::DemandAnswer part;
      part.set_id(command.id());
      part.set_parts(2);
      part.set_outcome(wire::DemandAnswer::OUTCOME_DONE);
      part.set_payload("what rank ");
      wire::DemandAnswer last = part;
      last.set_part(1);
      last.set_payload(std::to_string(command.demand().rank()) + " does");
      Answer(*agent, 2 + 2 * i, {part});
      Answer(*agent, 3 + 2 * i, {last});
    }
  });
  const Answers answers = Demand("operator", "stacks", {}, "ten times");
  node.join();
  EXPECT_TRUE(answers.status.ok()) << answers.status.error_message();
  ASSERT_EQ(answers.all.size(), 2u);
  for (const wire::OnDemandAnswer& answer : answers.all) {
    EXPECT_EQ(answer.host(), "node-1");
    EXPECT_EQ(answer.outcome(), wire::DemandAnswer::OUTCOME_DONE);
    EXPECT_EQ(answer.payload(), "what rank " + std::to_string(answer.rank()) + " does");
  }
  EXPECT_NE(answers.all[0].rank(), answers.all[1].rank());
  for (const wire::CaptureEntry& entry : store_.log()) {
    EXPECT_EQ(entry.input().report().demand_answers_size(), 0) << "history has no use for it";
  }
  ASSERT_FALSE(Audit().empty());
  EXPECT_EQ(Audit()[0].action(), "demand");
  EXPECT_EQ(Audit()[0].of(), "stacks of 2 ranks of job train");
  EXPECT_THAT(Audit()[0].by(), HasSubstr("operator"));
}

TEST_F(CollectorDemandsTest, WhatProfilesOfAnOperatorShowBecomesAnIncident) {
  const auto agent = StartAgent({"profile"}, /*ranks=*/4);
  std::thread node([&] {
    for (uint64_t i = 0; i < 4; ++i) {
      const wire::Command command = agent->AwaitDemand();
      EXPECT_EQ(command.demand().kind(), "profile");
      wire::DemandAnswer answer;
      answer.set_id(command.id());
      answer.set_parts(1);
      answer.set_outcome(wire::DemandAnswer::OUTCOME_DONE);
      answer.set_payload(LoadingProfile(command.demand().rank() == 1 ? 0.4 : 0.01).SerializeAsString());
      Answer(*agent, 2 + i, {answer});
    }
  });
  const Answers answers = Demand("operator", "profile", {1});
  node.join();
  ASSERT_EQ(answers.all.size(), 4u) << answers.status.error_message();
  const std::vector<wire::Incident> incidents = AwaitIncidents();
  ASSERT_EQ(incidents.size(), 1u);
  const wire::Verdict& verdict = incidents[0].verdict();
  EXPECT_EQ(verdict.scope(), "software");
  EXPECT_EQ(verdict.class_(), "storage_stall");
  ASSERT_EQ(verdict.culprits_size(), 1);
  EXPECT_EQ(verdict.culprits(0).rank(), 1);
  ASSERT_GT(verdict.evidence_size(), 0);
  EXPECT_EQ(verdict.evidence(0).kind(), "profile");
  EXPECT_THAT(verdict.evidence(0).text(), HasSubstr("Rank 1 waits for data loading in 40.0%"));
}

TEST_F(CollectorDemandsTest, AViewerMayNotAndATenantOnlyOfItsOwnJobs) {
  const auto agent = StartAgent({"stacks"});
  EXPECT_EQ(Demand("viewer", "stacks", {}).status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const Answers foreign = Demand("speaker", "stacks", {});
  EXPECT_EQ(foreign.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(foreign.status.error_message(), HasSubstr("no job \"train\""));
  EXPECT_EQ(Audit()[0].of(), "stacks of 0 ranks of job train");
}

TEST_F(CollectorDemandsTest, SaysWhatCannotBeAskedAtOnce) {
  const auto agent = StartAgent({});
  EXPECT_EQ(Demand("operator", "unheard of", {}).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Demand("operator", "stacks", {}, std::string(1000, 'x')).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Demand("operator", "stacks", {5}).status.error_code(), grpc::StatusCode::NOT_FOUND);
  const Answers old = Demand("operator", "stacks", {1});
  EXPECT_TRUE(old.status.ok());
  ASSERT_EQ(old.all.size(), 1u);
  EXPECT_EQ(old.all[0].outcome(), wire::DemandAnswer::OUTCOME_REFUSED);
  EXPECT_THAT(old.all[0].reason(), HasSubstr("does not do that"));
}

TEST_F(CollectorDemandsTest, AnAgentThatSaysNothingIsNotWaitedForForEver) {
  const auto agent = StartAgent({"stacks"});
  std::thread node([&] {
    EXPECT_NE(agent->AwaitDemand().id(), 0u);
    clock_.Forward(FindDemandKind("stacks")->patience_ns);
    collector_->Housekeep();
  });
  const Answers answers = Demand("operator", "stacks", {1});
  node.join();
  ASSERT_EQ(answers.all.size(), 1u);
  EXPECT_THAT(answers.all[0].reason(), HasSubstr("not answered in time"));
}

}  // namespace
}  // namespace lockstep
