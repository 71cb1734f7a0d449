// The guard of a daemon's pages: its file, and what it asks of whom.

#include "daemon/web/web_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "daemon/http_route.h"
#include "daemon/tls/testing/test_keys.h"
#include "daemon/verified_tokens.h"
#include "daemon/web/web_config.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// Of "password", by bcrypt.
constexpr char kHash[] = "$2a$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe";

HttpRequest Asking(const std::string& credential, HttpClientCertificate client = HttpClientCertificate::kNone) {
  return {"/metrics", "", credential.empty() ? "" : absl::StrCat("Basic ", absl::Base64Escape(credential)), client};
}

class WebGuardTest : public testing::Test {
 protected:
  void Open(const std::string& text) {
    auto guard = WebGuard::Open(Write(text), /*needs_tls=*/false, clock_);
    ASSERT_OK(guard);
    guard_ = *std::move(guard);
  }
  std::string Write(const std::string& text) { return directory_.Write("web.yaml", text).string(); }
  // The status of an answer; 200 = the page itself.
  int Ask(const HttpRequest& request) { return guard_->Refusal(request).value_or(HttpResponse{}).status; }

  TemporaryDirectory directory_;
  TestAuthority authority_{directory_.path().string(), "fleet"};
  SimClock clock_;
  std::unique_ptr<WebGuard> guard_;
};

TEST(WebConfigTest, ReadsTheFormatOfTheExporters) {
  const auto config = ParseWebConfig(
      "tls_server_config:\n  cert_file: a.crt\n  key_file: /etc/a.key\n  client_ca_file: ca.crt\n"
      "  client_auth_type: RequireAndVerifyClientCert\nbasic_auth_users:\n  prometheus: $2y$10$x\n",
      "/folder");
  ASSERT_OK(config);
  EXPECT_EQ(config->tls.certificate, "/folder/a.crt");
  EXPECT_EQ(config->tls.key, "/etc/a.key");
  EXPECT_EQ(config->client, WebClientCertificate::kVerified);
  EXPECT_EQ(config->users.at("prometheus"), "$2y$10$x");
  ASSERT_OK(ParseWebConfig("", "/"));
  EXPECT_TRUE(ParseWebConfig("", "/")->tls.empty());
}

TEST(WebConfigTest, WhatIsWrongOrUnknownIsNamedWithItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "expected a map"},
      {"\nrate_limit: {}", "line 2: 'rate_limit' is not known here"},
      {"tls_server_config: {cert_file: a}", "needs cert_file and key_file"},
      {"tls_server_config: {cert_file: a, key_file: b, min_version: TLS13}", "'min_version' is not known here"},
      {"tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAnyClientCert}",
       "expected NoClientCert"},
      {"tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}", "belong together"},
      {"tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAndVerifyClientCert}",
       "belong together"},
      {"tls_server_config: {cert_file: [a], key_file: b}", "must be a text"},
      {"basic_auth_users: [a]", "must be a map"},
      {"basic_auth_users: {a: secret}", "expected a hash"},
      {"basic_auth_users: {'a:b': $2y$}", "holds no ':'"},
      {"basic_auth_users:\n  a: $2y$\n  a: $2y$", "line 3: user 'a' appears twice"},
      {"a: [", "line"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(ParseWebConfig(text, "/"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why))) << text;
  }
}

TEST_F(WebGuardTest, WithoutAFileNobodyIsAsked) {
  guard_ = *WebGuard::Open("", /*needs_tls=*/true, clock_);
  EXPECT_EQ(Ask(Asking("")), 200);
  EXPECT_EQ(guard_->tls(), nullptr);
  EXPECT_FALSE(guard_->Refresh());
}

TEST_F(WebGuardTest, APasswordOpensPages) {
  Open(absl::StrCat("basic_auth_users: {prometheus: ", kHash, "}\n"));
  EXPECT_EQ(Ask(Asking("prometheus:password")), 200);
  for (const char* wrong :
       {"", "prometheus:", "prometheus:Password", "other:password", "prometheus", ":", "nonsense"}) {
    EXPECT_EQ(Ask(Asking(wrong)), 401) << wrong;
  }
  HttpRequest request = Asking("");
  for (const char* wrong : {"Basic", "Basic !!", "Bearer cHJvbWV0aGV1czpwYXNzd29yZA==", "basic x"}) {
    request.authorization = wrong;
    EXPECT_EQ(Ask(request), 401) << wrong;
  }
  EXPECT_THAT(guard_->Refusal(Asking(""))->challenge, HasSubstr("Basic realm"));
}

TEST_F(WebGuardTest, GuessingIsRationedAndHoldsUpNobodyWhoIsKnown) {
  Open(absl::StrCat("basic_auth_users: {prometheus: ", kHash, "}\n"));
  EXPECT_EQ(Ask(Asking("prometheus:password")), 200);
  for (int i = 0; i < 2 * kMaxChecksPerSecond; ++i) EXPECT_EQ(Ask(Asking(absl::StrCat("prometheus:", i))), 401);
  EXPECT_EQ(Ask(Asking("prometheus:password")), 200);
}

TEST_F(WebGuardTest, CertificatesAreAskedForAsTheFileSays) {
  const TlsFiles files = authority_.Issue("web", "web", "");
  const auto tls = [&](const char* client) {
    return absl::StrCat("tls_server_config: {cert_file: web.crt, key_file: web.key, client_ca_file: fleet.ca.crt, ",
                        "client_auth_type: ", client, "}\n");
  };
  Open(tls("RequireAndVerifyClientCert"));
  ASSERT_NE(guard_->tls(), nullptr);
  EXPECT_TRUE(guard_->tls()->asks_client);
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNone)), 403);
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNotVerified)), 403);
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kVerified)), 200);
  Open(tls("VerifyClientCertIfGiven"));
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNone)), 200);
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNotVerified)), 403);
}

TEST_F(WebGuardTest, ChangesAreTakenOnWholeOrNotAtAll) {
  Open(absl::StrCat("basic_auth_users: {prometheus: ", kHash, "}\n"));
  EXPECT_EQ(Ask(Asking("prometheus:password")), 200);
  Write("basic_auth_users: {prometheus: forgotten}\n");
  EXPECT_FALSE(guard_->Refresh());
  EXPECT_EQ(Ask(Asking("prometheus:password")), 200);
  Write(absl::StrCat("basic_auth_users: {grafana: ", kHash, "}\n"));
  EXPECT_FALSE(guard_->Refresh()) << "connections are served as before";
  EXPECT_EQ(Ask(Asking("prometheus:password")), 401) << "what was checked before is not remembered";
  EXPECT_EQ(Ask(Asking("grafana:password")), 200);
  authority_.Issue("web", "web", "");
  Write("tls_server_config: {cert_file: web.crt, key_file: web.key}\n");
  EXPECT_TRUE(guard_->Refresh());
  EXPECT_FALSE(guard_->Refresh());
  authority_.Issue("web", "web", "");
  EXPECT_TRUE(guard_->Refresh()) << "keys that are renewed in place";
}

TEST_F(WebGuardTest, FilesThatAreOfNoUseAreRefused) {
  EXPECT_THAT(WebGuard::Open(Write("basic_auth_users: {}\n"), /*needs_tls=*/true, clock_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no tls_server_config")));
  EXPECT_THAT(WebGuard::Open(Write("tls_server_config: {cert_file: absent, key_file: absent}\n"), false, clock_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absent: cannot be read")));
  EXPECT_THAT(WebGuard::Open("/absent", false, clock_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/absent")));
}

}  // namespace
}  // namespace lockstep
