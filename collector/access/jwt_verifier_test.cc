// Tokens of an OpenID Connect provider: made here with keys of the test, and tampered with in all the ways that a
// stranger would try first.

#include "collector/access/jwt_verifier.h"

#include <cjose/cjose.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/access/testing/signed_tokens.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int64_t kNowSeconds = 1'800'000'000;
constexpr char kAgentAccount[] = "system:serviceaccount:lockstep:lockstep-agent";
constexpr int64_t kNow = kNowSeconds * kNanosPerSecond;

std::string Part(const Json& json) {
  std::string text;
  absl::WebSafeBase64Escape(json.dump(), &text);
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

class JwtVerifierTest : public testing::Test {
 protected:
  JwtVerifierTest() {
    rules_.issuer = "https://login.example.org";
    rules_.audience = "lockstep";
    rules_.rules = {{"groups", "sre", {Role::kAdmin, ""}, "", {}},
                    {"email", "bob@example.org", {Role::kViewer, "vision"}, "", {}},
                    {"sub", kAgentAccount, {Role::kAgent, ""}, "kubernetes.io.node.name", {}}};
    keys_ = {{"keys", {Published(rsa_), Published(ec_)}}};
    verifier_ = *JwtVerifier::Create(rules_, keys_.dump());
  }

  static Json Claims() {
    return {{"iss", "https://login.example.org"},
            {"aud", "lockstep"},
            {"sub", "alice"},
            {"exp", kNowSeconds + 300},
            {"groups", {"dev", "sre"}}};
  }

  void Refused(const std::string& token, const std::string& why) {
    EXPECT_THAT(verifier_->Verify(token, kNow), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(why))) << token;
  }

  const SigningKey rsa_ = MakeRsaKey("rsa");
  const SigningKey ec_ = MakeEcKey("ec");
  OidcRules rules_;
  Json keys_;
  std::unique_ptr<JwtVerifier> verifier_;
};

TEST_F(JwtVerifierTest, ClaimsGiveARole) {
  const auto alice = verifier_->Verify(SignToken(rsa_, "RS256", Claims(), "rsa"), kNow);
  ASSERT_OK(alice);
  EXPECT_EQ(alice->subject, "alice");
  EXPECT_EQ(alice->grant.role, Role::kAdmin);
  Json claims = Claims();
  claims.erase("groups");
  claims["email"] = "bob@example.org";
  claims["aud"] = {"other", "lockstep"};
  const auto bob = verifier_->Verify(SignToken(ec_, "ES256", claims), kNow);
  ASSERT_OK(bob);
  EXPECT_EQ(bob->grant.role, Role::kViewer);
  EXPECT_EQ(bob->grant.tenant, "vision");
  claims.erase("email");
  EXPECT_THAT(verifier_->Verify(SignToken(ec_, "ES256", claims), kNow),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no rule")));
}

TEST_F(JwtVerifierTest, TimesAreThoseOfTheClockThatIsGiven) {
  const std::string token = SignToken(rsa_, "RS256", Claims());
  EXPECT_OK(verifier_->Verify(token, kNow + 359 * kNanosPerSecond));
  EXPECT_THAT(verifier_->Verify(token, kNow + 361 * kNanosPerSecond),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
  Json claims = Claims();
  claims["nbf"] = kNowSeconds + 100;
  Refused(SignToken(rsa_, "RS256", claims), "not valid yet");
  claims["nbf"] = kNowSeconds + 50;
  EXPECT_OK(verifier_->Verify(SignToken(rsa_, "RS256", claims), kNow));
  claims.erase("exp");
  Refused(SignToken(rsa_, "RS256", claims), "expired");
  claims["exp"] = "tomorrow";
  Refused(SignToken(rsa_, "RS256", claims), "expired");
}

TEST_F(JwtVerifierTest, AnAgentReportsForTheHostThatItsTokenNames) {
  Json claims = ClaimsOfPod("lockstep-agent", "node-1", kNowSeconds + 300);
  claims["iss"] = rules_.issuer;
  const auto agent = verifier_->Verify(SignToken(rsa_, "RS256", claims), kNow);
  ASSERT_OK(agent);
  EXPECT_EQ(agent->grant.role, Role::kAgent);
  EXPECT_EQ(agent->host, "node-1");
  EXPECT_EQ(verifier_->Verify(SignToken(rsa_, "RS256", Claims()), kNow)->host, "") << "people have none";

  const auto denied = [&](const char* why) {
    EXPECT_THAT(verifier_->Verify(SignToken(rsa_, "RS256", claims), kNow),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(why)))
        << claims;
  };
  for (const Json& name : {Json("a/b"), Json(""), Json("*"), Json("a\nb"), Json(7), Json({"node-1"})}) {
    claims["kubernetes.io"]["node"]["name"] = name;
    denied("names no host in kubernetes.io.node.name");
  }
  claims["kubernetes.io"].erase("node");
  denied("names no host");  // of a release before 1.30
  claims["kubernetes.io"] = "node-1";
  denied("names no host");
  claims = ClaimsOfPod("other", "node-1", kNowSeconds + 300);
  claims["iss"] = rules_.issuer;
  denied("no rule");
}

TEST_F(JwtVerifierTest, AClaimIsFoundByItsNameOrElseByItsPath) {
  const auto admitted = [this](const char* claim, const Json& more) {
    rules_.rules = {{claim, "v", {Role::kViewer, ""}, "", {}}};
    Json claims = Claims();
    claims.update(more);
    return (*JwtVerifier::Create(rules_, keys_.dump()))->Verify(SignToken(rsa_, "RS256", claims), kNow).ok();
  };
  EXPECT_TRUE(admitted("a.b.c", {{"a.b.c", "v"}}));
  EXPECT_TRUE(admitted("a.b.c", {{"a", {{"b", {{"c", "v"}}}}}}));
  EXPECT_TRUE(admitted("a.b.c", {{"a.b", {{"c", {"u", "v"}}}}}));
  EXPECT_TRUE(admitted("a.b.c", {{"a", "x"}, {"a.b", {{"c", "v"}}}}));
  EXPECT_FALSE(admitted("a.b.c", {{"a.b.c", "u"}, {"a", {{"b", {{"c", "v"}}}}}})) << "its name counts";
  for (const char* claim : {"a", "a.b", "a.c", ".", "", "a.", ".a", "a..b.c"}) {
    EXPECT_FALSE(admitted(claim, {{"a", {{"b", {{"c", "v"}}}}}})) << claim;
  }
}

TEST_F(JwtVerifierTest, WhoIsNamedAsIssuerChoosesWhoChecks) {
  EXPECT_EQ(JwtVerifier::ClaimedIssuer(SignToken(rsa_, "RS256", Claims())), rules_.issuer);
  for (const char* garbage : {"", "a", "..", "e30.e30.e30", "!!.!!.!!", "e30.W10.x"}) {
    EXPECT_EQ(JwtVerifier::ClaimedIssuer(garbage), "") << garbage;
  }
}

TEST_F(JwtVerifierTest, IssuerAndAudienceMustBeOurs) {
  Json claims = Claims();
  claims["iss"] = "https://login.example.com";
  Refused(SignToken(rsa_, "RS256", claims), "another issuer");
  claims = Claims();
  claims["aud"] = "payroll";
  Refused(SignToken(rsa_, "RS256", claims), "another audience");
  claims.erase("aud");
  Refused(SignToken(rsa_, "RS256", claims), "another audience");
}

TEST_F(JwtVerifierTest, ForgeriesAreRefused) {
  cjose_err error;
  const SigningKey other = MakeRsaKey(nullptr);
  const char* unsigned_by_us = "no key of the provider has signed it";
  Refused(SignToken(other, "RS256", Claims(), "rsa"), unsigned_by_us);
  Refused(SignToken(rsa_, "RS256", Claims(), "ec"), unsigned_by_us);
  Refused(SignToken(rsa_, "PS256", Claims()), unsigned_by_us);
  Refused(SignToken(rsa_, "RS512", Claims()), unsigned_by_us);
  Refused(absl::StrCat(Part({{"alg", "none"}}), ".", Part(Claims()), "."), unsigned_by_us);

  // Our public key, taken for a secret that both sides share.
  const std::string public_key = keys_["keys"][0].dump();
  const SigningKey secret(
      cjose_jwk_create_oct_spec(reinterpret_cast<const uint8_t*>(public_key.data()), public_key.size(), &error));
  Refused(SignToken(secret, "HS256", Claims()), unsigned_by_us);

  // What was signed, with other claims put in between.
  const std::string good = SignToken(rsa_, "RS256", Claims());
  const std::string head = good.substr(0, good.find('.'));
  const std::string tail = good.substr(good.rfind('.'));
  Json claims = Claims();
  claims["sub"] = "root";
  Refused(absl::StrCat(head, ".", Part(claims), tail), unsigned_by_us);
  Refused(SignToken(rsa_, "RS256", Claims(), nullptr, "[\"x\"]"), "does not know");
  for (const char* garbage : {"", "..", "a.b.c", "e30.e30.e30", "!!.!!.!!"}) {
    EXPECT_THAT(verifier_->Verify(garbage, kNow),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not believed")));
  }
  Refused(std::string(kMaxJwtBytes + 1, 'a'), "too long");
}

TEST_F(JwtVerifierTest, KeySetsThatAreOfNoUseAreRefused) {
  for (const char* wrong : {"", "[]", "{}", "{\"keys\": 1}", "{\"keys\": [1]}", "{\"keys\": []}",
                            "{\"keys\": [{\"kty\": \"oct\", \"k\": \"AAAA\"}]}", "{\"keys\": [{\"kty\": \"RSA\"}]}"}) {
    EXPECT_THAT(JwtVerifier::Create(rules_, wrong), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key")))
        << wrong;
  }
  Json for_encryption = keys_;
  for (Json& key : for_encryption["keys"]) key["use"] = "enc";
  EXPECT_THAT(JwtVerifier::Create(rules_, for_encryption.dump()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no RSA or P-256 key")));
}

}  // namespace
}  // namespace lockstep
