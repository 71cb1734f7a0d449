// The guard of a daemon's pages: its file, and what it asks of whom.

#include "daemon/web/web_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "base/token_bucket.h"
#include "daemon/bounded_file.h"
#include "daemon/http_route.h"
#include "daemon/tls/testing/test_keys.h"
#include "daemon/verified_tokens.h"
#include "daemon/web/web_config.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

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
  EXPECT_TRUE(config->has_tls());
  ASSERT_OK(ParseWebConfig("", "/"));
  EXPECT_FALSE(ParseWebConfig("", "/")->has_tls());
}

// What people have in such files who follow a guide.
TEST(WebConfigTest, ReadsEveryKeyOfTheFormat) {
  const auto config = ParseWebConfig(
      "tls_server_config:\n  cert: |\n    the certificate\n  key: the key\n  client_ca: the authority\n"
      "  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans: [prometheus.example.org, 10.0.0.9]\n"
      "  min_version: TLS12\n  max_version: TLS13\n  prefer_server_cipher_suites: true\n"
      "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]\n"
      "  curve_preferences: [X25519, CurveP256]\n"
      "http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n"
      "    X-Content-Type-Options: nosniff\n    Strict-Transport-Security: max-age=31536000; includeSubDomains\n",
      "/folder");
  ASSERT_OK(config);
  EXPECT_TRUE(config->has_tls());
  EXPECT_TRUE(config->tls.empty());
  EXPECT_EQ(config->given.certificate, "the certificate\n");
  EXPECT_EQ(config->given.authorities, "the authority");
  EXPECT_THAT(config->client_names, UnorderedElementsAre("prometheus.example.org", "10.0.0.9"));
  EXPECT_THAT(config->tls_policy.Priorities(), HasSubstr("+AES-128-GCM:+AES-256-GCM"));
  EXPECT_THAT(config->headers, ElementsAre(Pair("X-Frame-Options", "deny"),
                                           Pair("Strict-Transport-Security", "max-age=31536000; includeSubDomains")));
  const auto any = ParseWebConfig("tls_server_config: {cert: a, key: b, client_auth_type: RequireAnyClientCert}", "/");
  ASSERT_OK(any);
  EXPECT_EQ(any->client, WebClientCertificate::kAny);
  EXPECT_OK(ParseWebConfig("http_server_config: {headers: {}}", "/"));
}

TEST(WebConfigTest, WhatIsWrongOrUnknownIsNamedWithItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "expected a map"},
      {"\nrate_limits: {}", "line 2: 'rate_limits' is not known here"},
      {"\nrate_limit: 3", "line 2: expected a map"},
      {"rate_limit: {interval: soon, burst: 1}", "interval: 'soon': expected a time such as 1s"},
      {"rate_limit: {interval: -1s, burst: 1}", "interval: '-1s'"},
      {"rate_limit: {interval: 1s}", "burst: expected a number from 1 on"},
      {"rate_limit: {interval: 1s, burst: 0}", "burst: expected a number from 1 on"},
      {"rate_limit: {interval: 1s, burst: many}", "burst: expected a number"},
      {"rate_limit: {interval: 1s, burst: 1, per: client}", "'per' is not known here"},
      {"tls_server_config: {cert_file: a}", "needs cert_file and key_file"},
      {"tls_server_config: {cert_file: a, key_file: b, min_version: SSL3}", "min_version: 'SSL3': expected TLS10"},
      {"tls_server_config: {cert_file: a, key_file: b, max_version: TLS11}", "max_version: leaves no version"},
      {"tls_server_config: {cert_file: a, key_file: b, cipher_suites: [RC4]}", "cipher_suites: 'RC4' is not known"},
      {"tls_server_config: {cert_file: a, key_file: b, cipher_suites: TLS_AES_128_GCM_SHA256}", "must be a list"},
      {"tls_server_config: {cert_file: a, key_file: b, curve_preferences: [[]]}", "must list texts"},
      {"tls_server_config: {cert_file: a, key_file: b, prefer_server_cipher_suites: 3}", "must be true or false"},
      {"tls_server_config: {cert_file: a, cert: b, key_file: c}", "either cert or cert_file"},
      {"tls_server_config: {cert: a, client_ca: c}", "needs cert_file and key_file"},
      {"tls_server_config: {cert_file: a, key_file: b, client_allowed_sans: [c]}", "needs a client_auth_type"},
      {"tls_server_config: {cert_file: a, key_file: b, client_auth_type: Maybe}", "expected one of NoClientCert"},
      {"tls_server_config: {cert_file: a, key_file: b, client_ca_file: c, client_auth_type: NoClientCert}",
       "belong together"},
      {"http_server_config: {headers: {X-Powered-By: a}}", "'X-Powered-By' is not known here"},
      {"http_server_config: {headers: {X-Frame-Options: \"a\\nb\"}}", "must be one line"},
      {"http_server_config: {headers: {X-Content-Type-Options: sniff}}", "expected nosniff"},
      {"http_server_config: {http2: perhaps}", "must be true or false"},
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

TEST_F(WebGuardTest, RequestsBeyondTheLimitAreToldSo) {
  Open(absl::StrCat("rate_limit: {interval: 10s, burst: 3}\nbasic_auth_users: {prometheus: ", kHash, "}\n"));
  const HttpRequest known = Asking("prometheus:password");
  EXPECT_EQ(Ask(known), 200);
  EXPECT_EQ(Ask(Asking("prometheus:wrong")), 401) << "who guesses uses it up too";
  EXPECT_EQ(Ask(known), 200);
  EXPECT_EQ(Ask(known), 429);
  clock_.Advance(10 * kNanosPerSecond - 1);
  EXPECT_EQ(Ask(known), 429);
  clock_.Advance(1);
  EXPECT_EQ(Ask(known), 200);
  EXPECT_EQ(Ask(known), 429);
  EXPECT_FALSE(guard_->Refresh());
  EXPECT_EQ(Ask(known), 429) << "a file that is the same fills nothing";
  clock_.Advance(3'600 * kNanosPerSecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(known), 200);
  EXPECT_EQ(Ask(known), 429) << "no more than the burst is kept";
  Write("rate_limit: {interval: 0s, burst: 3}\n");
  guard_->Refresh();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Ask(Asking("")), 200);
}

TEST(TokenBucketTest, ClocksThatGoBackFillNothing) {
  TokenBucket bucket(/*interval_ns=*/10, /*burst=*/2);
  EXPECT_TRUE(bucket.Take(100));
  EXPECT_TRUE(bucket.Take(105));
  EXPECT_FALSE(bucket.Take(109));
  EXPECT_FALSE(bucket.Take(0));
  EXPECT_TRUE(bucket.Take(110));
  EXPECT_FALSE(bucket.Take(119));
  EXPECT_TRUE(bucket.Take(120));
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
  Open(tls("RequireAnyClientCert"));
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNone)), 403);
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNotVerified)), 200);
  Open(tls("VerifyClientCertIfGiven, client_allowed_sans: [prometheus, 'spiffe://example.org/prometheus']"));
  HttpRequest request = Asking("", HttpClientCertificate::kVerified);
  EXPECT_EQ(Ask(request), 403) << "of no name";
  request.client_names = {"grafana", "prometheus.example.org"};
  EXPECT_EQ(Ask(request), 403);
  request.client_names.push_back("spiffe://example.org/prometheus");
  EXPECT_EQ(Ask(request), 200);
  EXPECT_EQ(Ask(Asking("", HttpClientCertificate::kNone)), 200);
}

TEST_F(WebGuardTest, KeysMayStandInTheFileAndVersionsChange) {
  const TlsFiles files = authority_.Issue("web", "web", "");
  const auto indented = [](const std::string& file) {
    return absl::StrReplaceAll(absl::StrCat("\n", *ReadBoundedFile(file)), {{"\n", "\n    "}});
  };
  const std::string text = absl::StrCat("tls_server_config:\n  cert: |", indented(files.certificate), "\n  key: |",
                                        indented(files.key), "\n");
  Open(text);
  ASSERT_NE(guard_->tls(), nullptr);
  EXPECT_EQ(guard_->tls()->material.key, *ReadBoundedFile(files.key));
  Write(absl::StrCat(text, "  min_version: TLS13\n"));
  EXPECT_TRUE(guard_->Refresh()) << "connections are served otherwise";
  Write(absl::StrCat(text, "  min_version: TLS13\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n"));
  EXPECT_FALSE(guard_->Refresh());
  EXPECT_THAT(guard_->headers(), ElementsAre(Pair("X-Frame-Options", "deny")));
  EXPECT_THAT(WebGuard::Open(Write("tls_server_config: {cert: a, key: b}\n"), false, clock_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("holds no certificate in PEM")));
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
