// How the pages of a daemon are guarded, in the format of the Prometheus exporters (web.config.file): TLS, and names
// with passwords.
//
//   tls_server_config:
//     cert_file: tls.crt            # relative to the folder of this file
//     key_file: tls.key
//     client_ca_file: ca.crt
//     client_auth_type: RequireAndVerifyClientCert
//   basic_auth_users:
//     prometheus: $2y$10$...        # bcrypt, or another hash of crypt(3)
//
// Pure. Keys of that format that mean something and are not known here are refused, never passed over.

#ifndef LOCKSTEP_DAEMON_WEB_WEB_CONFIG_H_
#define LOCKSTEP_DAEMON_WEB_WEB_CONFIG_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/tls/tls_files.h"

namespace lockstep {

inline constexpr size_t kMaxWebUsers = 1'000;

// What is wanted of a client's certificate.
enum class WebClientCertificate { kNone, kVerifiedIfGiven, kVerified };

struct WebConfig {
  TlsFiles tls;  // empty = plain text
  WebClientCertificate client = WebClientCertificate::kNone;
  std::map<std::string, std::string> users;  // hashes by name; empty = nobody is asked for a password
};

// `folder` is that of the file. INVALID_ARGUMENT says in which line what is wrong.
absl::StatusOr<WebConfig> ParseWebConfig(absl::string_view text, const std::string& folder);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_WEB_WEB_CONFIG_H_
