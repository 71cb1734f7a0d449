// What an OpenID Connect provider, or who answers in its place, says about itself.

#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/access/discovery_document.h"
#include "daemon/http_client.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view document(reinterpret_cast<const char*>(data), size);
  const auto url = lockstep::KeySetUrlOf(document, "https://login.example.org");
  if (!url.ok()) return 0;
  CHECK(!url->empty());
  CHECK(!lockstep::KeySetUrlOf(document, "https://login.example.com").ok());
  // What is fetched is fetched over https, or from loopback.
  if (lockstep::CheckTrustworthyUrl(*url).ok()) CHECK(absl::StartsWithIgnoreCase(*url, "http"));
  return 0;
}
