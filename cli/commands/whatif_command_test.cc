#include "cli/commands/whatif_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "cli/testing/slow_ranks_csv.h"
#include "cli/whole_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CommandResult WhatIf(const std::string& records, std::map<std::string, std::string> values, OutputFormat format) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ops.csv";
  EXPECT_TRUE(ReplaceWholeFile(path, records).ok());
  values["PATH"] = path;
  return RunCommand(MakeWhatIfCommand(), values, format);
}

// Half of the steps are longer, so that the mean step gives back half.
TEST(WhatIfCommandTest, WhatHidesGivesBackNothingAloneAndAllTogether) {
  const CommandResult result = WhatIf(SlowRanksCsv({{2, 60}, {5, 60}}), {}, OutputFormat::kJson);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  const nlohmann::json ledger = nlohmann::json::parse(result.out)["jobs"][0]["ledger"];
  const nlohmann::json& remedies = ledger["remedies"];
  ASSERT_EQ(remedies.size(), 2u) << result.out;
  for (const nlohmann::json& remedy : remedies) {
    EXPECT_TRUE(remedy["replayed"].get<bool>());
    EXPECT_NEAR(remedy["alone_seconds"].get<double>(), 0, 0.002);
    EXPECT_THAT(remedy["action"].get<std::string>(), StartsWith("take h"));
  }
  EXPECT_NEAR(remedies[0]["together_seconds"].get<double>(), 0, 0.002);
  EXPECT_NEAR(remedies[1]["together_seconds"].get<double>(), 0.03, 0.003);
  double sum = ledger["reference_seconds"].get<double>() + ledger["unexplained_seconds"].get<double>();
  for (const nlohmann::json& line : ledger["lines"]) sum += line["seconds"].get<double>();
  EXPECT_NEAR(sum, ledger["measured_seconds"].get<double>(), 1e-9);
}

TEST(WhatIfCommandTest, TheOneThatAllWaitForComesFirst) {
  const CommandResult result = WhatIf(SlowRanksCsv({{2, 30}, {5, 80}}), {}, OutputFormat::kJson);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  const nlohmann::json remedies = nlohmann::json::parse(result.out)["jobs"][0]["ledger"]["remedies"];
  ASSERT_EQ(remedies.size(), 2u) << result.out;
  EXPECT_EQ(remedies[0]["hosts"], nlohmann::json::array({"h5"}));
  EXPECT_NEAR(remedies[0]["alone_seconds"].get<double>(), 0.025, 0.003);
  EXPECT_EQ(remedies[0]["alone_seconds"], remedies[0]["together_seconds"]);
  EXPECT_NEAR(remedies[1]["alone_seconds"].get<double>(), 0, 0.002);
  EXPECT_NEAR(remedies[1]["together_seconds"].get<double>(), 0.04, 0.004);
}

TEST(WhatIfCommandTest, SaysThatThereIsNothingToRemove) {
  const CommandResult result = WhatIf(SlowRanksCsv({}), {}, OutputFormat::kTable);
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("job-1: HEALTHY"));
  EXPECT_THAT(result.out, HasSubstr("nothing to remove"));
}

TEST(WhatIfCommandTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(WhatIf(SlowRanksCsv({}), {{"--job", "other"}}, OutputFormat::kTable).exit_code, ExitCode::kNotFound);
  EXPECT_EQ(WhatIf(SlowRanksCsv({}), {{"--format", "tape"}}, OutputFormat::kTable).exit_code, ExitCode::kUsage);
  EXPECT_EQ(WhatIf(SlowRanksCsv({}), {{"--min-cost", "2"}}, OutputFormat::kTable).exit_code, ExitCode::kUsage);
}

}  // namespace
}  // namespace lockstep
