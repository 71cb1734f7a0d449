#include "agent/sources/ras/ras_answer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "agent/sources/ras/testing/ras_text.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

TEST(RasAnswerTest, AHealthyJobHasNoFindings) {
  const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(
      RasText({{.id = 17, .members = {{.rank = 0}, {.rank = 1}}}, {.id = 18, .members = {{.rank = 0}}}}));
  ASSERT_OK(answer);
  EXPECT_EQ(answer->report.nccl_version(), "2.29.2");
  EXPECT_EQ(answer->report.communicators(), 2U);
  EXPECT_EQ(answer->report.findings_size(), 0);
  EXPECT_EQ(answer->report.collection_ns(), 250'000'000);
  EXPECT_EQ(answer->report.timeouts(), 1U);
  EXPECT_EQ(answer->missing_ranks, 0U);
  EXPECT_EQ(answer->leader_host, "10.0.0.1");
}

TEST(RasAnswerTest, NamesWhoIsMissingAndWhoIsDead) {
  const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(
      RasText({{.id = 0xae94423cfbb2ef4a,
                .members = {{.rank = 0}},
                .missing = {{.rank = 1, .pid = 77, .dead = false}, {.rank = 2, .pid = 78, .dead = true}}}}));
  ASSERT_OK(answer);
  ASSERT_EQ(answer->report.findings_size(), 1);
  const wire::NcclRasCommunicator& finding = answer->report.findings(0);
  EXPECT_EQ(finding.id(), 0xae94423cfbb2ef4a);
  EXPECT_EQ(finding.size(), 3);
  ASSERT_EQ(finding.missing_size(), 2);
  EXPECT_EQ(finding.missing(0).rank(), 1);
  EXPECT_EQ(finding.missing(0).pid(), 77);
  EXPECT_TRUE(finding.missing(0).unresponsive());
  EXPECT_FALSE(finding.missing(0).considered_dead());
  EXPECT_TRUE(finding.missing(1).considered_dead());
  EXPECT_EQ(answer->missing_ranks, 2U);
  EXPECT_EQ(answer->dead_ranks, 1U);
}

TEST(RasAnswerTest, ReadsTheAnswerThatLacksCommas) {
  const std::vector<RasTextCommunicator> job = {
      {.id = 5, .members = {{.rank = 0}}, .missing = {{.rank = 1}, {.rank = 2, .dead = true}}}};
  const std::string broken = RasText(job, RasTextStyle::kCommaMissing);
  ASSERT_FALSE(nlohmann::json::accept(broken));
  const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(broken);
  ASSERT_OK(answer);
  const absl::StatusOr<RasAnswer> sound = ParseRasAnswer(RasText(job));
  ASSERT_OK(sound);
  EXPECT_EQ(answer->report.SerializeAsString(), sound->report.SerializeAsString());
  EXPECT_EQ(answer->dead_ranks, 1U);
}

TEST(RasAnswerTest, CommasComeOnlyWhereJsonCanHaveNothingElse) {
  EXPECT_EQ(WithMissingCommas(R"({"a": 1 "b": 2})"), R"({"a": 1 ,"b": 2})");
  EXPECT_EQ(WithMissingCommas(R"([{"a":"x"}{"a":true}["y" "z"]])"), R"([{"a":"x"},{"a":true},["y" ,"z"]])");
  for (const char* sound : {R"({"a": "quote \" {", "b": [1, {"c": null}, []], "d": "\\"})", "[]", "1", ""}) {
    EXPECT_EQ(WithMissingCommas(sound), sound);
  }
}

TEST(RasAnswerTest, NamesWhoLaunchedLess) {
  const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(RasText({{.id = 9,
                                                                    .members = {{.rank = 0, .all_reduces = 120},
                                                                                {.rank = 1, .all_reduces = 118},
                                                                                {.rank = 2, .all_reduces = 120},
                                                                                {.rank = 3, .all_reduces = 119}}}}));
  ASSERT_OK(answer);
  ASSERT_EQ(answer->report.findings_size(), 1);
  ASSERT_EQ(answer->report.findings(0).mismatches_size(), 1);
  const wire::NcclRasMismatch& mismatch = answer->report.findings(0).mismatches(0);
  EXPECT_EQ(mismatch.kind(), wire::OPERATION_KIND_ALL_REDUCE);
  EXPECT_EQ(mismatch.highest(), 120U);
  EXPECT_EQ(mismatch.lowest(), 118U);
  EXPECT_EQ(mismatch.ranks_behind(), 2U);
  EXPECT_EQ(absl::StrJoin(mismatch.first_behind(), " "), "1 3");
  EXPECT_EQ(answer->unequal_communicators, 1U);
}

TEST(RasAnswerTest, NamesWhoIsInError) {
  const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(
      RasText({{.id = 9, .members = {{.rank = 0}, {.rank = 1, .async_error = 6}, {.rank = 2, .aborted = true}}}}));
  ASSERT_OK(answer);
  ASSERT_EQ(answer->report.findings_size(), 1);
  ASSERT_EQ(answer->report.findings(0).errors_size(), 2);
  EXPECT_EQ(answer->report.findings(0).errors(0).async_error(), 6);
  EXPECT_TRUE(answer->report.findings(0).errors(1).aborted());
}

TEST(RasAnswerTest, NamesNoMoreThanItsLimitsAndCountsTheRest) {
  RasTextCommunicator large = {.id = 1, .members = {{.rank = 0, .all_reduces = 5}}};
  for (int rank = 1; rank <= 20; ++rank) large.members.push_back({.rank = rank, .async_error = 1});
  for (int rank = 21; rank <= 50; ++rank) large.missing.push_back({.rank = rank});
  std::vector<RasTextCommunicator> job(70, large);
  for (size_t i = 0; i < job.size(); ++i) job[i].id = i + 1;
  const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(RasText(job));
  ASSERT_OK(answer);
  EXPECT_EQ(answer->report.communicators(), 70U);
  EXPECT_EQ(answer->report.findings_size(), kMaxRasFindings);
  EXPECT_EQ(answer->report.findings_left_out(), 6U);
  EXPECT_EQ(answer->missing_ranks, 70U * 30);
  const wire::NcclRasCommunicator& finding = answer->report.findings(0);
  EXPECT_EQ(finding.missing_size(), kMaxRasRanksNamed);
  EXPECT_EQ(finding.missing_left_out(), 14U);
  EXPECT_EQ(finding.errors_size(), kMaxRasRanksNamed);
  EXPECT_EQ(finding.errors_left_out(), 4U);
  EXPECT_EQ(finding.mismatches(0).ranks_behind(), 20U);
  EXPECT_EQ(finding.mismatches(0).first_behind_size(), kMaxRasRanksNamed);
}

TEST(RasAnswerTest, TheLeaderIsRankZeroOfTheLargestWhetherItAnswersOrNot) {
  const RasTextCommunicator small = {.id = 1, .members = {{.rank = 0, .host = "10.0.0.5"}, {.rank = 1}}};
  const RasTextCommunicator large = {
      .id = 3, .members = {{.rank = 1}, {.rank = 2}}, .missing = {{.rank = 0, .host = "10.0.0.7"}}};
  RasTextCommunicator twin = large;
  twin.id = 2;
  twin.missing[0].host = "10.0.0.8";
  for (const std::vector<RasTextCommunicator>& job :
       {std::vector<RasTextCommunicator>{small, large, twin}, {twin, large, small}, {large, small, twin}}) {
    const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(RasText(job));
    ASSERT_OK(answer);
    EXPECT_EQ(answer->leader_host, "10.0.0.8") << "the lower id of two that are equally large";
  }
}

TEST(RasAnswerTest, RefusesWhatIsNoAnswer) {
  for (const std::string& text :
       {std::string(), std::string("ERROR: Unknown command"), std::string("{}"), std::string("[1, 2"),
        std::string("{\"communicators\": [{\"ranks\": "), std::string("{\"other\": {\"communicators\": []}}"),
        "{\"communicators\": " + std::string(100'000, '[')}) {
    EXPECT_EQ(ParseRasAnswer(text).status().code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 60);
  }
}

TEST(RasAnswerTest, EveryCutAndEveryScratchIsSurvived) {
  const std::string text = RasText({{.id = 9, .members = {{.rank = 0}, {.rank = 1}}, .missing = {{.rank = 2}}}});
  for (size_t length = 0; length + 3 < text.size(); ++length) EXPECT_FALSE(ParseRasAnswer(text.substr(0, length)).ok());
  Random random(4);
  for (int round = 0; round < 2'000; ++round) {
    std::string scratched = text;
    for (int i = 0; i < 3; ++i) scratched[random.Below(text.size())] = static_cast<char>(random.Below(256));
    const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(scratched);
    if (!answer.ok()) continue;
    EXPECT_LE(answer->report.findings_size(), kMaxRasFindings);
  }
}

// A sample of the real thing, where the public data is at hand.
TEST(RasAnswerTest, ReadsTheDocumentedSample) {
  const std::filesystem::path path = "../shared/data/nccl_logs/nccl_ras_samples.txt";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is not here";
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const size_t begin = all.find("\n{\n  \"nccl_version\"");
  ASSERT_NE(begin, std::string::npos);
  const std::string sample = all.substr(begin, all.find("\n}\n", begin) + 3 - begin);
  const std::string broken = absl::StrReplaceAll(sample, {{"\"nvml_dev\": 1,", "\"nvml_dev\": 1"}});
  ASSERT_NE(broken, sample);
  for (const std::string& text : {sample, broken}) {
    const absl::StatusOr<RasAnswer> answer = ParseRasAnswer(text);
    ASSERT_OK(answer);
    EXPECT_EQ(answer->report.nccl_version(), "2.29.1");
    ASSERT_EQ(answer->report.findings_size(), 1);
    EXPECT_EQ(answer->report.findings(0).id(), 0xae94423cfbb2ef4a);
    EXPECT_EQ(answer->report.findings(0).missing(0).pid(), 1524345);
    EXPECT_EQ(answer->missing_ranks, 1U);
  }
}

}  // namespace
}  // namespace lockstep
