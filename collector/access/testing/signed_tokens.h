// A provider of tokens whose keys are made while a test runs: it publishes a key set and signs whatever it is told to.
//
// Pure but for the keys, which are random. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_TESTING_SIGNED_TOKENS_H_
#define LOCKSTEP_COLLECTOR_ACCESS_TESTING_SIGNED_TOKENS_H_

#include <cjose/cjose.h>

#include <memory>
#include <string>

#include "nlohmann/json.hpp"

namespace lockstep {

struct ReleaseSigningKey {
  void operator()(cjose_jwk_t* key) const { cjose_jwk_release(key); }
};
using SigningKey = std::unique_ptr<cjose_jwk_t, ReleaseSigningKey>;

// `id` nullptr = the key has none.
SigningKey MakeRsaKey(const char* id);
SigningKey MakeEcKey(const char* id);

// The part of the key that everybody may see.
nlohmann::json Published(const SigningKey& key);

// A key set that holds it alone.
std::string KeySetOf(const SigningKey& key);

// `id` and `critical` stand in the token's header unless they are nullptr.
std::string SignToken(const SigningKey& key, const char* algorithm, const nlohmann::json& claims,
                      const char* id = nullptr, const char* critical = nullptr);

// What a Kubernetes API server says in a token of a pod: https://kubernetes.io/docs/reference/access-authn-authz/
// service-accounts-admin/. `expires_s` is of the wall clock.
nlohmann::json ClaimsOfPod(const std::string& service_account, const std::string& node, int64_t expires_s);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_TESTING_SIGNED_TOKENS_H_
