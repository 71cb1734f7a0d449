#include "collector/access/discovery_document.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

absl::StatusOr<std::string> KeySetUrlOf(absl::string_view document, absl::string_view issuer) {
  const auto parsed =
      nlohmann::json::parse(document.begin(), document.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  const auto field = [&parsed](const char* name) {
    const bool is_there = parsed.is_object() && parsed.contains(name) && parsed[name].is_string();
    return is_there ? parsed[name].get<std::string>() : std::string();
  };
  if (field("issuer") != issuer) return absl::InvalidArgumentError(absl::StrCat("is not of the issuer ", issuer));
  std::string url = field("jwks_uri");
  if (url.empty()) return absl::InvalidArgumentError("names no jwks_uri");
  return url;
}

}  // namespace lockstep
