#include "cli/commands/sim_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "cli/whole_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

CommandResult Sim(const std::map<std::string, std::string>& arguments, OutputFormat format = OutputFormat::kTable) {
  return RunCommand(MakeSimCommand(), arguments, format);
}

class SimTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() / name; }
  std::string Text(const std::string& name) const { return *ReadWholeFileOrEmpty(Path(name)); }
  std::map<std::string, std::string> Small() const {
    return {{"DIRECTORY", directory_.path()}, {"--gpus", "16"}, {"--steps", "6"}};
  }

  TemporaryDirectory directory_;
};

TEST_F(SimTest, WritesOperationsAndTheTruth) {
  std::map<std::string, std::string> arguments = Small();
  arguments["--faults"] = "compute_slow:5@3*0.5";
  const CommandResult result = Sim(arguments);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_THAT(result.out, HasSubstr("16 ranks on 2 hosts, 6 steps"));
  EXPECT_THAT(Text("ops.csv"), HasSubstr("job,host,gpu,rank,comm"));
  const auto truth = nlohmann::json::parse(Text("truth.json"));
  EXPECT_EQ(truth["causes"][0]["class"], "compute_slow");
  EXPECT_EQ(truth["causes"][0]["culprits"][0]["rank"], 5);
  EXPECT_EQ(truth["state"], "slow");
  EXPECT_FALSE(std::filesystem::exists(Path("metrics.csv")));
  EXPECT_FALSE(std::filesystem::exists(Path("capture.lockcap")));
}

TEST_F(SimTest, SaysWhenTheRecordersOfMachinesThatAnswerWereRead) {
  std::map<std::string, std::string> arguments = Small();
  arguments.insert({{"--faults", "machine_unreachable:1@3"}, {"--read-after", "60"}});
  ASSERT_EQ(Sim(arguments).exit_code, ExitCode::kOk);
  std::istringstream rows(Text("ops.csv"));
  std::string row;
  ASSERT_TRUE(std::getline(rows, row));
  EXPECT_THAT(row, ::testing::EndsWith(",taken_ns"));
  std::map<std::string, int> said;  // rows with a reading, by host
  while (std::getline(rows, row)) {
    const std::string host = row.substr(6, 10);  // behind "job-1,"
    said[host] += row.back() == ',' ? 0 : 1;
  }
  EXPECT_EQ(said, (std::map<std::string, int>{{"node-00000", 8}, {"node-00001", 0}}));
}

TEST_F(SimTest, WritesCompressedFilesCountersAndACapture) {
  std::map<std::string, std::string> arguments = Small();
  arguments.insert({{"--compress", "zst"}, {"--metrics", ""}, {"--capture", ""}});
  const CommandResult result = Sim(arguments);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  for (const char* name : {"ops.csv.zst", "metrics.csv.zst", "capture.lockcap", "truth.json"}) {
    EXPECT_GT(std::filesystem::file_size(Path(name)), 100u) << name;
  }
}

TEST_F(SimTest, SameSeedSameFiles) {
  std::map<std::string, std::string> arguments = Small();
  arguments["--capture"] = "";
  ASSERT_EQ(Sim(arguments).exit_code, ExitCode::kOk);
  const std::string operations = Text("ops.csv");
  const std::string capture = Text("capture.lockcap");
  ASSERT_EQ(Sim(arguments).exit_code, ExitCode::kOk);
  EXPECT_EQ(Text("ops.csv"), operations);
  EXPECT_EQ(Text("capture.lockcap"), capture);
  arguments["--seed"] = "2";
  ASSERT_EQ(Sim(arguments).exit_code, ExitCode::kOk);
  EXPECT_NE(Text("ops.csv"), operations);
}

TEST_F(SimTest, ListsTheFaults) {
  EXPECT_THAT(Sim({{"--list-faults", ""}}).out, HasSubstr("nic_send_slow"));
  const auto list = nlohmann::json::parse(Sim({{"--list-faults", ""}}, OutputFormat::kJson).out);
  EXPECT_EQ(list.size(), 27u);
}

TEST_F(SimTest, RefusesWhatMakesNoJob) {
  EXPECT_EQ(Sim({}).exit_code, ExitCode::kUsage);
  const std::map<std::string, std::string> wrong[] = {{{"--gpus", "7"}},      {{"--dimensions", "9"}},
                                                      {{"--faults", "flu"}},  {{"--compress", "lzma"}},
                                                      {{"--lost", "plenty"}}, {{"--interleave", "99"}}};
  for (const std::map<std::string, std::string>& one : wrong) {
    std::map<std::string, std::string> arguments = Small();
    for (const auto& [name, value] : one) arguments[name] = value;
    EXPECT_EQ(Sim(arguments).exit_code, ExitCode::kUsage) << one.begin()->first;
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SimTest, TheSecondSimulatorDrawsItsOwnWorld) {
  const std::map<std::string, std::string> arguments = {
      {"DIRECTORY", directory_.path()}, {"--kind", "hang_program"}, {"--world", "3"}};
  const CommandResult result = Sim(arguments);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  EXPECT_TRUE(std::filesystem::exists(Path("ops.csv")));
  const auto truth = nlohmann::json::parse(Text("truth.json"));
  EXPECT_EQ(truth["faults"][0]["kind"], "hang_not_entered");
  const CommandResult unknown = Sim({{"DIRECTORY", directory_.path()}, {"--kind", "no-such-kind"}});
  EXPECT_EQ(unknown.exit_code, ExitCode::kUsage);
  EXPECT_THAT(unknown.error, HasSubstr("hang_program"));
}

TEST_F(SimTest, WhatOneSimulatorWouldIgnoreIsRefused) {
  const CommandResult world = Sim({{"DIRECTORY", directory_.path()}, {"--world", "3"}});
  EXPECT_EQ(world.exit_code, ExitCode::kUsage);
  EXPECT_THAT(world.error, HasSubstr("--world goes with --kind"));
  for (const char* name : {"--gpus", "--seed", "--faults", "--metrics", "--feed"}) {
    const CommandResult result = Sim({{"DIRECTORY", directory_.path()}, {"--kind", "healthy"}, {name, "16"}});
    EXPECT_EQ(result.exit_code, ExitCode::kUsage) << name;
    EXPECT_THAT(result.error, HasSubstr(name));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace lockstep
