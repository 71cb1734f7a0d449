#include "cli/commands/alert_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "collector/alert/testing/http_receiver.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AlertCommandTest : public ::testing::Test {
 protected:
  AlertCommandTest() {
    Write("secret", "s3cret\n");
    Write("alerts.yaml",
          absl::StrCat("receivers:\n"
                       "  - {name: good, type: webhook, url: '",
                       good_.url(), "', secret_file: ", (directory_.path() / "secret").string(), "}\n",
                       "  - {name: bad, type: slack, url: '", bad_.url(), "'}\n",
                       "routes:\n"
                       "  - {match: {severity: critical, host: 'node-*'}, receivers: bad, continue: true}\n"
                       "  - {match: {job: 'dev-*'}, receivers: []}\n"
                       "  - {match: {scope: machine}, receivers: [good, bad]}\n"));
  }

  void Write(const char* name, const std::string& text) { std::ofstream(directory_.path() / name) << text; }

  CommandResult Alert(std::map<std::string, std::string> arguments, OutputFormat format = OutputFormat::kTable) {
    arguments.emplace("--config", directory_.path() / "alerts.yaml");
    return RunCommand(MakeAlertCommand(), arguments, format);
  }

  TemporaryDirectory directory_;
  HttpReceiver good_;
  HttpReceiver bad_;
};

TEST_F(AlertCommandTest, EachReceiverIsToldAndItsAnswerPrinted) {
  bad_.AnswerNext({{404, "", "no_service"}});
  const CommandResult result = Alert({{"ACTION", "test"}});
  EXPECT_EQ(result.exit_code, ExitCode::kFindings) << result.error;
  EXPECT_THAT(result.out, HasSubstr("good      webhook  yes"));
  EXPECT_THAT(result.out, HasSubstr("bad       slack    no       status 404: no_service"));
  ASSERT_EQ(good_.requests().size(), 2u) << "it begins, and it ends";
  const auto first = nlohmann::json::parse(good_.requests()[0].body);
  EXPECT_EQ(first["status"], "firing");
  EXPECT_THAT(first["commonAnnotations"]["description"], HasSubstr("This is a test"));
  EXPECT_EQ(nlohmann::json::parse(good_.requests()[1].body)["status"], "resolved");
  EXPECT_THAT(good_.requests()[0].headers.at("X-Lockstep-Signature"), HasSubstr(",v1="));
  EXPECT_EQ(result.out.find("s3cret"), std::string::npos);
}

TEST_F(AlertCommandTest, OneReceiverAloneCanBeTried) {
  const CommandResult result = Alert({{"ACTION", "test"}, {"--receiver", "good"}}, OutputFormat::kJson);
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["receiver"], "good");
  EXPECT_EQ(json[0]["taken"], true);
  EXPECT_EQ(bad_.requests().size(), 0u);
  EXPECT_THAT(Alert({{"ACTION", "test"}, {"--receiver", "none"}}).error, HasSubstr("receiver 'none' is not in "));
}

TEST_F(AlertCommandTest, RoutesAreAskedWithoutTellingAnybody) {
  const auto route = [this](std::map<std::string, std::string> arguments) {
    arguments.emplace("ACTION", "route");
    return nlohmann::json::parse(Alert(arguments, OutputFormat::kJson).out)["receivers"]
        .get<std::vector<std::string>>();
  };
  EXPECT_THAT(route({}), ElementsAre("bad", "good"));
  EXPECT_THAT(route({{"--severity", "critical"}, {"--host", "node-1"}, {"--job", "dev-1"}}), ElementsAre("bad"));
  EXPECT_THAT(route({{"--class", "gpu_fault"}, {"--job", "dev-1"}}), ElementsAre());
  const CommandResult table = Alert({{"ACTION", "route"}, {"--severity", "critical"}, {"--host", "node-1"}});
  EXPECT_EQ(table.out, "LINE  RECEIVERS  THEN\n   5  bad        goes on\n   7  good, bad  ends\n");
  EXPECT_EQ(Alert({{"ACTION", "route"}, {"--scope", "network"}}).out, "no route fits: nobody would be told\n");
  EXPECT_EQ(good_.requests().size() + bad_.requests().size(), 0u);
}

TEST_F(AlertCommandTest, TheHookIsAskedWithoutBeingRun) {
  const std::string ran = (directory_.path() / "ran").string();
  const auto write = [this, &ran](const char* run) {
    Write("alerts.yaml", absl::StrCat("hook:\n  command: ", ran, "\n  run: ", run,
                                      "\n  match:\n    - {class: deadlock}\n    - {class: gpu_fault}\n"));
  };
  const std::map<std::string, std::string> fault = {{"ACTION", "route"}, {"--class", "gpu_fault"}};
  write("true");
  EXPECT_THAT(Alert(fault).out,
              HasSubstr(absl::StrCat("hook: the match of line 6 fits, ", ran,
                                     " would be run: at most 4 times an hour, and on at most 5% of")));
  const auto json = nlohmann::json::parse(Alert(fault, OutputFormat::kJson).out)["hook"];
  EXPECT_EQ(json["outcome"], "run");
  EXPECT_EQ(json["line"], 6);
  EXPECT_THAT(Alert({{"ACTION", "route"}}).out, HasSubstr("hook: no match fits, "));
  write("false");
  EXPECT_THAT(Alert(fault).out, HasSubstr("would not be run, the log would say so (run: false)"));
  EXPECT_EQ(nlohmann::json::parse(Alert(fault, OutputFormat::kJson).out)["hook"]["outcome"], "dry_run");
  EXPECT_FALSE(std::filesystem::exists(ran));
}

TEST_F(AlertCommandTest, WhatIsAskedWronglyIsSaid) {
  EXPECT_THAT(Alert({{"ACTION", "tset"}}).error, HasSubstr("'tset' is neither test nor route"));
  EXPECT_THAT(Alert({{"ACTION", "route"}, {"--severity", "fatal"}}).error, HasSubstr("--severity"));
  EXPECT_THAT(Alert({{"ACTION", "route"}, {"--severity", "warning"}, {"--class", "deadlock"}}).error,
              HasSubstr("never warning"));
  Write("alerts.yaml", "receivers: [{name: a}]\n");
  EXPECT_THAT(Alert({{"ACTION", "route"}}).error, HasSubstr("alerts.yaml: line 1: 'type' is missing"));
}

}  // namespace
}  // namespace lockstep
