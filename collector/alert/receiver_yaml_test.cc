#include "collector/alert/receiver_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "collector/alert/receiver_spec.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<std::string> Secret(const std::string& path) {
  if (path == "/secret") return std::string("hush\n");
  if (path == "/url") return std::string("https://hooks.slack.com/services/hush\n");
  return absl::InvalidArgumentError(path + ": cannot be read");
}

absl::StatusOr<ReceiverSpec> Read(const std::string& text, const std::vector<ReceiverSpec>& before = {}) {
  return ReadReceiver(YAML::Load(text), before, Secret);
}

std::string ErrorOf(const std::string& text) { return std::string(Read(text).status().message()); }

TEST(ReceiverYamlTest, EachTypeSaysWhereItIsAndAsWhomWeSpeak) {
  const ReceiverSpec webhook =
      Read("{name: a, type: webhook, url: 'http://a', secret_file: /secret, headers: {X-A: b c}}").value();
  EXPECT_EQ(webhook.type, ReceiverType::kWebhook);
  EXPECT_EQ(webhook.title, "a");
  EXPECT_EQ(webhook.secret, "hush") << "without the end of its line";
  EXPECT_THAT(webhook.headers, ElementsAre("X-A: b c"));
  const ReceiverSpec manager =
      Read("{name: a, type: alertmanager, urls: ['http://a', 'http://b'], repeat: 2m}").value();
  EXPECT_THAT(manager.urls, ElementsAre("http://a", "http://b"));
  EXPECT_EQ(manager.repeat_ns, 120'000'000'000);
  EXPECT_EQ(Read("{name: a, type: pagerduty, key_file: /secret}").value().key, "hush");
  const ReceiverSpec slack = Read("{name: a, type: slack, token_file: /secret, channel: C1}").value();
  EXPECT_EQ(slack.channel, "C1");
  EXPECT_THAT(slack.urls, ElementsAre("https://slack.com/api/chat.postMessage"));
  EXPECT_THAT(Read("{name: a, type: slack, url_file: /url}").value().urls,
              ElementsAre("https://hooks.slack.com/services/hush"));
}

TEST(ReceiverYamlTest, ATokenThatIsRenewedIsTriedAndNotKept) {
  const ReceiverSpec receiver = Read("{name: a, type: nvsentinel, socket: /run/a, token_file: /secret}").value();
  EXPECT_EQ(receiver.token, "");
  EXPECT_EQ(receiver.token_file, "/secret");
  EXPECT_THAT(receiver.urls, ElementsAre("unix:/run/a"));
  EXPECT_THAT(ErrorOf("{name: a, type: nvsentinel, socket: /run/a, token_file: /none}"), HasSubstr("cannot be read"));
}

TEST(ReceiverYamlTest, NamesOfThoseAboveAreTaken) {
  EXPECT_EQ(Read("{name: a, type: webhook, url: 'http://a'}", {{.name = "a"}}).status().message(),
            "line 1: receiver 'a' appears twice");
  EXPECT_TRUE(Read("{name: a, type: webhook, url: 'http://a'}", {{.name = "b"}}).ok());
}

TEST(ReceiverYamlTest, OnlyWhatTheTypeKnowsMayBeSaid) {
  EXPECT_THAT(ErrorOf("{name: a, type: webhook, url: 'http://a', channel: c}"), HasSubstr("unknown key 'channel'"));
  EXPECT_THAT(ErrorOf("{name: a, type: nvsentinel, socket: /a, url: 'http://a'}"), HasSubstr("unknown key 'url'"));
  EXPECT_THAT(ErrorOf("{name: a, type: webhok}"), HasSubstr("did you mean 'webhook'?"));
  EXPECT_THAT(ErrorOf("[a]"), HasSubstr("expected a map"));
}

TEST(ReceiverYamlTest, SecretsGoNowhereInTheClear) {
  EXPECT_THAT(ErrorOf("{name: a, type: webhook, url: 'http://far', token_file: /secret}"), HasSubstr("must be https"));
  EXPECT_TRUE(Read("{name: a, type: webhook, url: 'http://127.0.0.1', token_file: /secret}").ok());
  EXPECT_THAT(ErrorOf("{name: a, type: slack, url_file: /url, url: 'https://b'}"),
              testing::AllOf(HasSubstr("not both"), Not(HasSubstr("hush"))));
}

TEST(ReceiverYamlTest, UrlsAndHeadersAreLimited) {
  std::string urls, headers;
  for (size_t i = 0; i < kMaxUrls; ++i) absl::StrAppend(&urls, "'http://a", i, "',");
  EXPECT_TRUE(Read(absl::StrCat("{name: a, type: alertmanager, urls: [", urls, "]}")).ok());
  EXPECT_FALSE(Read(absl::StrCat("{name: a, type: alertmanager, urls: [", urls, "'http://b']}")).ok());
  for (int i = 0; i < 33; ++i) absl::StrAppend(&headers, "X-", i, ": a,");
  EXPECT_THAT(ErrorOf(absl::StrCat("{name: a, type: webhook, url: 'http://a', headers: {", headers, "}}")),
              HasSubstr("at most 32"));
}

}  // namespace
}  // namespace lockstep
