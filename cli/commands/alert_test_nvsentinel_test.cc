// `lockstep alert test` and a receiver that does not speak HTTP.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/temporary_directory.h"
#include "cli/commands/alert_command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "collector/alert/testing/health_event_server.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(AlertTestNvsentinelTest, TheConnectorHearsOfATestAndOfItsEnd) {
  const TemporaryDirectory directory;
  const std::string socket = (directory.path() / "nvs.sock").string();
  const std::string config = (directory.path() / "alerts.yaml").string();
  std::ofstream(config) << "receivers:\n  - {name: nvs, type: nvsentinel, socket: " << socket
                        << "}\nroutes:\n  - {receivers: [nvs]}\n";
  const std::map<std::string, std::string> arguments = {{"ACTION", "test"}, {"--config", config}};
  EXPECT_EQ(RunCommand(MakeAlertCommand(), arguments).exit_code, ExitCode::kFindings) << "nobody is there";
  HealthEventServer server(socket);
  const CommandResult result = RunCommand(MakeAlertCommand(), arguments);
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("nvs       nvsentinel  yes"));
  ASSERT_EQ(server.calls().size(), 2u);
  EXPECT_THAT(server.calls()[0].events.events(0).message(), HasSubstr("This is a test"));
  EXPECT_FALSE(server.calls()[0].events.events(0).is_healthy());
  EXPECT_TRUE(server.calls()[1].events.events(0).is_healthy());
}

}  // namespace
}  // namespace lockstep
