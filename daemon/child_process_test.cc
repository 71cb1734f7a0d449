#include "daemon/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class ChildProcessTest : public testing::Test {
 protected:
  std::string Script(const std::string& text, mode_t mode = 0755) {
    const std::string path = directory_.path() / "script";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  const TemporaryDirectory directory_;
};

TEST_F(ChildProcessTest, ReadsItsInputAndSaysHowItEnded) {
  const auto result = RunChild({.program = Script("cat; echo oops >&2; exit 3"), .input = "hello\n"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->output, "hello\noops\n");
  EXPECT_FALSE(result->timed_out);
}

TEST_F(ChildProcessTest, InheritsNothing) {
  ASSERT_EQ(setenv("LOCKSTEP_SECRET", "x", 1), 0);
  const auto result = RunChild({.program = Script("/usr/bin/env; pwd; ls /proc/self/fd | wc -l"),
                                .environment = {"PATH=/usr/bin:/bin", "NAME=value"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->output, HasSubstr("NAME=value"));
  EXPECT_EQ(result->output.find("LOCKSTEP_SECRET"), std::string::npos);
  EXPECT_THAT(result->output, HasSubstr("/\n4\n"));  // its three, and the folder that ls reads
}

TEST_F(ChildProcessTest, OutputIsBounded) {
  const auto result = RunChild({.program = Script("/usr/bin/head -c 1000000 /dev/zero"), .max_output_bytes = 100});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->output.size(), 100u);
  EXPECT_EQ(result->output_bytes, 1'000'000u);
}

// The grandchild holds the pipe open, and would for an hour.
TEST_F(ChildProcessTest, TheWholeGroupIsKilledWhenItsTimeIsOver) {
  const auto result = RunChild({.program = Script("/usr/bin/sleep 3600 & echo $!; wait"), .timeout_ns = 200'000'000});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->exit_code, -1);
  int grandchild = 0;
  ASSERT_TRUE(absl::SimpleAtoi(result->output.substr(0, result->output.find('\n')), &grandchild)) << result->output;
  while (true) {  // until it is gone, or nobody has waited for it yet
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    std::string pid, name, state;
    if (!(stat >> pid >> name >> state) || state == "Z") break;
  }
}

TEST_F(ChildProcessTest, WhatItLeavesBehindIsKilledWhenItEnds) {
  const auto result = RunChild({.program = Script("/usr/bin/sleep 3600 & exit 0")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
}

TEST_F(ChildProcessTest, IsStoppedWhenTheCallerEnds) {
  std::atomic<bool> stop{true};
  const auto result = RunChild({.program = Script("/usr/bin/sleep 3600"), .stop = &stop});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->timed_out);
}

TEST_F(ChildProcessTest, SaysWhyItCannotBeStarted) { EXPECT_FALSE(RunChild({.program = "/nonexistent/program"}).ok()); }

TEST_F(ChildProcessTest, TrustsNoProgramThatOthersMayWrite) {
  EXPECT_TRUE(CheckTrustedProgram(Script("")).ok()) << CheckTrustedProgram(Script(""));
  EXPECT_FALSE(CheckTrustedProgram(Script("", 0775)).ok());
  EXPECT_FALSE(CheckTrustedProgram(Script("", 0757)).ok());
  EXPECT_FALSE(CheckTrustedProgram(Script("", 0644)).ok()) << "not executable";
  EXPECT_FALSE(CheckTrustedProgram("script").ok());
  EXPECT_FALSE(CheckTrustedProgram("/nonexistent/program").ok());
  const std::string path = Script("");
  ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  EXPECT_FALSE(CheckTrustedProgram(path).ok()) << "its folder";
}

}  // namespace
}  // namespace lockstep
