#include "collector/alert/hmac_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"

namespace lockstep {

std::string HmacSignature(absl::string_view secret, int64_t wall_ns, absl::string_view body) {
  const int64_t seconds = wall_ns / kNanosPerSecond;
  const std::string text = absl::StrCat(seconds, ".", body);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), data, text.size(), digest, &bytes) !=
        nullptr);
  const absl::string_view raw(reinterpret_cast<const char*>(digest), bytes);
  return absl::StrCat("t=", seconds, ",v1=", absl::BytesToHexString(raw));
}

}  // namespace lockstep
