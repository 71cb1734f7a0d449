// The file that guards a daemon's pages: read, or refused with a line.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "daemon/web/web_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = lockstep::ParseWebConfig(absl::string_view(reinterpret_cast<const char*>(data), size), "/folder");
  if (!config.ok()) {
    CHECK(absl::StrContains(config.status().message(), "line ") ||
          absl::StrContains(config.status().message(), "longer"));
    return 0;
  }
  CHECK(config->tls.certificate.empty() == config->tls.key.empty());
  CHECK(config->client == lockstep::WebClientCertificate::kNone || !config->tls.authorities.empty());
  for (const auto& [name, hash] : config->users) CHECK(!name.empty() && hash[0] == '$');
  return 0;
}
