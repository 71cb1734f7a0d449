#include "agent/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "agent/host_places.h"
#include "base/testing/temporary_directory.h"
#include "daemon/exit_codes.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AgentConfigTest : public ::testing::Test {
 protected:
  AgentConfigTest() {
    settings_.set_default_config_path((directory_.path() / "absent.yaml").string());
    AddAgentSettings(options_, settings_);
  }

  SettingsOutcome Load(std::vector<std::string> arguments) {
    return settings_.Load(arguments, [this](const char* name) -> const char* {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }
  std::string Config(const std::string& text) { return "--config=" + directory_.Write("agent.yaml", text).string(); }

  TemporaryDirectory directory_;
  AgentOptions options_;
  Settings settings_{"lockstep-agent", "LOCKSTEP_AGENT_"};
  std::map<std::string, std::string> environment_;
};

TEST_F(AgentConfigTest, DefaultsAreAcceptable) {
  const SettingsOutcome outcome = Load({});
  EXPECT_FALSE(outcome.exit_code.has_value()) << outcome.text;
  EXPECT_EQ(options_.collector_address, "127.0.0.1:7070");
  EXPECT_EQ(options_.tick, absl::Seconds(1));
}

TEST_F(AgentConfigTest, ADcgmExporterOfAnotherMachineIsRefused) {
  EXPECT_EQ(options_.dcgm_exporter_url, "") << "off, if nobody says otherwise";
  EXPECT_FALSE(Load({"--dcgm-exporter-url=http://127.0.0.1:9400/metrics"}).exit_code.has_value());
  const SettingsOutcome outcome = Load({"--dcgm-exporter-url=http://10.0.0.5:9400/metrics"});
  EXPECT_EQ(outcome.exit_code, kExitBadConfig);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("--dcgm-exporter-url"), HasSubstr("127.0.0.1, [::1] or localhost")));
}

TEST_F(AgentConfigTest, TheKernelLogIsReadUnlessItIsSwitchedOff) {
  EXPECT_TRUE(options_.kernel_log);
  environment_ = {{"LOCKSTEP_AGENT_KERNEL_LOG", "false"}};
  EXPECT_FALSE(Load({}).exit_code.has_value());
  EXPECT_FALSE(options_.kernel_log);
}

TEST_F(AgentConfigTest, FlagsOverrideTheEnvironmentWhichOverridesTheFile) {
  environment_ = {{"LOCKSTEP_AGENT_TICK", "3s"}, {"LOCKSTEP_AGENT_OUTBOX_AGE", "3m"}};
  const SettingsOutcome outcome =
      Load({Config("collector: {address: 'c:1'}\ntick: 2s\noutbox: {age: 2m, bytes: 100000}\nhost_name: file\n"),
            "--tick=4s", "--host-name=flag"});
  ASSERT_FALSE(outcome.exit_code.has_value()) << outcome.text;
  EXPECT_EQ(options_.collector_address, "c:1");
  EXPECT_EQ(options_.outbox_bytes, 100000);
  EXPECT_EQ(options_.outbox_age, absl::Minutes(3));
  EXPECT_EQ(options_.tick, absl::Seconds(4));
  EXPECT_EQ(options_.host_name, "flag");
}

TEST_F(AgentConfigTest, AMachineKnowsItsPlaces) {
  environment_ = {{"LOCKSTEP_AGENT_PLACES_LEAF", "leaf-3"}};
  const SettingsOutcome outcome = Load({Config("places: {rack: r12, image: ubuntu}\n"), "--places-power=busway 2"});
  ASSERT_FALSE(outcome.exit_code.has_value()) << outcome.text;
  EXPECT_EQ(options_.places.rack, "r12");
  EXPECT_EQ(options_.places.leaf, "leaf-3");
  EXPECT_EQ(options_.places.power, "busway 2");
  EXPECT_EQ(options_.places.image, "ubuntu");
  for (const std::string& name : {std::string(kMaxPlaceNameBytes + 1, 'r'), std::string("r\\n1")}) {
    EXPECT_EQ(Load({Config("places: {rack: \"" + name + "\"}\n")}).exit_code, kExitBadConfig) << name;
  }
}

TEST_F(AgentConfigTest, EveryValueHasItsBounds) {
  const char* refused[] = {
      "collector: {address: ''}",   "ring_directory: ''",   "root: ''",          "tick: 49ms", "tick: 61s",
      "source_deadline: 0s",        "source_deadline: 31s", "drain: -1s",        "drain: 61s", "outbox: {bytes: 65535}",
      "outbox: {bytes: 268435457}", "outbox: {age: 999ms}", "outbox: {age: 25h}"};
  for (const char* text : refused) {
    AgentOptions options;
    Settings settings("lockstep-agent", "LOCKSTEP_AGENT_");
    AddAgentSettings(options, settings);
    const SettingsOutcome outcome = settings.Load({Config(text)}, [](const char*) { return nullptr; });
    EXPECT_EQ(outcome.exit_code, kExitBadConfig) << text;
    EXPECT_THAT(outcome.text, HasSubstr("agent.yaml")) << text;
  }
}

TEST_F(AgentConfigTest, CheckConfigSaysOkOrEverythingThatIsWrong) {
  EXPECT_EQ(Load({"--check-config", Config("tick: 2s\n")}).exit_code, kExitOk);
  const SettingsOutcome outcome = Load({"--check-config", Config("tick: often\ndrain: soon\ncolector: {}\n")});
  EXPECT_EQ(outcome.exit_code, kExitBadConfig);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("tick"), HasSubstr("drain"), HasSubstr("colector")));
}

TEST_F(AgentConfigTest, AHostNameIsTheConfiguredOneOrTheMachines) {
  EXPECT_EQ(HostNameOr("node-1"), "node-1");
  EXPECT_NE(HostNameOr(""), "");
}

}  // namespace
}  // namespace lockstep
