#include "cli/commands/diagnose_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "cli/testing/slow_ranks_csv.h"
#include "cli/whole_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CommandResult DiagnoseMetrics(const std::string& text) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "metrics.csv";
  EXPECT_TRUE(ReplaceWholeFile(path, text).ok());
  return RunCommand(MakeDiagnoseCommand(), {{"PATH", path}}, OutputFormat::kTable);
}

constexpr char kHeader[] = "time_ms,job,host,device,metric,value\n";

TEST(DiagnoseCommandTest, SaysThatAnInputHoldsNoJob) {
  const CommandResult result = DiagnoseMetrics(kHeader);
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("no job"));
}

TEST(DiagnoseCommandTest, NothingUsableIsNotCalledHealthy) {
  const CommandResult result = DiagnoseMetrics(std::string(kHeader) + "1000,job-1,h0,gpu0,gpu_power_watts,nan\n");
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("job-1: UNKNOWN"));
  EXPECT_THAT(result.out, HasSubstr("not judged"));
}

TEST(DiagnoseCommandTest, AnAbstentionHasNoClassAndNoAdvice) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "metrics.csv";
  ASSERT_TRUE(ReplaceWholeFile(path, std::string(kHeader) + "1000,job-1,h0,gpu0,gpu_power_watts,nan\n").ok());
  const CommandResult result = RunCommand(MakeDiagnoseCommand(), {{"PATH", path}}, OutputFormat::kJson);
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  std::string compact;
  for (const char c : result.out) {
    if (c != ' ' && c != '\n') compact.push_back(c);
  }
  EXPECT_THAT(compact, HasSubstr("\"scope\":\"unknown\",\"class\":\"unknown\",\"culprits\":[]"));
  EXPECT_THAT(compact, HasSubstr("\"advice\":\"none\""));
  EXPECT_THAT(compact, Not(HasSubstr("counter_outlier")));
}

std::vector<std::string> KeysOf(const nlohmann::ordered_json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

// Two causes of one job, of which one hides the other in part.
TEST(DiagnoseCommandTest, TheLedgerHasFixedKeysAndAddsUp) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ops.csv";
  ASSERT_TRUE(ReplaceWholeFile(path, SlowRanksCsv({{2, 30}, {5, 80}})).ok());
  const CommandResult result = RunCommand(MakeDiagnoseCommand(), {{"PATH", path}}, OutputFormat::kJson);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  const nlohmann::ordered_json ledger = nlohmann::ordered_json::parse(result.out)["jobs"][0]["ledger"];
  ASSERT_THAT(KeysOf(ledger),
              ElementsAre("reference_seconds", "measured_seconds", "lines", "unexplained_seconds", "error_seconds"));
  ASSERT_FALSE(ledger["lines"].empty()) << result.out;
  double explained = 0;
  for (const nlohmann::ordered_json& line : ledger["lines"]) {
    ASSERT_THAT(KeysOf(line), ElementsAre("finding", "seconds"));
    EXPECT_FALSE(line["finding"].get<std::string>().empty());
    EXPECT_GE(line["seconds"].get<double>(), 0);
    explained += line["seconds"].get<double>();
  }
  const double lost = ledger["measured_seconds"].get<double>() - ledger["reference_seconds"].get<double>();
  EXPECT_NEAR(lost, 0.04, 0.004) << "half of the steps take 80 ms longer";
  EXPECT_NEAR(explained + ledger["unexplained_seconds"].get<double>(), lost, 1e-9);
  EXPECT_GT(ledger["error_seconds"].get<double>(), 0);
}

// Four ranks in step for 20 steps; then rank 2 does not come.
std::string JobThatHangs() {
  std::string text = "job,host,rank,comm,comm_rank,comm_size,seq,op,enqueue_ns,start_ns,end_ns\n";
  for (int64_t step = 1; step <= 21; ++step) {
    for (int64_t rank = 0; rank < 4; ++rank) {
      const int64_t enter_ns = step * 1'000'000'000 + rank * 1'000'000;
      const bool hangs = step == 21;
      if (hangs && rank == 2) continue;
      absl::StrAppend(&text, "job-1,h", rank, ",", rank, ",c,", rank, ",4,", step, ",AllReduce,", enter_ns, ",",
                      enter_ns, ",", hangs ? "" : absl::StrCat(step * 1'000'000'000 + 50'000'000), "\n");
    }
  }
  return text;
}

TEST(DiagnoseCommandTest, StuckTellsAHangFromTheEndOfAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ops.csv";
  EXPECT_TRUE(ReplaceWholeFile(path, JobThatHangs()).ok());
  const CommandResult plain = RunCommand(MakeDiagnoseCommand(), {{"PATH", path}}, OutputFormat::kTable);
  EXPECT_THAT(plain.out, Not(HasSubstr("HUNG")));
  const CommandResult stuck =
      RunCommand(MakeDiagnoseCommand(), {{"PATH", path}, {"--stuck", ""}}, OutputFormat::kTable);
  EXPECT_THAT(stuck.out, HasSubstr("job-1: HUNG"));
  EXPECT_THAT(stuck.out, HasSubstr("h2"));
}

TEST(DiagnoseCommandTest, AJobThatCannotBePlayedDoesNotStopTheOthers) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ops.csv";
  std::string text = JobThatHangs();
  const auto add = [&text](const char* job, const char* sequence, int64_t at_ns) {
    absl::StrAppend(&text, job, ",h0,0,c,0,1,", sequence, ",AllReduce,", at_ns, ",", at_ns, ",", at_ns + 1000, "\n");
  };
  constexpr int64_t kSecond = 1'000'000'000;
  add("too-long", "1", kSecond);
  add("too-long", "2", 40 * 86'400 * kSecond);
  add("far-apart", "1", kSecond);
  add("far-apart", "9000000000000000000", 2 * kSecond);
  EXPECT_TRUE(ReplaceWholeFile(path, text).ok());
  const CommandResult live =
      RunCommand(MakeDiagnoseCommand(), {{"PATH", path}, {"--stuck", ""}, {"--live", ""}}, OutputFormat::kJson);
  EXPECT_EQ(live.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(live.out, HasSubstr("\"path\": \"too-long\""));
  EXPECT_THAT(live.out, HasSubstr("days, expected at most 31"));
  EXPECT_THAT(live.out, HasSubstr("\"path\": \"far-apart\""));
  EXPECT_THAT(live.out, HasSubstr("a collector would not take it"));
  EXPECT_THAT(live.out, HasSubstr("\"state\": \"hung\""));
}

TEST(DiagnoseCommandTest, LiveTellsWhatACollectorWouldHaveToldWhen) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ops.csv";
  EXPECT_TRUE(ReplaceWholeFile(path, JobThatHangs()).ok());
  const CommandResult live =
      RunCommand(MakeDiagnoseCommand(), {{"PATH", path}, {"--stuck", ""}, {"--live", ""}}, OutputFormat::kTable);
  EXPECT_EQ(live.exit_code, ExitCode::kOk) << live.error;
  EXPECT_THAT(live.out, HasSubstr("job-1: what would have been told"));
  EXPECT_THAT(live.out, HasSubstr("s  hung: "));
  EXPECT_THAT(live.out, HasSubstr("told:      hang not entered (machine) h2 rank 2"));
  EXPECT_THAT(live.out, HasSubstr("job-1: HUNG\n  4 ranks on 4 hosts"));
  const CommandResult with_places =
      RunCommand(MakeDiagnoseCommand(), {{"PATH", path}, {"--places", path}, {"--live", ""}}, OutputFormat::kTable);
  EXPECT_EQ(with_places.exit_code, ExitCode::kUsage);
  EXPECT_THAT(with_places.error, HasSubstr("--places"));
}

}  // namespace
}  // namespace lockstep
