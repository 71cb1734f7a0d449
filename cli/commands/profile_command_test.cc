// What `lockstep profile` asks of a collector, and what it makes of what agents answer.

#include "cli/commands/profile_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/fake_query_server.h"
#include "cli/testing/run_command.h"
#include "formats/testing/simple_profiles.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"
#include "proto/admin.pb.h"
#include "proto/patterns.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ProfileCommandTest : public ::testing::Test {
 protected:
  ProfileCommandTest() {
    answers_.job = "train";
    wire::Job& job = *answers_.jobs.add_jobs();
    job.set_job("train");
    job.set_step_seconds_median(0.4);
    answers_.on_change = [this](const google::protobuf::Message& message) {
      request_.CopyFrom(static_cast<const wire::OnDemandRequest&>(message));
    };
  }

  CommandResult Run(const std::map<std::string, std::string>& values, OutputFormat format = OutputFormat::kTable) {
    const FakeQueryServer server(answers_);
    std::map<std::string, std::string> all = {{"JOB", "train"}};
    all.insert(values.begin(), values.end());
    return RunCommand(MakeProfileCommand(), all, format, server.address());
  }

  wire::ProfileParameters Parameters() const {
    wire::ProfileParameters parameters;
    EXPECT_TRUE(parameters.ParseFromString(request_.parameters()));
    return parameters;
  }

  // A rank that waits for its data for a share of the time, and computes for the rest.
  void AddAnswer(int rank, double loading, const std::string& trace = "") {
    wire::RankProfile profile = LoadingProfile(loading);
    profile.set_trace(trace);
    profile.set_trace_bytes(1'000);
    wire::OnDemandAnswer& answer = Answer(rank, wire::DemandAnswer::OUTCOME_DONE);
    answer.set_payload(profile.SerializeAsString());
  }

  void AddFailure(int rank, const std::string& why) {
    Answer(rank, wire::DemandAnswer::OUTCOME_REFUSED).set_reason(why);
  }

  FakeQueryServer::Answers answers_;
  wire::OnDemandRequest request_;

 private:
  wire::OnDemandAnswer& Answer(int rank, wire::DemandAnswer::Outcome outcome) {
    wire::OnDemandAnswer& answer = answers_.on_demand.emplace_back();
    answer.set_rank(rank);
    answer.set_host("node-" + std::to_string(rank / 2));
    answer.set_outcome(outcome);
    return answer;
  }
};

TEST_F(ProfileCommandTest, ItLastsAsLongAsTheStepsOfTheJobAndTheCollectorChoosesWhom) {
  AddAnswer(0, 0.01);
  EXPECT_EQ(Run({}).exit_code, ExitCode::kOk);
  EXPECT_EQ(request_.kind(), "profile");
  EXPECT_THAT(request_.ranks(), IsEmpty());
  EXPECT_EQ(Parameters().steps(), 5u);
  EXPECT_EQ(Parameters().duration_ms(), 2'000u);
  EXPECT_FALSE(Parameters().keep() || Parameters().python());
  Run({{"--ranks", "3,17"}, {"--steps", "1"}, {"--keep", ""}, {"--python", ""}});
  EXPECT_THAT(request_.ranks(), ElementsAre(3, 17));
  EXPECT_EQ(Parameters().duration_ms(), 500u) << "less would be launches alone";
  EXPECT_TRUE(Parameters().keep() && Parameters().python());
  Run({{"--steps", "100"}});
  EXPECT_EQ(Parameters().duration_ms(), 40'000u);
  Run({{"--seconds", "7"}});
  EXPECT_EQ(Parameters().duration_ms(), 7'000u);
  answers_.jobs.mutable_jobs(0)->set_step_seconds_median(0);
  Run({{"--steps", "3"}});
  EXPECT_EQ(Parameters().duration_ms(), 0u) << "steps are counted where their length is not known";
}

TEST_F(ProfileCommandTest, NamesTheFunctionAndTheRankAndWhoCouldNotBeProfiled) {
  for (int rank = 7; rank >= 0; --rank) AddAnswer(rank, rank == 5 ? 0.4 : 0.01, rank == 5 ? "/tmp/trace.json" : "");
  AddFailure(9, "the process has not registered\x1b[31m");
  const CommandResult result = Run({{"--keep", ""}});
  EXPECT_EQ(result.exit_code, ExitCode::kFindings);
  EXPECT_THAT(result.out, HasSubstr("profiled: rank 0, 1, 2, 3, 4, 5, 6, 7\n"));
  EXPECT_THAT(result.out, HasSubstr("trace of rank 5: node-2:/tmp/trace.json\n"));
  EXPECT_THAT(result.out, HasSubstr("storage stall (software)\n     who:    node-2, rank 5 "));
  EXPECT_THAT(result.out, HasSubstr("_SingleProcessDataLoaderIter.__next__"));
  EXPECT_THAT(result.error, HasSubstr("rank 9 on node-4: the process has not registered"));
  EXPECT_THAT(result.error, Not(HasSubstr("\x1b")));
}

TEST_F(ProfileCommandTest, AsJson) {
  for (int rank = 0; rank < 8; ++rank) AddAnswer(rank, rank == 5 ? 0.4 : 0.01);
  AddFailure(9, "no");
  const auto json = nlohmann::json::parse(Run({}, OutputFormat::kJson).out);
  EXPECT_EQ(json["ranks"].size(), 8u);
  EXPECT_EQ(json["ranks"][5]["trace_bytes"], 1'000);
  EXPECT_EQ(json["failed"][0]["rank"], 9);
  EXPECT_EQ(json["failed"][0]["reason"], "no");
  EXPECT_EQ(json["jobs"][0]["verdicts"][0]["culprits"][0]["rank"], 5);
}

TEST_F(ProfileCommandTest, AnswersThatAreNoneAreFailures) {
  AddFailure(0, "");
  answers_.on_demand[0].set_outcome(wire::DemandAnswer::OUTCOME_DONE);
  answers_.on_demand[0].set_payload("\xff\xff");
  AddAnswer(1, 3);  // a share above one
  const CommandResult result = Run({});
  EXPECT_EQ(result.exit_code, ExitCode::kNotFound);
  EXPECT_THAT(result.error, HasSubstr("kineto_endpoint: true"));
  const auto json = nlohmann::json::parse(Run({}, OutputFormat::kJson).out);
  EXPECT_EQ(json["failed"].size(), 2u);
  EXPECT_THAT(json["jobs"], IsEmpty());
  EXPECT_THAT(json["failed"][0]["reason"].get<std::string>(), HasSubstr("cannot be read"));
}

TEST_F(ProfileCommandTest, WhatCannotBeIsNotAsked) {
  const std::vector<std::map<std::string, std::string>> wrong = {
      {{"--steps", "0"}}, {{"--steps", "101"}}, {{"--seconds", "61"}}, {{"--ranks", "3,x"}}, {{"--ranks", "-1"}}};
  for (const auto& values : wrong) {
    const CommandResult result = Run(values);
    EXPECT_EQ(result.exit_code, ExitCode::kUsage) << values.begin()->first << ": " << result.error;
  }
  EXPECT_EQ(request_.kind(), "");
  answers_.job = "another";
  EXPECT_EQ(Run({}).exit_code, ExitCode::kNotFound);
}

}  // namespace
}  // namespace lockstep
