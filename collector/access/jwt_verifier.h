// Tokens of an OpenID Connect provider: who holds one has logged in there, or runs where the provider says.
//
// Believed are RS256 and ES256 by a key of the provider, for this audience, by this issuer, and not yet expired. The
// signature is checked by libcjose, which reads keys as providers publish them (JWKS) and is kept by Debian's security
// team; what the claims must say is checked here. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_JWT_VERIFIER_H_
#define LOCKSTEP_COLLECTOR_ACCESS_JWT_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/access/access_rules.h"
#include "collector/access/wildcard.h"

namespace lockstep {

inline constexpr size_t kMaxJwtBytes = 16 << 10;
inline constexpr size_t kMaxJwks = 100;
// By how much the clocks of provider and collector may differ.
inline constexpr int64_t kJwtLeewaySeconds = 60;

class JwtVerifier {
 public:
  // `jwks` is the text of the provider's key set. Keys of other kinds than RSA and P-256 are passed over.
  // INVALID_ARGUMENT if it is no key set, or holds no key that can be used.
  static absl::StatusOr<std::unique_ptr<JwtVerifier>> Create(const OidcRules& rules, absl::string_view jwks);
  ~JwtVerifier();

  // What a token gives.
  struct Holder {
    std::string subject;
    Grant grant;
    std::string host;               // for which an agent may report; else ""
    std::vector<Wildcard> reports;  // the jobs of which an agent is believed; empty = all
  };

  // Whom a token says that it is of, which nobody has checked yet: only to choose who checks it. "" = it cannot be
  // read.
  static std::string ClaimedIssuer(const std::string& token);

  // Whether the key that the token names is in the set; true for one that names none. A token that is not believed
  // for want of its key may be when the set is read again.
  bool KnowsKeyOf(const std::string& token) const;

  // UNAUTHENTICATED says why the token is not believed, PERMISSION_DENIED that no rule fits its claims, or
  // that they name no host for an agent.
  absl::StatusOr<Holder> Verify(const std::string& token, int64_t now_wall_ns) const;

 private:
  class Key;

  JwtVerifier(OidcRules rules, std::vector<Key> keys);

  const OidcRules rules_;
  const std::vector<Key> keys_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_JWT_VERIFIER_H_
