// A provider of keys on loopback that answers as a test tells it, also wrongly.

#include "collector/access/key_set_fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/alert/testing/http_receiver.h"
#include "collector/metrics.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KeySetFetcherTest : public testing::Test {
 protected:
  KeySetFetcherTest() {
    times_.first_retry_ns = kNanosPerMilli;
    times_.longest_retry_ns = 5 * kNanosPerMilli;
    times_.least_between_asks_ns = 0;
    base_ = absl::StrCat("http://127.0.0.1:", provider_.port());
  }

  void Start(std::deque<HttpReceiver::Answer> answers, const std::string& url, const std::string& token_file = "") {
    provider_.AnswerNext(std::move(answers));
    fetcher_ = std::make_unique<KeySetFetcher>(
        KeySetOrigin{.issuer = base_, .url = url, .authorities = "", .token_file = token_file}, times_,
        [](const std::string& keys) {
          return absl::StartsWith(keys, "keys") ? absl::OkStatus() : absl::InvalidArgumentError("is no key set");
        },
        clock_, metrics_);
  }
  // Waits until that many attempts have been counted.
  void WaitForAttempts(double count) {
    while (metrics_.succeeded.Value() + metrics_.failed.Value() < count) StopSignal().WaitFor(kNanosPerMilli);
  }
  std::string Keys() { return fetcher_->keys().value_or(std::string(fetcher_->keys().status().message())); }

  HttpReceiver provider_;
  std::string base_;
  SimClock clock_;
  prometheus::Registry registry_;
  KeySetMetrics metrics_{registry_, "issuer"};
  KeySetTimes times_;
  std::unique_ptr<KeySetFetcher> fetcher_;
};

TEST_F(KeySetFetcherTest, TheIssuerSaysWhereItsKeysAre) {
  Start({{.body = absl::StrCat(R"({"issuer": ")", base_, R"(", "jwks_uri": ")", base_, R"(/here"})")},
         {.body = "keys 1"}},
        "");
  WaitForAttempts(1);
  EXPECT_EQ(Keys(), "keys 1");
  std::vector<std::string> paths;
  for (const HttpReceiver::Request& request : provider_.requests()) paths.push_back(request.path);
  EXPECT_THAT(paths, ElementsAre("/.well-known/openid-configuration", "/here"));
  EXPECT_GT(metrics_.last_success_seconds.Value(), 0);
}

TEST_F(KeySetFetcherTest, WhatIsNoKeySetOfThatIssuerIsRefused) {
  times_.first_retry_ns = times_.longest_retry_ns = kNanosPerSecond;
  const std::pair<std::string, std::string> cases[] = {
      {R"({"issuer": "https://other.example.org", "jwks_uri": "https://other.example.org/keys"})",
       "is not of the issuer"},
      {"<html>", "is not of the issuer"},
      {absl::StrCat(R"({"issuer": ")", base_, R"("})"), "names no jwks_uri"},
      {absl::StrCat(R"({"issuer": ")", base_, R"(", "jwks_uri": "file:///etc/passwd"})"), "must be https"},
      {absl::StrCat(R"({"issuer": ")", base_, R"(", "jwks_uri": "http://10.0.0.1/keys"})"), "must be https"},
      {std::string(kMaxKeySetBytes + 1, 'x'), "the answer is longer than 1048576 bytes"},
  };
  double attempts = 0;
  for (const auto& [document, why] : cases) {
    Start({{.body = document}}, "");
    WaitForAttempts(++attempts);
    EXPECT_THAT(Keys(), HasSubstr(why));
    EXPECT_THAT(fetcher_->keys(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is not known")));
    fetcher_.reset();
  }
}

TEST_F(KeySetFetcherTest, WhoAsksForATokenIsShownTheNewest) {
  TemporaryDirectory directory;
  const std::string file = directory.Write("token", "first\n").string();
  Start({{.body = "keys 1"}, {.body = "keys 2"}}, absl::StrCat(base_, "/keys"), file);
  WaitForAttempts(1);
  directory.Write("token", "second\n");
  fetcher_->AskAgain();
  WaitForAttempts(2);
  std::vector<std::string> shown;
  for (const HttpReceiver::Request& request : provider_.requests())
    shown.push_back(request.headers.at("Authorization"));
  EXPECT_THAT(shown, ElementsAre("Bearer first", "Bearer second"));
  directory.Write("token", "not one\n");
  fetcher_->AskAgain();
  WaitForAttempts(3);
  EXPECT_EQ(metrics_.succeeded.Value(), 2) << "nobody is asked without it";
  EXPECT_EQ(Keys(), "keys 2");
  fetcher_.reset();
}

TEST_F(KeySetFetcherTest, TheLastGoodSetStaysWhileTheProviderFails) {
  Start({{.status = 503}, {.body = "keys 1"}, {.status = 500}, {.body = "garbage"}, {.body = "keys 2"}},
        absl::StrCat(base_, "/keys"));
  WaitForAttempts(2);
  EXPECT_EQ(Keys(), "keys 1") << "after the first failure it is tried again";
  fetcher_->AskAgain();
  WaitForAttempts(4);
  while (Keys() == "keys 1") StopSignal().WaitFor(kNanosPerMilli);
  EXPECT_EQ(Keys(), "keys 2");
  EXPECT_EQ(metrics_.failed.Value(), 3);
}

TEST_F(KeySetFetcherTest, ItIsFetchedAgainByThePeriodAndNotMoreOftenThanMayBeAsked) {
  times_.every_ns = 50 * kNanosPerMilli;
  Start({{.body = "keys 1"}, {.body = "keys 2"}, {.body = "keys 3"}}, absl::StrCat(base_, "/keys"));
  while (Keys() != "keys 3") StopSignal().WaitFor(kNanosPerMilli);
  fetcher_.reset();
  times_ = KeySetTimes();
  const size_t before = provider_.requests().size();
  const double attempts = metrics_.succeeded.Value() + metrics_.failed.Value();
  Start({{.body = "keys 4"}}, absl::StrCat(base_, "/keys"));
  WaitForAttempts(attempts + 1);
  for (int i = 0; i < 100; ++i) fetcher_->AskAgain();
  StopSignal().WaitFor(50 * kNanosPerMilli);
  EXPECT_EQ(provider_.requests().size(), before + 1) << "whoever sends tokens of unknown keys";
}

TEST_F(KeySetFetcherTest, AProviderThatHangsKeepsNobodyFromEnding) {
  provider_.Hold(true);
  Start({}, absl::StrCat(base_, "/keys"));
  ASSERT_TRUE(provider_.WaitForRequests(1));
  const int64_t begun_ns = RealClock().MonotonicNanos();
  fetcher_.reset();
  EXPECT_LT(RealClock().MonotonicNanos() - begun_ns, 5 * kNanosPerSecond);
  EXPECT_EQ(metrics_.failed.Value(), 0);
}

}  // namespace
}  // namespace lockstep
