#include "daemon/settings_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Options {
  std::string level = "info";
  int64_t least = 1;
  int64_t most = 9;
  std::string address = "a:1";
};

void Bind(Settings& settings, Options& options) {
  settings.Add("level", &options.level, "");
  settings.Add("limits.least", &options.least, "", [&options] {
    return options.least > 0 ? absl::OkStatus() : absl::InvalidArgumentError("must be positive");
  });
  settings.Add("limits.most", &options.most, "");
  settings.Add("address", &options.address, "");
}

// A daemon that takes on `level` and, together, both limits; `address` is for its next start.
class SettingsReloadTest : public ::testing::Test {
 protected:
  SettingsReloadTest() {
    Bind(settings_, options_);
    Bind(again_, renewed_);
    Write("address: b:1\n");
    EXPECT_THAT(settings_.Load(arguments_, environment_).problems, IsEmpty());
  }

  void Write(const std::string& text) { directory_.Write("agent.yaml", text); }

  SettingsReload Start() {
    return SettingsReload(
        settings_, again_,
        {{{"level"}, [this] { return level_status_; }}, {{"limits.least", "limits.most"}, [this] {
                                                           limits_.push_back({renewed_.least, renewed_.most});
                                                           return absl::OkStatus();
                                                         }}});
  }

  TemporaryDirectory directory_;
  Options options_;
  Options renewed_;
  Settings settings_{"lockstep-agent", "LOCKSTEP_AGENT_"};
  Settings again_{"lockstep-agent", "LOCKSTEP_AGENT_"};
  const std::vector<std::string> arguments_ = {"--config", (directory_.path() / "agent.yaml").string(),
                                               "--limits-most=8"};
  const Settings::EnvironmentLookup environment_ = [](const char*) { return nullptr; };
  absl::Status level_status_;
  std::vector<std::vector<int64_t>> limits_;  // as they were applied
};

TEST_F(SettingsReloadTest, NothingChangedMeansNothingDone) {
  SettingsReload reload = Start();
  const ReloadOutcome outcome = reload.Reload();
  EXPECT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.applied, IsEmpty());
  EXPECT_THAT(outcome.need_restart, IsEmpty());
  EXPECT_THAT(limits_, IsEmpty());
}

TEST_F(SettingsReloadTest, AppliesOnceWhatItCanAndNamesTheRestUntilTheRestart) {
  SettingsReload reload = Start();
  Write("level: debug\nlimits: {least: 2, most: 4}\naddress: c:1\n");
  ReloadOutcome outcome = reload.Reload();
  EXPECT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.applied, ElementsAre("level", "limits.least"));
  EXPECT_THAT(outcome.need_restart, ElementsAre("address"));
  EXPECT_THAT(limits_, ElementsAre(ElementsAre(2, 8))) << "a flag still overrides the file";
  outcome = reload.Reload();
  EXPECT_THAT(outcome.applied, IsEmpty());
  EXPECT_THAT(outcome.need_restart, ElementsAre("address"));
  Write("address: b:1\n");
  outcome = reload.Reload();
  EXPECT_THAT(outcome.applied, ElementsAre("level", "limits.least")) << "what the file no longer says is the default";
  EXPECT_THAT(outcome.need_restart, IsEmpty());
  EXPECT_THAT(limits_, ElementsAre(ElementsAre(2, 8), ElementsAre(1, 8)));
  EXPECT_EQ(options_.address, "b:1");
}

TEST_F(SettingsReloadTest, WhatASettingNamesIsReadAgainThoughTheSettingIsTheSame) {
  int reads = 0;
  absl::Status status;
  SettingsReload reload(settings_, again_,
                        {{{"level"},
                          [&] {
                            ++reads;
                            return status;
                          },
                          /*reads_file=*/true}});
  EXPECT_TRUE(reload.Reload().ok());
  EXPECT_EQ(reads, 1);
  status = absl::InvalidArgumentError("line 3");
  const ReloadOutcome outcome = reload.Reload();
  EXPECT_THAT(outcome.problems, ElementsAre("level: line 3"));
  EXPECT_THAT(outcome.applied, IsEmpty());
}

TEST_F(SettingsReloadTest, AFileThatIsWrongAnywhereChangesNothingAndIsNamedWithItsLine) {
  SettingsReload reload = Start();
  Write("level: debug\nlimits:\n  least: 0\n");
  ReloadOutcome outcome = reload.Reload();
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.problems, ElementsAre(EndsWith("agent.yaml:3: limits.least: must be positive")));
  EXPECT_THAT(outcome.applied, IsEmpty());
  EXPECT_THAT(limits_, IsEmpty());
  Write("level: [debug\n");
  EXPECT_THAT(reload.Reload().problems, ElementsAre(HasSubstr("agent.yaml:")));
  Write("level: debug\naddress: b:1\n");
  EXPECT_THAT(reload.Reload().applied, ElementsAre("level"));
}

TEST_F(SettingsReloadTest, WhatCannotBeAppliedIsTriedAgain) {
  SettingsReload reload = Start();
  Write("level: debug\nlimits: {least: 3}\naddress: b:1\n");
  level_status_ = absl::UnavailableError("not now");
  ReloadOutcome outcome = reload.Reload();
  EXPECT_THAT(outcome.problems, ElementsAre("level: not now"));
  EXPECT_THAT(outcome.applied, ElementsAre("limits.least"));
  level_status_ = absl::OkStatus();
  outcome = reload.Reload();
  EXPECT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.applied, ElementsAre("level"));
}

}  // namespace
}  // namespace lockstep
