// Tokens of an OpenID Connect provider: made here with keys of the test, and tampered with in all the ways that a
// stranger would try first.

#include "collector/access/jwt_verifier.h"

#include <cjose/cjose.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int64_t kNowSeconds = 1'800'000'000;
constexpr int64_t kNow = kNowSeconds * kNanosPerSecond;

struct ReleaseKey {
  void operator()(cjose_jwk_t* key) const { cjose_jwk_release(key); }
};
using SigningKey = std::unique_ptr<cjose_jwk_t, ReleaseKey>;

Json Published(const SigningKey& key) {
  cjose_err error;
  char* text = cjose_jwk_to_json(key.get(), /*priv=*/false, &error);
  CHECK(text != nullptr);
  Json json = Json::parse(text);
  std::free(text);
  return json;
}

std::string Sign(const SigningKey& key, const char* algorithm, const Json& claims, const char* id = nullptr,
                 const char* critical = nullptr) {
  cjose_err error;
  cjose_header_t* header = cjose_header_new(&error);
  CHECK(cjose_header_set(header, CJOSE_HDR_ALG, algorithm, &error));
  if (id != nullptr) CHECK(cjose_header_set(header, CJOSE_HDR_KID, id, &error));
  if (critical != nullptr) CHECK(cjose_header_set(header, "crit", critical, &error));
  const std::string text = claims.dump();
  cjose_jws_t* jws =
      cjose_jws_sign(key.get(), header, reinterpret_cast<const uint8_t*>(text.data()), text.size(), &error);
  CHECK(jws != nullptr);
  const char* token = nullptr;
  CHECK(cjose_jws_export(jws, &token, &error));
  const std::string copy = token;
  cjose_jws_release(jws);
  cjose_header_release(header);
  return copy;
}

std::string Part(const Json& json) {
  std::string text;
  absl::WebSafeBase64Escape(json.dump(), &text);
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

class JwtVerifierTest : public testing::Test {
 protected:
  JwtVerifierTest() {
    cjose_err error;
    rsa_.reset(cjose_jwk_create_RSA_random(2048, nullptr, 0, &error));
    ec_.reset(cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error));
    CHECK(rsa_ != nullptr && ec_ != nullptr);
    CHECK(cjose_jwk_set_kid(rsa_.get(), "rsa", 3, &error) && cjose_jwk_set_kid(ec_.get(), "ec", 2, &error));
    rules_.issuer = "https://login.example.org";
    rules_.audience = "lockstep";
    rules_.rules = {{"groups", "sre", {Role::kAdmin, ""}}, {"email", "bob@example.org", {Role::kViewer, "vision"}}};
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

  SigningKey rsa_;
  SigningKey ec_;
  OidcRules rules_;
  Json keys_;
  std::unique_ptr<JwtVerifier> verifier_;
};

TEST_F(JwtVerifierTest, ClaimsGiveARole) {
  const auto alice = verifier_->Verify(Sign(rsa_, "RS256", Claims(), "rsa"), kNow);
  ASSERT_OK(alice);
  EXPECT_EQ(alice->subject, "alice");
  EXPECT_EQ(alice->grant.role, Role::kAdmin);
  Json claims = Claims();
  claims.erase("groups");
  claims["email"] = "bob@example.org";
  claims["aud"] = {"other", "lockstep"};
  const auto bob = verifier_->Verify(Sign(ec_, "ES256", claims), kNow);
  ASSERT_OK(bob);
  EXPECT_EQ(bob->grant.role, Role::kViewer);
  EXPECT_EQ(bob->grant.tenant, "vision");
  claims.erase("email");
  EXPECT_THAT(verifier_->Verify(Sign(ec_, "ES256", claims), kNow),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no rule")));
}

TEST_F(JwtVerifierTest, TimesAreThoseOfTheClockThatIsGiven) {
  const std::string token = Sign(rsa_, "RS256", Claims());
  EXPECT_OK(verifier_->Verify(token, kNow + 359 * kNanosPerSecond));
  EXPECT_THAT(verifier_->Verify(token, kNow + 361 * kNanosPerSecond),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
  Json claims = Claims();
  claims["nbf"] = kNowSeconds + 100;
  Refused(Sign(rsa_, "RS256", claims), "not valid yet");
  claims["nbf"] = kNowSeconds + 50;
  EXPECT_OK(verifier_->Verify(Sign(rsa_, "RS256", claims), kNow));
  claims.erase("exp");
  Refused(Sign(rsa_, "RS256", claims), "expired");
  claims["exp"] = "tomorrow";
  Refused(Sign(rsa_, "RS256", claims), "expired");
}

TEST_F(JwtVerifierTest, IssuerAndAudienceMustBeOurs) {
  Json claims = Claims();
  claims["iss"] = "https://login.example.com";
  Refused(Sign(rsa_, "RS256", claims), "another issuer");
  claims = Claims();
  claims["aud"] = "payroll";
  Refused(Sign(rsa_, "RS256", claims), "another audience");
  claims.erase("aud");
  Refused(Sign(rsa_, "RS256", claims), "another audience");
}

TEST_F(JwtVerifierTest, ForgeriesAreRefused) {
  cjose_err error;
  const SigningKey other(cjose_jwk_create_RSA_random(2048, nullptr, 0, &error));
  const char* unsigned_by_us = "no key of the provider has signed it";
  Refused(Sign(other, "RS256", Claims(), "rsa"), unsigned_by_us);
  Refused(Sign(rsa_, "RS256", Claims(), "ec"), unsigned_by_us);
  Refused(Sign(rsa_, "PS256", Claims()), unsigned_by_us);
  Refused(Sign(rsa_, "RS512", Claims()), unsigned_by_us);
  Refused(absl::StrCat(Part({{"alg", "none"}}), ".", Part(Claims()), "."), unsigned_by_us);

  // Our public key, taken for a secret that both sides share.
  const std::string public_key = keys_["keys"][0].dump();
  const SigningKey secret(
      cjose_jwk_create_oct_spec(reinterpret_cast<const uint8_t*>(public_key.data()), public_key.size(), &error));
  Refused(Sign(secret, "HS256", Claims()), unsigned_by_us);

  // What was signed, with other claims put in between.
  const std::string good = Sign(rsa_, "RS256", Claims());
  const std::string head = good.substr(0, good.find('.'));
  const std::string tail = good.substr(good.rfind('.'));
  Json claims = Claims();
  claims["sub"] = "root";
  Refused(absl::StrCat(head, ".", Part(claims), tail), unsigned_by_us);
  Refused(Sign(rsa_, "RS256", Claims(), nullptr, "[\"x\"]"), "does not know");
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
