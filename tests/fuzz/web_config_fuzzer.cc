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
  CHECK(config->tls.certificate.empty() || config->given.certificate.empty());
  CHECK(config->has_tls() == (!config->tls.key.empty() || !config->given.key.empty()));
  const bool verifies = config->client == lockstep::WebClientCertificate::kVerified ||
                        config->client == lockstep::WebClientCertificate::kVerifiedIfGiven;
  CHECK(!verifies || !config->tls.authorities.empty() || !config->given.authorities.empty());
  CHECK(verifies || config->client_names.empty());
  CHECK(config->request_interval_ns >= 0 && (config->request_interval_ns == 0 || config->request_burst > 0));
  for (const auto& [name, value] : config->headers) CHECK(!absl::StrContains(value, "\n"));
  for (const auto& [name, hash] : config->users) CHECK(!name.empty() && hash[0] == '$');
  return 0;
}
