#include "collector/access/testing/signed_tokens.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr size_t kRsaBits = 2'048;

SigningKey WithId(cjose_jwk_t* key, const char* id) {
  cjose_err error;
  CHECK(key != nullptr);
  if (id != nullptr) CHECK(cjose_jwk_set_kid(key, id, std::strlen(id), &error));
  return SigningKey(key);
}

}  // namespace

SigningKey MakeRsaKey(const char* id) {
  cjose_err error;
  return WithId(cjose_jwk_create_RSA_random(kRsaBits, nullptr, 0, &error), id);
}

SigningKey MakeEcKey(const char* id) {
  cjose_err error;
  return WithId(cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error), id);
}

Json Published(const SigningKey& key) {
  cjose_err error;
  char* text = cjose_jwk_to_json(key.get(), /*priv=*/false, &error);
  CHECK(text != nullptr);
  Json json = Json::parse(text);
  std::free(text);
  return json;
}

std::string KeySetOf(const SigningKey& key) { return Json({{"keys", Json::array({Published(key)})}}).dump(); }

std::string SignToken(const SigningKey& key, const char* algorithm, const Json& claims, const char* id,
                      const char* critical) {
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

Json ClaimsOfPod(const std::string& service_account, const std::string& node, int64_t expires_s) {
  return {{"iss", "https://kubernetes.default.svc.cluster.local"},
          {"aud", {"lockstep"}},
          {"sub", absl::StrCat("system:serviceaccount:lockstep:", service_account)},
          {"exp", expires_s},
          {"kubernetes.io",
           {{"namespace", "lockstep"},
            {"node", {{"name", node}, {"uid", "5f1a3c1e-0000-4000-8000-000000000001"}}},
            {"pod", {{"name", "lockstep-agent-x7k2p"}, {"uid", "5f1a3c1e-0000-4000-8000-000000000002"}}},
            {"serviceaccount", {{"name", service_account}, {"uid", "5f1a3c1e-0000-4000-8000-000000000003"}}}}}};
}

}  // namespace lockstep
