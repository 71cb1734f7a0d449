#include "cli/render/json.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

TEST(JsonTest, FieldsKeepNamesOrderAndTypes) {
  wire::ListJobsResponse response;
  wire::Job* job = response.add_jobs();
  job->set_job("demo");
  job->set_state("slow");
  job->set_ranks(4);
  job->set_world_size(-1);
  job->set_steps(int64_t{1} << 60);
  job->set_steps_per_second(2.5);
  EXPECT_EQ(JsonText(ToJson(response), /*indented=*/false),
            R"({"jobs":[{"job":"demo","state":"slow","ranks":4,"world_size":-1,"hosts":0,)"
            R"("steps":1152921504606846976,"steps_per_second":2.5,"step_seconds_median":0.0,)"
            R"("first_seen_wall_ns":0,"last_seen_wall_ns":0,"note":"","ledger":null}],"left_out":0})");
}

TEST(JsonTest, EnumsAreWordsAndAbsentMessagesAreNull) {
  wire::Incident incident;
  incident.set_state(wire::Incident::STATE_OPEN);
  const nlohmann::ordered_json json = ToJson(incident);
  EXPECT_EQ(json["state"], "open");
  EXPECT_TRUE(json["verdict"].is_null());
  EXPECT_EQ(json["transitions"], nlohmann::ordered_json::array());
}

TEST(JsonTest, RepeatedNumbers) {
  wire::Series series;
  series.add_wall_ns(-1);
  series.add_values(0.5);
  const nlohmann::ordered_json json = ToJson(series);
  EXPECT_EQ(json["wall_ns"], nlohmann::ordered_json::array({-1}));
  EXPECT_EQ(json["values"], nlohmann::ordered_json::array({0.5}));
}

TEST(JsonTest, BytesThatAreNotUtf8AreReplaced) {
  wire::Rank rank;
  rank.set_host("a\xff");
  EXPECT_NE(JsonText(ToJson(rank), false).find(R"("host":"a\ufffd")"), std::string::npos);
}

TEST(JsonTest, ATerminalObeysNothingOfIt) {
  wire::Culprit culprit;
  culprit.set_host("a\x7f\xc2\x9b[2J\x1b");
  EXPECT_NE(JsonText(ToJson(culprit), false).find(R"("host":"a\u007f\u009b[2J\u001b")"), std::string::npos);
}

TEST(JsonTest, IndentedTextParsesBack) {
  wire::Culprit culprit;
  culprit.set_host("a\n\"b");
  const nlohmann::ordered_json json = ToJson(culprit);
  EXPECT_EQ(nlohmann::ordered_json::parse(JsonText(json, true)), json);
}

}  // namespace
}  // namespace lockstep
