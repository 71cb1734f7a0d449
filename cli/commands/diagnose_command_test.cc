#include "cli/commands/diagnose_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "cli/whole_file.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace lockstep
