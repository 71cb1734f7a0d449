// How the pages of a daemon are guarded, in the format of the Prometheus exporters (web.config.file): TLS, headers, and
// names with passwords.
//
//   tls_server_config:
//     cert_file: tls.crt            # relative to the folder of this file; or its text, as cert
//     key_file: tls.key             # or key
//     client_ca_file: ca.crt        # or client_ca
//     client_auth_type: RequireAndVerifyClientCert
//     client_allowed_sans: [prometheus.example.org]
//     min_version: TLS12            # and max_version, cipher_suites, curve_preferences, prefer_server_cipher_suites
//   http_server_config:
//     headers: {X-Frame-Options: deny}
//   basic_auth_users:
//     prometheus: $2y$10$...        # bcrypt, or another hash of crypt(3)
//   rate_limit: {interval: 1s, burst: 20}
//
// Pure. Keys of that format that mean something and are not known here are refused, never passed over.

#ifndef LOCKSTEP_DAEMON_WEB_WEB_CONFIG_H_
#define LOCKSTEP_DAEMON_WEB_WEB_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/tls/tls_files.h"
#include "daemon/web/tls_policy.h"

namespace lockstep {

inline constexpr size_t kMaxWebUsers = 1'000;
inline constexpr size_t kMaxWebNames = 1'000;  // of any list

// What is wanted of a client's certificate. kAny proves nothing but that the client has one.
enum class WebClientCertificate { kNone, kAny, kVerifiedIfGiven, kVerified };

struct WebConfig {
  TlsFiles tls;
  TlsMaterial given;     // what stands in the file itself; of one kind either this or a path in `tls`
  TlsPolicy tls_policy;  // where there is TLS
  WebClientCertificate client = WebClientCertificate::kNone;
  std::set<std::string> client_names;                        // one of which it must have; empty = any will do
  std::vector<std::pair<std::string, std::string>> headers;  // of every page
  std::map<std::string, std::string> users;                  // hashes by name; empty = nobody is asked for a password
  int64_t request_interval_ns = 0;                           // between answers in the long run; 0 = no limit
  int64_t request_burst = 0;                                 // answers at once; positive where there is a limit

  bool has_tls() const { return !tls.certificate.empty() || !given.certificate.empty(); }
};

// `folder` is that of the file. INVALID_ARGUMENT says in which line what is wrong.
absl::StatusOr<WebConfig> ParseWebConfig(absl::string_view text, const std::string& folder);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_WEB_WEB_CONFIG_H_
