// The agent as a process: what it says and how it leaves when it cannot start.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/temporary_directory.h"
#include "daemon/exit_codes.h"
#include "daemon/http_server.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class AgentStartTest : public ::testing::Test {
 protected:
  struct Outcome {
    int exit_code = -1;  // -1 = killed
    std::string text;    // stdout and stderr
  };

  // Runs the agent with `flags` until it leaves.
  Outcome RunAgent(std::vector<std::string> flags) const {
    const std::string output = (directory_.path() / "output").string();
    std::vector<std::string> command = {std::string(std::getenv("TEST_SRCDIR")) + "/lockstep/agent/lockstep-agent"};
    command.insert(command.end(), flags.begin(), flags.end());
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (freopen(output.c_str(), "w", stdout) != nullptr && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0) {
        execv(arguments[0], arguments.data());
      }
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::ifstream file(output);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>())};
  }

  TemporaryDirectory directory_;
};

TEST_F(AgentStartTest, CheckConfigAnswersWithoutStarting) {
  const Outcome good = RunAgent({"--check-config", "--tick=2s"});
  EXPECT_EQ(good.exit_code, kExitOk);
  EXPECT_THAT(good.text, HasSubstr("OK"));
  const std::string config = directory_.Write("agent.yaml", "tick: 2h\n").string();
  const Outcome bad = RunAgent({"--check-config", "--config=" + config});
  EXPECT_EQ(bad.exit_code, kExitBadConfig);
  EXPECT_THAT(bad.text, HasSubstr(config + ":1"));
}

TEST_F(AgentStartTest, EachKindOfFailureHasItsExitCodeAndNamesItsCause) {
  const auto busy = HttpServer::Start("127.0.0.1:0", {});
  ASSERT_TRUE(busy.ok());
  const std::string taken = "127.0.0.1:" + std::to_string((*busy)->port());
  const struct {
    std::vector<std::string> flags;
    int exit_code;
    std::string cause;
  } cases[] = {
      {{"--no-such-flag=1"}, kExitUsage, "no-such-flag"},
      {{"--root=/nonexistent/root"}, kExitBadConfig, "/nonexistent/root"},
      {{"--listen-address=" + taken}, kExitPortInUse, taken},
      {{"--listen-address=nowhere"}, kExitBadConfig, "nowhere"},
      {{"--listen-address=127.0.0.1:0", "--ports-file=/nonexistent/ports.json"},
       kExitInternal,
       "/nonexistent/ports.json"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> flags = c.flags;
    flags.push_back("--collector-address=127.0.0.1:1");
    const Outcome outcome = RunAgent(flags);
    EXPECT_EQ(outcome.exit_code, c.exit_code) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(c.cause));
  }
}

}  // namespace
}  // namespace lockstep
