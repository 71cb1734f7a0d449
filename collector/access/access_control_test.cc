// The door: tokens and certificates against rules in files that change.

#include "collector/access/access_control.h"

#include <crypt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/access/peer_names.h"
#include "collector/access/testing/signed_tokens.h"
#include "collector/metrics.h"
#include "daemon/password_hash.h"
#include "daemon/verified_tokens.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::string HashOf(const std::string& token) {
  auto data = std::make_unique<crypt_data>();
  return crypt_r(token.c_str(), "$5$rounds=1000$saltsalt$", data.get());
}

PeerNames CommonName(const std::string& name) {
  PeerNames names;
  names.common_names = {name};
  return names;
}

class AccessControlTest : public testing::Test {
 protected:
  void Open() {
    auto access = AccessControl::Open(file_, clock_, metrics_);
    ASSERT_OK(access);
    access_ = *std::move(access);
  }
  void WriteRules(const std::string& text) { file_ = directory_.Write("access.yaml", text).string(); }
  void WriteToken(const std::string& token) {
    WriteRules(absl::StrCat("tokens: [{name: bot, role: viewer, hash: '", HashOf(token), "'}]\n",
                            "certificates: [{match: 'cn:alice', role: operator}]\n"));
  }
  absl::StatusOr<std::shared_ptr<const Caller>> WithToken(const std::string& token) {
    return access_->Identify(PeerNames(), absl::StrCat("Bearer ", token));
  }

  TemporaryDirectory directory_;
  prometheus::Registry registry_;
  AccessMetrics metrics_{registry_};
  SimClock clock_;
  std::string file_;
  std::unique_ptr<AccessControl> access_;
};

TEST_F(AccessControlTest, WithoutRulesEverybodyMayDoEverything) {
  Open();
  const auto caller = access_->Identify(PeerNames(), "");
  ASSERT_OK(caller);
  for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin, Role::kAgent}) {
    EXPECT_TRUE((*caller)->May(role));
  }
  EXPECT_TRUE((*caller)->MayReportFor("any"));
  EXPECT_FALSE(access_->takes_tokens());
}

TEST_F(AccessControlTest, WhoIsUnknownIsTurnedAway) {
  WriteToken("bot.secret");
  Open();
  const auto refused = [](const absl::StatusOr<std::shared_ptr<const Caller>>& caller, const std::string& why) {
    EXPECT_THAT(caller, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(why)));
  };
  refused(access_->Identify(PeerNames(), ""), "neither a certificate nor a token");
  refused(access_->Identify(CommonName("mallory"), ""), "no rule fits the certificate of mallory");
  refused(access_->Identify(PeerNames(), "Basic Ym90"), "expected 'Bearer TOKEN'");
  refused(WithToken(""), "not known");
  refused(WithToken("bot"), "not known");
  refused(WithToken("bot.other"), "not known");
  refused(WithToken("other.secret"), "not known");
  refused(WithToken(std::string("bot.secret\0more", 15)), "not known");
  refused(WithToken(std::string(1 << 20, 'a')), "too long");
  // A token that is wrong is not made good by a certificate that is right.
  refused(access_->Identify(CommonName("alice"), "Bearer bot.other"), "not known");
}

TEST_F(AccessControlTest, ATokenOrACertificateIsSomebody) {
  WriteToken("bot.secret");
  Open();
  EXPECT_TRUE(access_->takes_tokens());
  const auto bot = WithToken("bot.secret");
  ASSERT_OK(bot);
  EXPECT_EQ((*bot)->name, "token bot");
  EXPECT_EQ((*bot)->role, Role::kViewer);
  EXPECT_FALSE((*bot)->MayReportFor("node-1"));
  const auto alice = access_->Identify(CommonName("alice"), "");
  ASSERT_OK(alice);
  EXPECT_EQ((*alice)->role, Role::kOperator);
}

TEST_F(AccessControlTest, AChangedFileCountsAtOnceAndAWrongOneNever) {
  WriteToken("bot.secret");
  Open();
  EXPECT_OK(WithToken("bot.secret"));
  WriteToken("bot.renewed");
  access_->Refresh();
  EXPECT_FALSE(WithToken("bot.secret").ok()) << "what was checked before is not remembered";
  EXPECT_OK(WithToken("bot.renewed"));
  WriteRules("tokens: [{name: bot}]\n");
  EXPECT_THAT(access_->Reload(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("access.yaml: line 1: 'role'")));
  access_->Refresh();
  EXPECT_OK(WithToken("bot.renewed"));
  file_ = directory_.path() / "absent.yaml";
  EXPECT_THAT(AccessControl::Open(file_, clock_, metrics_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absent.yaml: cannot be read")));
}

TEST_F(AccessControlTest, GuessingIsRationed) {
  WriteToken("bot.secret");
  Open();
  EXPECT_OK(WithToken("bot.secret"));
  int looked_at = 1;
  while (!absl::IsUnavailable(WithToken("bot.guess").status())) ASSERT_LE(++looked_at, kMaxChecksPerSecond);
  EXPECT_EQ(looked_at, kMaxChecksPerSecond);
  EXPECT_OK(WithToken("bot.secret")) << "who was checked before is not held up";
  clock_.Advance(kNanosPerSecond);
  EXPECT_THAT(WithToken("bot.guess"), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not known")));
}

TEST_F(AccessControlTest, KeysOfTheProviderAreReadWithTheRules) {
  const std::string keys = directory_.Write("jwks.json", "{}").string();
  WriteRules(absl::StrCat("oidc: {issuer: i, audience: a, keys: '", keys,
                          "', rules: [{claim: c, value: v, role: viewer}]}\n"));
  EXPECT_THAT(AccessControl::Open(file_, clock_, metrics_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("jwks.json: expected a key set")));
}

TEST_F(AccessControlTest, EachProviderIsBelievedOfItsOwnTokens) {
  const SigningKey cluster = MakeRsaKey("a"), login = MakeEcKey("a");
  const std::string cluster_keys = directory_.Write("cluster.json", KeySetOf(cluster)).string();
  const std::string login_keys = directory_.Write("login.json", KeySetOf(login)).string();
  const auto rules = [&](const char* value) {
    return absl::StrCat("oidc:\n - {issuer: 'https://login', audience: lockstep, keys: '", login_keys,
                        "', rules: [{claim: sub, value: alice, role: viewer}]}\n",
                        " - {issuer: 'https://kubernetes.default.svc.cluster.local', audience: lockstep, keys: '",
                        cluster_keys, "', rules: [{claim: sub, value: '", value,
                        "', role: agent, host_claim: kubernetes.io.node.name, jobs: [vision]}]}\n");
  };
  WriteRules(rules("system:serviceaccount:lockstep:lockstep-agent"));
  Open();
  const int64_t opened_ns = clock_.WallNanos();
  const int64_t expires_s = opened_ns / kNanosPerSecond + 60;
  const nlohmann::json claims = ClaimsOfPod("lockstep-agent", "node-1", expires_s);
  const auto agent = WithToken(SignToken(cluster, "RS256", claims));
  ASSERT_OK(agent);
  EXPECT_TRUE((*agent)->MayReportFor("node-1"));
  EXPECT_FALSE((*agent)->MayReportFor("node-2"));
  EXPECT_FALSE((*agent)->May(Role::kViewer));
  EXPECT_TRUE((*agent)->MayReportOf("vision"));
  EXPECT_FALSE((*agent)->MayReportOf("speech"));
  EXPECT_EQ((*agent)->token_judged_ns, opened_ns);
  const auto alice = WithToken(
      SignToken(login, "ES256", {{"iss", "https://login"}, {"aud", "lockstep"}, {"sub", "alice"}, {"exp", expires_s}}));
  ASSERT_OK(alice);
  EXPECT_EQ((*alice)->role, Role::kViewer);
  EXPECT_FALSE(WithToken(SignToken(login, "ES256", claims)).ok()) << "one provider does not speak for another";

  EXPECT_EQ(access_->files().size(), 3u);
  const std::string authorization = absl::StrCat("Bearer ", SignToken(cluster, "RS256", claims));
  clock_.Advance(3'600 * kNanosPerSecond);
  EXPECT_FALSE(access_->Identify(PeerNames(), authorization).ok()) << "expired";
  EXPECT_OK(access_->IdentifyAsOf(opened_ns, PeerNames(), authorization)) << "its stream may go on";
  const uint64_t generation = access_->generation();
  access_->Refresh();
  EXPECT_EQ(access_->generation(), generation) << "nothing is new";
  WriteRules(rules("another"));
  access_->Refresh();
  EXPECT_FALSE(access_->IdentifyAsOf(opened_ns, PeerNames(), authorization).ok()) << "by the rules of now";
}

TEST(VerifiedTokensTest, MemoryIsBounded) {
  VerifiedTokens tokens;
  for (size_t i = 0; i <= kMaxVerifiedTokens; ++i) tokens.Remember(absl::StrCat("token", i));
  EXPECT_FALSE(tokens.Knows("token0"));
  EXPECT_TRUE(tokens.Knows(absl::StrCat("token", kMaxVerifiedTokens)));
}

TEST(PasswordHashTest, KnowsTheHashesOfTheSystem) {
  EXPECT_TRUE(MatchesHash("password", "$2a$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe"));
  EXPECT_TRUE(MatchesHash("secret", HashOf("secret")));
  for (const char* hash : {"", "*", "$", "$5$", "secret", "$2b$99$x", "$unknown$x"}) {
    EXPECT_FALSE(MatchesHash("secret", hash)) << hash;
  }
  EXPECT_FALSE(EqualsInConstantTime("a", "ab"));
}

}  // namespace
}  // namespace lockstep
