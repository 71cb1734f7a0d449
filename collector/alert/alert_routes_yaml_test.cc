#include "collector/alert/alert_routes_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "collector/alert/testing/sample_incident.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::map<std::string, std::string> kFiles = {
    {"/key", "R0\n"}, {"/token", "xoxb-0"}, {"/url", "https://hooks.slack.com/services/T/B/s\n"},
    {"/two", "a b"},  {"/empty", "\n"},
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto found = kFiles.find(path);
  if (found == kFiles.end()) return absl::InvalidArgumentError(path + ": cannot be read: no such file");
  return found->second;
}

Tenants Teams() {
  return {{"vision", {Wildcard::Parse("vision-*", "*").value(), Wildcard::Parse("resnet", "*").value()}}, {"new", {}}};
}

absl::StatusOr<AlertRoutes> Parse(const std::string& text) { return ParseAlertRoutes(text, Teams(), ReadFile); }

std::string ErrorOf(const std::string& text) { return std::string(Parse(text).status().message()); }

constexpr char kWhole[] = R"(fleet: prod-a
external_url: https://lockstep.example.org/{incident}
runbook_url: https://wiki.example.org/r
stacks_url: https://collector.example.org:9091/incidents/{incident}/stacks.svg
receivers:
  - {name: am, type: alertmanager, urls: ["http://am-0:9093", "http://am-1:9093/"], repeat: 30s}
  - {name: oncall, type: pagerduty, key_file: /key}
  - {name: chat, type: slack, token_file: /token, channel: C1}
  - {name: hook, type: slack, url_file: /url}
  - {name: tickets, type: webhook, url: "http://tickets", secret_file: /key, headers: {X-Team: ml infra}}
routes:
  - {match: {severity: critical, scope: [machine, network]}, receivers: oncall, continue: true}
  - {match: {tenant: vision}, receivers: [chat]}
  - {match: {class: [compute_slow, slow_unexplained], host: "node-*"}, receivers: [tickets, hook]}
  - {match: {job: ["dev-*", "*-debug"]}, receivers: []}
  - {receivers: [am]}
)";

std::set<std::string> Told(const char* job, const char* verdict_class, const char* host, const char* scope) {
  wire::Incident incident = SlowRank();
  incident.set_job(job);
  incident.mutable_verdict()->set_class_(verdict_class);
  incident.mutable_verdict()->set_scope(scope);
  incident.mutable_verdict()->mutable_culprits(0)->set_host(host);
  return ReceiversFor(Parse(kWhole).value(), incident);
}

TEST(AlertRoutesYamlTest, ReceiversAreReadWithTheirSecrets) {
  const AlertRoutes routes = Parse(kWhole).value();
  EXPECT_EQ(routes.links.fleet, "prod-a");
  EXPECT_EQ(routes.links.runbook_url, "https://wiki.example.org/r");
  ASSERT_EQ(routes.receivers.size(), 5u);
  const ReceiverSpec& am = routes.receivers[0];
  EXPECT_EQ(am.type, ReceiverType::kAlertmanager);
  EXPECT_EQ(am.repeat_ns, 30'000'000'000);
  EXPECT_EQ(CourierName(am, am.urls[0]), "am http://am-0:9093");
  EXPECT_EQ(routes.receivers[1].key, "R0");
  EXPECT_THAT(routes.receivers[1].urls, ElementsAre("https://events.pagerduty.com/v2/enqueue"));
  EXPECT_EQ(CourierName(routes.receivers[1], routes.receivers[1].urls[0]), "oncall");
  EXPECT_EQ(routes.receivers[2].token, "xoxb-0");
  EXPECT_THAT(routes.receivers[2].urls, ElementsAre("https://slack.com/api/chat.postMessage"));
  EXPECT_THAT(routes.receivers[3].urls, ElementsAre("https://hooks.slack.com/services/T/B/s"));
  EXPECT_EQ(routes.receivers[4].secret, "R0");
  EXPECT_THAT(routes.receivers[4].headers, ElementsAre("X-Team: ml infra"));
}

TEST(AlertRoutesYamlTest, TheFirstRouteThatFitsCountsUnlessItGoesOn) {
  EXPECT_THAT(Told("llama", "gpu_fault", "a", "machine"), UnorderedElementsAre("oncall", "am"));
  EXPECT_THAT(Told("llama", "gpu_fault", "a", "software"), UnorderedElementsAre("am"));
  EXPECT_THAT(Told("vision-2", "gpu_fault", "a", "machine"), UnorderedElementsAre("oncall", "chat"));
  EXPECT_THAT(Told("resnet", "host_slow", "a", "machine"), UnorderedElementsAre("chat"));
  EXPECT_THAT(Told("llama", "compute_slow", "node-1", "machine"), UnorderedElementsAre("tickets", "hook"));
  EXPECT_THAT(Told("llama", "compute_slow", "gpu-1", "machine"), UnorderedElementsAre("am"));
  EXPECT_THAT(Told("x-debug", "host_slow", "a", "machine"), IsEmpty());
}

TEST(AlertRoutesYamlTest, ARouteByHostLooksAtEachCulprit) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->mutable_culprits(0)->set_host("gpu-1");
  incident.mutable_verdict()->add_culprits()->set_host("node-2");
  EXPECT_THAT(ReceiversFor(Parse(kWhole).value(), incident), UnorderedElementsAre("tickets", "hook"));
  incident.mutable_verdict()->clear_culprits();
  EXPECT_THAT(ReceiversFor(Parse(kWhole).value(), incident), UnorderedElementsAre("am"));
}

TEST(AlertRoutesYamlTest, WhatIsWrongIsToldWithItsLine) {
  const auto of = [](const std::string& receiver) {
    return ErrorOf(absl::StrCat("receivers:\n  - ", receiver, "\nroutes:\n  - {receivers: [a]}\n"));
  };
  EXPECT_EQ(ErrorOf("a\n"),
            "line 1: expected a map of fleet, external_url, runbook_url, stacks_url, receivers, routes, hook");
  EXPECT_EQ(ErrorOf("\nrecievers: []\n"), "line 2: unknown key 'recievers'; did you mean 'receivers'?");
  EXPECT_EQ(ErrorOf("fleet: two words\n"), "line 1: 'fleet' must be one word of at most 100 letters");
  EXPECT_THAT(ErrorOf("receivers: [}"), StartsWith("line 1: "));
  EXPECT_EQ(of("{name: a}"), "line 2: 'type' is missing");
  EXPECT_EQ(of("{name: a, type: pagerdty}"),
            "line 2: type 'pagerdty': expected webhook, alertmanager, pagerduty, slack, nvsentinel; did you mean "
            "'pagerduty'?");
  EXPECT_EQ(of("{type: webhook, url: 'http://a'}"), "line 2: 'name' is missing");
  EXPECT_EQ(of("{name: a b, type: webhook}"), "line 2: the name of a receiver has letters, digits, - and _ only");
  EXPECT_THAT(of("{name: a, type: webhook, channel: c}"), HasSubstr("line 2: unknown key 'channel'"));
  EXPECT_EQ(of("{name: a, type: webhook}"), "line 2: where is it? A URL is missing");
  EXPECT_EQ(of("{name: a, type: webhook, url: 'ftp://a'}"), "line 2: a URL begins with http:// or https://");
  EXPECT_EQ(of("{name: a, type: alertmanager, urls: ['http://a', 'http://a']}"), "line 2: a URL appears twice");
  EXPECT_EQ(of("{name: a, type: webhook, url: 'http://a', headers: {Authorization: x}}"),
            "line 2: a secret does not stand in this file: use 'token_file'");
  EXPECT_THAT(of("{name: a, type: webhook, url: 'http://a', headers: {X-A: \"b\\nc\"}}"), HasSubstr("one line"));
  EXPECT_EQ(of("{name: a, type: alertmanager, urls: ['http://a'], repeat: 0s}"),
            "line 2: 'repeat' must be from 1s to 1h");
}

TEST(AlertRoutesYamlTest, NvsentinelIsReachedAtASocketWithATokenThatIsReadLater) {
  const auto parse = [](const std::string& keys) {
    return Parse(
        absl::StrCat("receivers:\n  - {name: nvs, type: nvsentinel", keys, "}\nroutes:\n  - {receivers: [nvs]}\n"));
  };
  const absl::StatusOr<AlertRoutes> routes = parse(", socket: /run/nvs.sock, token_file: /token");
  ASSERT_TRUE(routes.ok()) << routes.status();
  const ReceiverSpec& receiver = routes->receivers[0];
  EXPECT_EQ(receiver.type, ReceiverType::kNvsentinel);
  EXPECT_THAT(receiver.urls, ElementsAre("unix:/run/nvs.sock"));
  EXPECT_EQ(receiver.token_file, "/token");
  EXPECT_EQ(receiver.token, "");
  EXPECT_EQ(parse(", socket: /run/nvs.sock")->receivers[0].token_file, "") << "it speaks of its own node then";
  const auto error_of = [&](const std::string& keys) { return std::string(parse(keys).status().message()); };
  EXPECT_EQ(error_of(""), "line 2: 'socket' is missing");
  EXPECT_THAT(error_of(", socket: run/nvs.sock"), HasSubstr("'socket' must be an absolute path"));
  EXPECT_THAT(error_of(absl::StrCat(", socket: /", std::string(107, 'a'))), HasSubstr("at most 107 bytes"));
  EXPECT_THAT(error_of(", socket: /run/nvs.sock, token_file: /nowhere"), HasSubstr("no such file"));
  EXPECT_THAT(error_of(", socket: /run/nvs.sock, url: 'http://a'"), HasSubstr("unknown key 'url'"));
}

TEST(AlertRoutesYamlTest, AHookIsReadWithItsLimits) {
  const absl::StatusOr<AlertRoutes> routes = Parse(
      "hook: {command: /h, run: true, match: [{class: gpu_fault}], environment: {A: b}, timeout: 5s, every: 2m,\n"
      "  max_per_hour: 7, max_share: 0.5}\n");
  ASSERT_TRUE(routes.ok()) << routes.status();
  const HookSpec& hook = routes->hook;
  EXPECT_TRUE(hook.run);
  EXPECT_EQ(hook.command, "/h");
  EXPECT_THAT(hook.environment, testing::ElementsAre("A=b"));
  EXPECT_EQ(hook.timeout_ns, 5'000'000'000);
  EXPECT_EQ(hook.every_ns, 120'000'000'000);
  EXPECT_EQ(hook.max_per_hour, 7);
  EXPECT_EQ(hook.max_share, 0.5);
  ASSERT_EQ(hook.matches.size(), 1u);
  EXPECT_FALSE(Fits(hook.matches[0], SlowRank()));
  const HookSpec usual = Parse("hook: {command: /h, match: [{}]}").value().hook;
  EXPECT_FALSE(usual.run);
  EXPECT_TRUE(Fits(usual.matches.at(0), SlowRank()));
}

TEST(AlertRoutesYamlTest, WhatIsWrongWithAHookIsTold) {
  const auto of = [](const std::string& rest) { return ErrorOf(absl::StrCat("hook: {match: [{}], ", rest, "}\n")); };
  EXPECT_EQ(ErrorOf("hook: {command: /h}\n"), "line 1: 'match' must list what it is run for, as routes have it");
  EXPECT_EQ(of("run: true"), "line 1: 'command' is missing");
  EXPECT_EQ(of("command: h"), "line 1: 'command' must be an absolute path");
  EXPECT_EQ(of("command: /h, run: yes"), "line 1: 'run' must be true or false");
  EXPECT_EQ(of("command: /h, timeout: 2h"), "line 1: 'timeout' must be from 1s to 1h");
  EXPECT_EQ(of("command: /h, max_per_hour: 101"), "line 1: 'max_per_hour' must be from 1 to 100");
  EXPECT_EQ(of("command: /h, max_share: 0"), "line 1: 'max_share' must be above 0, and at most 1");
  EXPECT_THAT(of("command: /h, environment: {a-b: c}"), HasSubstr("a variable is a name"));
  EXPECT_THAT(of("command: /h, arguments: x"), HasSubstr("unknown key 'arguments'"));
}

TEST(AlertRoutesYamlTest, SecretsAreWantedAndNeverTold) {
  const auto of = [](const std::string& receiver) {
    return ErrorOf(absl::StrCat("receivers:\n  - ", receiver, "\nroutes:\n  - {receivers: [a]}\n"));
  };
  EXPECT_EQ(of("{name: a, type: pagerduty}"),
            "line 2: 'key_file' is missing: the integration key of a PagerDuty service");
  EXPECT_EQ(of("{name: a, type: pagerduty, key_file: /none}"), "line 2: /none: cannot be read: no such file");
  EXPECT_EQ(of("{name: a, type: pagerduty, key_file: /two}"), "line 2: /two must hold one word");
  EXPECT_EQ(of("{name: a, type: pagerduty, key_file: /empty}"), "line 2: /empty must hold one word");
  EXPECT_THAT(of("{name: a, type: pagerduty, key_file: /key, url: 'http://elsewhere'}"), HasSubstr("must be https"));
  EXPECT_EQ(of("{name: a, type: pagerduty, key_file: /key, url: 'http://127.0.0.1:1'}"), "");
  EXPECT_THAT(of("{name: a, type: slack, token_file: /token}"), HasSubstr("need each other"));
  EXPECT_THAT(of("{name: a, type: slack, url: 'http://plain'}"), HasSubstr("must be https"));
}

TEST(AlertRoutesYamlTest, RoutesNameWhatThereIs) {
  const std::string receiver = "receivers:\n  - {name: a, type: webhook, url: 'http://a'}\nroutes:\n  - ";
  EXPECT_EQ(ErrorOf(receiver + "{receivers: [b]}"), "line 4: receiver 'b' is not among 'receivers'; did you mean 'a'?");
  EXPECT_EQ(ErrorOf(receiver + "{match: {severity: fatal}, receivers: [a]}"), "line 4: severity 'fatal' is not known");
  EXPECT_EQ(ErrorOf(receiver + "{match: {class: deadlok}, receivers: [a]}"),
            "line 4: class 'deadlok' is not known; did you mean 'deadlock'?");
  EXPECT_EQ(ErrorOf(receiver + "{match: {tenant: nobody}, receivers: [a]}"), "line 4: tenant 'nobody' is not known");
  EXPECT_EQ(ErrorOf(receiver + "{match: {tenant: new}, receivers: [a]}"), "line 4: tenant 'new' has no jobs");
  EXPECT_THAT(ErrorOf(receiver + "{match: {job: a*b*}, receivers: [a]}"), HasSubstr("may stand there once"));
  EXPECT_EQ(ErrorOf(receiver + "{match: {job: a}}"), "line 4: 'receivers' is missing");
  EXPECT_EQ(ErrorOf(receiver + "{receivers: [a], continue: yes}"), "line 4: 'continue' must be true or false");
  EXPECT_EQ(ErrorOf("receivers:\n  - {name: a, type: webhook, url: 'http://a'}\n"),
            "line 2: no route names receiver 'a'");
}

}  // namespace
}  // namespace lockstep
