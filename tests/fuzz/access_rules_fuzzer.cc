// A file of rules, and the names of a certificate that a stranger chose: rules are read or refused with a line, and no
// name gives an agent a host that it does not spell.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/access/access_rules.h"
#include "collector/access/caller.h"
#include "collector/access/peer_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  // The name stands behind the first zero.
  const size_t zero = input.find('\0');
  const auto rules = lockstep::ParseAccessRules(input.substr(0, zero));
  if (!rules.ok()) {
    CHECK(zero > lockstep::kMaxAccessBytes || absl::StrContains(rules.status().message(), "line "));
    return 0;
  }
  const std::string name(zero == absl::string_view::npos ? absl::string_view() : input.substr(zero + 1));
  lockstep::PeerNames names;
  names.uris = {name};
  names.dns = {name};
  names.common_names = {name};
  const std::optional<lockstep::Caller> caller = lockstep::CallerOf(names, *rules);
  if (!caller.has_value()) return 0;
  CHECK(caller->role != lockstep::Role::kAgent || caller->reports_any_host || !caller->hosts.empty());
  for (const std::string& host : caller->hosts) CHECK(!host.empty() && absl::StrContains(name, host));
  CHECK(caller->tenant.empty() || !caller->Sees(""));
  return 0;
}
