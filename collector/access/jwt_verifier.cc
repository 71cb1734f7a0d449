#include "collector/access/jwt_verifier.h"

#include <cjose/cjose.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "collector/access/host_name.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

struct ReleaseJwk {
  void operator()(cjose_jwk_t* key) const { cjose_jwk_release(key); }
};
struct ReleaseJws {
  void operator()(cjose_jws_t* token) const { cjose_jws_release(token); }
};
using Jwk = std::unique_ptr<cjose_jwk_t, ReleaseJwk>;
using Jws = std::unique_ptr<cjose_jws_t, ReleaseJws>;

absl::Status Unbelieved(absl::string_view why) {
  return absl::UnauthenticatedError(absl::StrCat("the token is not believed: ", why));
}

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// What has that name, or else lies at that path of names; nullptr if nothing does. Names may have dots in them.
const Json* ClaimAt(const Json& object, absl::string_view path) {
  if (const auto found = object.find(std::string(path)); found != object.end()) return &*found;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
    const auto found = object.find(std::string(path.substr(0, dot)));
    if (found == object.end() || !found->is_object()) continue;
    if (const Json* claim = ClaimAt(*found, path.substr(dot + 1)); claim != nullptr) return claim;
  }
  return nullptr;
}

// Whether a claim has the value, or is a list that holds it.
bool Holds(const Json* claim, const std::string& value) {
  if (claim == nullptr) return false;
  if (claim->is_array()) return std::find(claim->begin(), claim->end(), Json(value)) != claim->end();
  return *claim == Json(value);
}

// The algorithm that goes with a kind of key; a token may not choose another.
const char* AlgorithmFor(cjose_jwk_t* key) {
  cjose_err error;
  switch (cjose_jwk_get_kty(key, &error)) {
    case CJOSE_JWK_KTY_RSA:
      return "RS256";
    case CJOSE_JWK_KTY_EC:
      return cjose_jwk_EC_get_curve(key, &error) == CJOSE_JWK_EC_P_256 ? "ES256" : nullptr;
    default:
      return nullptr;
  }
}

absl::StatusOr<Json> ReadPart(absl::string_view part) {
  std::string text;
  if (!absl::WebSafeBase64Unescape(part, &text)) return Unbelieved("it cannot be read");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Unbelieved("it cannot be read");
  return json;
}

// The header before its signature is checked: only to choose the key.
absl::StatusOr<Json> HeaderOf(const std::string& token) { return ReadPart(token.substr(0, token.find('.'))); }

absl::StatusOr<JwtVerifier::Holder> HolderBy(const ClaimRule& rule, const Json& claims) {
  JwtVerifier::Holder holder = {TextOf(claims, "sub"), rule.grant, "", rule.reports};
  if (rule.host_claim.empty()) return holder;
  const Json* host = ClaimAt(claims, rule.host_claim);
  if (host != nullptr && host->is_string()) holder.host = host->get<std::string>();
  if (IsHostName(holder.host)) return holder;
  return absl::PermissionDeniedError(absl::StrCat("the token names no host in ", rule.host_claim));
}

}  // namespace

class JwtVerifier::Key {
 public:
  Key(Jwk key, const char* algorithm, std::string id)
      : key_(std::move(key)), algorithm_(algorithm), id_(std::move(id)) {}

  bool Fits(const std::string& algorithm, const std::string& id) const {
    return algorithm == algorithm_ && (id.empty() || id_.empty() || id == id_);
  }

  bool HasId(const std::string& id) const { return id_ == id; }

  // The payload if this key has signed the token.
  std::optional<std::string> Open(const std::string& token) const {
    cjose_err error;
    const Jws jws(cjose_jws_import(token.data(), token.size(), &error));
    uint8_t* payload = nullptr;
    size_t bytes = 0;
    if (jws == nullptr || !cjose_jws_verify(jws.get(), key_.get(), &error) ||
        !cjose_jws_get_plaintext(jws.get(), &payload, &bytes, &error)) {
      return std::nullopt;
    }
    return std::string(reinterpret_cast<const char*>(payload), bytes);
  }

 private:
  Jwk key_;
  std::string algorithm_;
  std::string id_;
};

JwtVerifier::JwtVerifier(OidcRules rules, std::vector<Key> keys) : rules_(std::move(rules)), keys_(std::move(keys)) {}
JwtVerifier::~JwtVerifier() = default;

absl::StatusOr<std::unique_ptr<JwtVerifier>> JwtVerifier::Create(const OidcRules& rules, absl::string_view jwks) {
  const Json set = Json::parse(jwks, nullptr, /*allow_exceptions=*/false);
  if (!set.is_object() || !set.contains("keys") || !set["keys"].is_array()) {
    return absl::InvalidArgumentError("expected a key set, {\"keys\": [...]}");
  }
  if (set["keys"].size() > kMaxJwks) return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxJwks, " keys"));
  std::vector<Key> keys;
  for (const Json& entry : set["keys"]) {
    if (!entry.is_object()) return absl::InvalidArgumentError("a key that is no object");
    const std::string use = TextOf(entry, "use");
    if (!use.empty() && use != "sig") continue;
    const std::string text = entry.dump(-1, ' ', false, Json::error_handler_t::replace);
    cjose_err error;
    Jwk key(cjose_jwk_import(text.data(), text.size(), &error));
    const char* algorithm = key == nullptr ? nullptr : AlgorithmFor(key.get());
    if (algorithm != nullptr) keys.emplace_back(std::move(key), algorithm, TextOf(entry, "kid"));
  }
  if (keys.empty()) return absl::InvalidArgumentError("holds no RSA or P-256 key for signatures");
  return std::unique_ptr<JwtVerifier>(new JwtVerifier(rules, std::move(keys)));
}

std::string JwtVerifier::ClaimedIssuer(const std::string& token) {
  if (token.size() > kMaxJwtBytes) return "";
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  if (parts.size() < 2) return "";
  const absl::StatusOr<Json> claims = ReadPart(parts[1]);
  return claims.ok() ? TextOf(*claims, "iss") : "";
}

bool JwtVerifier::KnowsKeyOf(const std::string& token) const {
  if (token.size() > kMaxJwtBytes) return true;
  const absl::StatusOr<Json> header = HeaderOf(token);
  if (!header.ok()) return true;
  const std::string id = TextOf(*header, "kid");
  return id.empty() || std::any_of(keys_.begin(), keys_.end(), [&id](const Key& key) { return key.HasId(id); });
}

absl::StatusOr<JwtVerifier::Holder> JwtVerifier::Verify(const std::string& token, int64_t now_wall_ns) const {
  if (token.size() > kMaxJwtBytes) return Unbelieved("it is too long");
  ASSIGN_OR_RETURN(const Json header, HeaderOf(token));
  if (header.contains("crit")) return Unbelieved("it wants something that this collector does not know");
  std::optional<std::string> payload;
  for (const Key& key : keys_) {
    if (!payload.has_value() && key.Fits(TextOf(header, "alg"), TextOf(header, "kid"))) payload = key.Open(token);
  }
  if (!payload.has_value()) return Unbelieved("no key of the provider has signed it");
  const Json claims = Json::parse(*payload, nullptr, /*allow_exceptions=*/false);
  if (!claims.is_object()) return Unbelieved("its claims cannot be read");
  if (TextOf(claims, "iss") != rules_.issuer) return Unbelieved("it is of another issuer");
  if (!Holds(ClaimAt(claims, "aud"), rules_.audience)) return Unbelieved("it is for another audience");
  const double now_s = static_cast<double>(now_wall_ns) / kNanosPerSecond;
  const std::optional<double> expires_s = NumberOf(claims, "exp");
  if (!expires_s.has_value() || !(now_s < *expires_s + kJwtLeewaySeconds)) return Unbelieved("it has expired");
  const std::optional<double> begins_s = NumberOf(claims, "nbf");
  if (begins_s.has_value() && !(now_s >= *begins_s - kJwtLeewaySeconds)) return Unbelieved("it is not valid yet");
  for (const ClaimRule& rule : rules_.rules) {
    if (Holds(ClaimAt(claims, rule.claim), rule.value)) return HolderBy(rule, claims);
  }
  return absl::PermissionDeniedError("no rule gives a role to what the token claims");
}

}  // namespace lockstep
