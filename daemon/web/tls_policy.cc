#include "daemon/web/tls_policy.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// By rising version.
constexpr const char* kVersions[] = {"TLS10", "TLS11", "TLS12", "TLS13"};
constexpr size_t kTls12 = 2;
constexpr size_t kTls13 = 3;

// GnuTLS composes suites of a key exchange, a cipher and a code for authentication.
struct SuiteRow {
  const char* name;
  const char* exchange;  // "" = of TLS 1.3, which goes with all
  const char* cipher;
  const char* mac;
};
constexpr SuiteRow kSuites[] = {
    {"TLS_AES_128_GCM_SHA256", "", "AES-128-GCM", "AEAD"},
    {"TLS_AES_256_GCM_SHA384", "", "AES-256-GCM", "AEAD"},
    {"TLS_CHACHA20_POLY1305_SHA256", "", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA", "AES-128-GCM", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA", "AES-256-GCM", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA", "AES-128-CBC", "SHA1"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA", "AES-256-CBC", "SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA", "AES-128-CBC", "SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA", "AES-256-CBC", "SHA1"},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "RSA", "AES-128-GCM", "AEAD"},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "RSA", "AES-256-GCM", "AEAD"},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "RSA", "AES-128-CBC", "SHA1"},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "RSA", "AES-256-CBC", "SHA1"},
};

struct CurveRow {
  const char* name;
  const char* group;
};
constexpr CurveRow kCurves[] = {
    {"CurveP256", "GROUP-SECP256R1"},
    {"CurveP384", "GROUP-SECP384R1"},
    {"CurveP521", "GROUP-SECP521R1"},
    {"X25519", "GROUP-X25519"},
};

absl::StatusOr<size_t> VersionOf(const std::string& name, size_t otherwise) {
  if (name.empty()) return otherwise;
  const auto* const found = std::find(std::begin(kVersions), std::end(kVersions), name);
  if (found == std::end(kVersions)) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "': expected TLS10, TLS11, TLS12 or TLS13"));
  }
  return static_cast<size_t>(found - std::begin(kVersions));
}

template <typename Rows>
auto Find(const Rows& rows, const std::string& name) -> absl::StatusOr<decltype(std::begin(rows))> {
  const auto* const found =
      std::find_if(std::begin(rows), std::end(rows), [&name](const auto& row) { return name == row.name; });
  if (found != std::end(rows)) return found;
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not known here"));
}

// In the order of first appearance, which is the order of preference.
void AddOnce(const std::string& part, std::string& parts) {
  if (!absl::StrContains(absl::StrCat(parts, ":"), absl::StrCat(":+", part, ":"))) absl::StrAppend(&parts, ":+", part);
}

}  // namespace

absl::Status TlsPolicy::SetVersions(const std::string& least, const std::string& most) {
  ASSIGN_OR_RETURN(const size_t from, VersionOf(least, kTls12));
  ASSIGN_OR_RETURN(const size_t to, VersionOf(most, kTls13));
  has_tls12_ = from <= kTls12 && kTls12 <= to;
  has_tls13_ = from <= kTls13 && kTls13 <= to;
  if (has_tls12_ || has_tls13_) return absl::OkStatus();
  return absl::InvalidArgumentError("leaves no version that is spoken here, TLS12 or TLS13");
}

absl::Status TlsPolicy::SetCipherSuites(const std::vector<std::string>& names) {
  ciphers_.clear();
  if (names.empty()) return absl::OkStatus();
  std::set<std::string> exchanges;
  std::set<std::string> ciphers;  // of TLS 1.2
  std::set<std::pair<std::string, std::string>> wanted;
  std::string exchange_parts;
  std::string cipher_parts;
  std::string mac_parts;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const SuiteRow* row, Find(kSuites, name));
    AddOnce(row->cipher, cipher_parts);
    AddOnce(row->mac, mac_parts);
    if (row->exchange[0] == '\0') continue;
    AddOnce(row->exchange, exchange_parts);
    exchanges.insert(row->exchange);
    ciphers.insert(row->cipher);
    wanted.emplace(row->exchange, row->cipher);
  }
  if (wanted.size() != exchanges.size() * ciphers.size()) {
    return absl::InvalidArgumentError("every cipher must be there with every key exchange that is on the list");
  }
  ciphers_ = absl::StrCat(":-KX-ALL", exchange_parts, ":-CIPHER-ALL", cipher_parts, ":-MAC-ALL", mac_parts);
  return absl::OkStatus();
}

absl::Status TlsPolicy::SetCurves(const std::vector<std::string>& names) {
  curves_.clear();
  std::string groups;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const CurveRow* row, Find(kCurves, name));
    AddOnce(row->group, groups);
  }
  if (!groups.empty()) curves_ = absl::StrCat(":-GROUP-ALL", groups);
  return absl::OkStatus();
}

std::string TlsPolicy::Priorities() const {
  return absl::StrCat("NORMAL:-VERS-ALL", has_tls13_ ? ":+VERS-TLS1.3" : "", has_tls12_ ? ":+VERS-TLS1.2" : "",
                      ciphers_, curves_, prefers_server_ ? ":%SERVER_PRECEDENCE" : "");
}

}  // namespace lockstep
