// Whatever somebody sends as the token of a provider, and whatever a provider publishes as its keys: refused with a
// reason. No input can be believed, for nobody here has the key.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/access/access_rules.h"
#include "collector/access/jwt_verifier.h"

namespace {

// The published part of a key that was thrown away.
constexpr char kKeys[] = R"json({"keys": [{"kty": "EC", "crv": "P-256", "kid": "a",
  "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]})json";

lockstep::OidcRules Rules() {
  lockstep::OidcRules rules;
  rules.issuer = "i";
  rules.audience = "a";
  rules.rules.push_back({"c", "v", {}, "h", {}});
  return rules;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const verifier = lockstep::JwtVerifier::Create(Rules(), kKeys)->release();
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const auto held = verifier->Verify(std::string(input), 0);
  CHECK(absl::IsUnauthenticated(held.status()));
  CHECK(lockstep::JwtVerifier::ClaimedIssuer(std::string(input)).size() < input.size() + 1);
  const auto keys = lockstep::JwtVerifier::Create(Rules(), input);
  CHECK(keys.ok() || !keys.status().message().empty());
  return 0;
}
