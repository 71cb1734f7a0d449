#include "daemon/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/testing/temporary_directory.h"
#include "daemon/exit_codes.h"
#include "daemon/nearest_name.h"
#include "daemon/version.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Options {
  std::string address = "127.0.0.1:7070";
  int64_t limit = 5;
  double ratio = 0.5;
  bool enabled = false;
  absl::Duration tick = absl::Seconds(1);
  std::vector<std::string> sinks = {"log"};
};

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    settings_.set_default_config_path((directory_.path() / "default.yaml").string());
    settings_.Add("collector.address", &options_.address, "where to send");
    settings_.Add("collector.max_items", &options_.limit, "how many", [this] {
      return options_.limit > 0 ? absl::OkStatus() : absl::InvalidArgumentError("must be positive");
    });
    settings_.Add("ratio", &options_.ratio, "how much");
    settings_.Add("enabled", &options_.enabled, "whether");
    settings_.Add("tick", &options_.tick, "how often");
    settings_.Add("alert.sinks", &options_.sinks, "where to");
  }

  SettingsOutcome Load(std::vector<std::string> arguments) {
    return settings_.Load(arguments, [this](const char* name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }

  // Loads with `text` as the file of --config; returns what was said, with the folder cut off.
  std::string Complaint(const std::string& text) {
    const std::string path = directory_.Write("agent.yaml", text).string();
    const SettingsOutcome outcome = Load({"--config", path});
    EXPECT_EQ(outcome.exit_code, kExitBadConfig);
    std::string said = outcome.text;
    for (size_t at; (at = said.find(directory_.path().string() + "/")) != std::string::npos;) {
      said.erase(at, directory_.path().string().size() + 1);
    }
    return said;
  }

  TemporaryDirectory directory_;
  std::map<std::string, std::string> environment_;
  Options options_;
  Settings settings_{"lockstep-agent", "LOCKSTEP_AGENT_"};
};

TEST_F(SettingsTest, WithoutAnyInputKeepsTheDefaults) {
  EXPECT_EQ(Load({}).exit_code, std::nullopt);
  EXPECT_EQ(options_.address, "127.0.0.1:7070");
  EXPECT_EQ(options_.limit, 5);
}

TEST_F(SettingsTest, WhatAnEarlierReleaseKnewIsLeftOutOfTheFileAndNoted) {
  settings_.Retire("alert.old");
  const std::string path = directory_.Write("agent.yaml", "alert:\n  old: 7\n").string();
  const SettingsOutcome outcome = Load({"--config", path});
  EXPECT_EQ(outcome.exit_code, std::nullopt) << outcome.text;
  EXPECT_THAT(outcome.notes, testing::ElementsAre(path + ":2: alert.old means nothing any more and is left out"));
  EXPECT_THAT(Complaint("alert: {older: 7}\n"), HasSubstr("unknown key 'alert.older'"));
  EXPECT_EQ(Load({"--alert-old=7"}).exit_code, kExitUsage) << "nobody upgrades a command line";
  EXPECT_EQ(settings_.Help().find("old"), std::string::npos);
}

TEST_F(SettingsTest, ASwitchIsAFlagWithoutAValueAndNeitherInTheFileNorInTheEnvironment) {
  bool repair = false;
  settings_.AddSwitch("repair", &repair, "mend");
  environment_["LOCKSTEP_AGENT_REPAIR"] = "true";
  EXPECT_EQ(Load({}).exit_code, std::nullopt);
  EXPECT_FALSE(repair);
  EXPECT_THAT(Complaint("repair: true\n"), HasSubstr("repair"));
  EXPECT_EQ(Load({"--repair=yes"}).exit_code, kExitUsage);
  EXPECT_EQ(Load({"--repair"}).exit_code, std::nullopt);
  EXPECT_TRUE(repair);
  EXPECT_THAT(Load({"--help"}).text, AllOf(HasSubstr("--repair"), HasSubstr("mend")));
}

TEST_F(SettingsTest, ReadsEveryTypeFromYaml) {
  directory_.Write("default.yaml",
                   "collector: {address: 'a:1', max_items: 7}\n"
                   "ratio: 1.25\nenabled: true\ntick: 250ms\nalert:\n  sinks: [webhook, log]\n");
  const SettingsOutcome outcome = Load({});
  EXPECT_EQ(outcome.exit_code, std::nullopt) << outcome.text;
  EXPECT_EQ(options_.address, "a:1");
  EXPECT_EQ(options_.limit, 7);
  EXPECT_EQ(options_.ratio, 1.25);
  EXPECT_TRUE(options_.enabled);
  EXPECT_EQ(options_.tick, absl::Milliseconds(250));
  EXPECT_THAT(options_.sinks, ElementsAre("webhook", "log"));
}

TEST_F(SettingsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  directory_.Write("default.yaml", "ratio: 1\nenabled: true\ntick: 1ms\n");
  environment_ = {{"LOCKSTEP_AGENT_ENABLED", "false"}, {"LOCKSTEP_AGENT_TICK", "2ms"}};
  EXPECT_EQ(Load({"--tick=3ms"}).exit_code, std::nullopt);
  EXPECT_EQ(options_.limit, 5);
  EXPECT_EQ(options_.ratio, 1);
  EXPECT_FALSE(options_.enabled);
  EXPECT_EQ(options_.tick, absl::Milliseconds(3));
}

TEST_F(SettingsTest, FlagsTakeTheirValueBehindEqualsOrAsTheNextWord) {
  EXPECT_EQ(
      Load({"--collector-address", "b:2", "--collector-max-items=9", "--enabled", "--alert-sinks=a, b"}).exit_code,
      std::nullopt);
  EXPECT_EQ(options_.address, "b:2");
  EXPECT_EQ(options_.limit, 9);
  EXPECT_TRUE(options_.enabled);
  EXPECT_THAT(options_.sinks, ElementsAre("a", "b"));
}

TEST_F(SettingsTest, UnknownKeyNamesFileLineAndTheNearestKey) {
  EXPECT_EQ(Complaint("ratio: 1\ncolector:\n  address: x\n"),
            "lockstep-agent: agent.yaml:2: unknown key 'colector'; did you mean 'collector'?\n");
  EXPECT_EQ(Complaint("collector:\n  adress: x\n"),
            "lockstep-agent: agent.yaml:2: unknown key 'collector.adress'; did you mean 'address'?\n");
  EXPECT_EQ(Complaint("zebra: 1\n"), "lockstep-agent: agent.yaml:1: unknown key 'zebra'\n");
}

TEST_F(SettingsTest, WrongTypesSayWhatWasExpectedAndFound) {
  EXPECT_EQ(Complaint("\ncollector:\n  max_items: many\n"),
            "lockstep-agent: agent.yaml:3: collector.max_items: expected integer, found 'many'\n");
  EXPECT_THAT(Complaint("tick: 5\n"), HasSubstr("agent.yaml:1: tick: expected duration such as 10s, found '5'"));
  EXPECT_THAT(Complaint("ratio: [1, 2]\n"), HasSubstr("agent.yaml:1: ratio: expected number, found a list"));
  EXPECT_THAT(Complaint("ratio: {a: 1}\n"), HasSubstr("'ratio': expected a value, found a group of settings"));
  EXPECT_THAT(Complaint("ratio:\n"), HasSubstr("'ratio': expected a value, found nothing"));
  EXPECT_THAT(Complaint("collector: here\n"), HasSubstr("'collector' is a group of settings, found a value"));
  EXPECT_THAT(Complaint("ratio: nan\n"), HasSubstr("expected number"));
}

TEST_F(SettingsTest, BrokenYamlAndDuplicateKeysAreErrorsWithALine) {
  EXPECT_THAT(Complaint("ratio: 1\nenabled: [true\n"), HasSubstr("agent.yaml:"));
  EXPECT_THAT(Complaint("ratio: 1\nratio: 2\n"), HasSubstr("agent.yaml:2: key 'ratio' appears twice"));
  EXPECT_THAT(Complaint("- 1\n"), HasSubstr("expected settings as 'key: value'"));
  EXPECT_THAT(Complaint(std::string((1 << 20) + 1, '#')), HasSubstr("larger than"));
}

TEST_F(SettingsTest, AllErrorsAreReportedTogether) {
  EXPECT_THAT(Complaint("zebra: 1\nratio: x\n"), AllOf(HasSubstr("zebra"), HasSubstr("ratio")));
}

TEST_F(SettingsTest, ValidatorNamesWhereTheValueCameFrom) {
  EXPECT_THAT(Complaint("collector:\n  max_items: -1\n"),
              HasSubstr("agent.yaml:2: collector.max_items: must be positive"));
  environment_ = {{"LOCKSTEP_AGENT_COLLECTOR_MAX_ITEMS", "0"}};
  const SettingsOutcome outcome = Load({});
  EXPECT_EQ(outcome.exit_code, kExitBadConfig);
  EXPECT_THAT(outcome.text, HasSubstr("environment variable LOCKSTEP_AGENT_COLLECTOR_MAX_ITEMS: must be positive"));
}

TEST_F(SettingsTest, WrongFlagsAreUsageErrors) {
  EXPECT_EQ(Load({"--tikc=1s"}).exit_code, kExitUsage);
  EXPECT_THAT(Load({"--tikc=1s"}).text, HasSubstr("unknown flag '--tikc'; did you mean 'tick'?"));
  EXPECT_EQ(Load({"--tick=often"}).exit_code, kExitUsage);
  EXPECT_EQ(Load({"--tick"}).exit_code, kExitUsage);
  EXPECT_EQ(Load({"stray"}).exit_code, kExitUsage);
  EXPECT_EQ(Load({"--help=yes"}).exit_code, kExitUsage);
}

TEST_F(SettingsTest, NamedConfigFileMustExistButTheDefaultNeedNot) {
  const SettingsOutcome outcome = Load({"--config=" + (directory_.path() / "absent.yaml").string()});
  EXPECT_EQ(outcome.exit_code, kExitBadConfig);
  EXPECT_THAT(outcome.text, HasSubstr("absent.yaml: cannot be read"));
  directory_.Write("empty.yaml", "");
  EXPECT_EQ(Load({"--config=" + (directory_.path() / "empty.yaml").string()}).exit_code, std::nullopt);
  EXPECT_EQ(Load({"--config=" + directory_.path().string()}).exit_code, kExitBadConfig);
}

TEST_F(SettingsTest, CheckConfigPrintsOkOrTheErrors) {
  SettingsOutcome outcome = Load({"--check-config"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.text, "OK\n");
  directory_.Write("default.yaml", "zebra: 1\n");
  outcome = Load({"--check-config"});
  EXPECT_EQ(outcome.exit_code, kExitBadConfig);
  EXPECT_THAT(outcome.text, HasSubstr("default.yaml:1: unknown key 'zebra'"));
}

TEST_F(SettingsTest, HelpListsEveryFlagWithItsDefault) {
  const SettingsOutcome outcome = Load({"--help"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("--collector-address=..."), HasSubstr("default '127.0.0.1:7070'"),
                                  HasSubstr("--tick=..."), HasSubstr("default '1s'"), HasSubstr("--check-config")));
}

TEST_F(SettingsTest, VersionIsPrinted) {
  EXPECT_EQ(Load({"--version"}).text, std::string("lockstep-agent ") + kVersion + "\n");
}

TEST(NearestNameTest, ProposesOnlyWhatIsNear) {
  EXPECT_EQ(NearestName("colector", {"agent", "collector"}), "collector");
  EXPECT_EQ(NearestName("zebra", {"agent", "collector"}), "");
  EXPECT_EQ(NearestName("ab", {}), "");
}

}  // namespace
}  // namespace lockstep
