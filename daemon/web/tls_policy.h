// With which versions and ciphers of TLS pages are served: what a web_config may say of that, in words of the
// exporters, and what GnuTLS makes of it.
//
// Left to itself: TLS 1.2 and 1.3 with the ciphers of GnuTLS, whose order is the server's. Never less than TLS 1.2.
// Plain value; thread-compatible.

#ifndef LOCKSTEP_DAEMON_WEB_TLS_POLICY_H_
#define LOCKSTEP_DAEMON_WEB_TLS_POLICY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lockstep {

class TlsPolicy {
 public:
  // TLS10 to TLS13; "" = the default. INVALID_ARGUMENT for another name, and if no version is left that is served.
  absl::Status SetVersions(const std::string& least, const std::string& most);

  // Names of the registry, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"; none = the default. INVALID_ARGUMENT for one that
  // is not known, and for a list whose ciphers and key exchanges cannot be had without others that are not on it.
  absl::Status SetCipherSuites(const std::vector<std::string>& names);

  // "CurveP256", "X25519"; none = the default. INVALID_ARGUMENT for one that is not known.
  absl::Status SetCurves(const std::vector<std::string>& names);

  // Whose order of ciphers counts.
  void set_prefers_server(bool prefers_server) { prefers_server_ = prefers_server; }

  // A priority string of GnuTLS.
  std::string Priorities() const;

 private:
  bool has_tls12_ = true;
  bool has_tls13_ = true;
  bool prefers_server_ = true;
  std::string ciphers_;  // parts of the priority string, each behind a ':'
  std::string curves_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_WEB_TLS_POLICY_H_
