// The key, the certificate and the authorities of one end of a TLS connection: named as files, read and checked as a
// whole, so that nothing half-renewed is ever used.
//
// Thread-safe.

#ifndef LOCKSTEP_DAEMON_TLS_TLS_FILES_H_
#define LOCKSTEP_DAEMON_TLS_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep {

// Paths of PEM files; "" = none.
struct TlsFiles {
  std::string certificate;  // own, with the chain behind it
  std::string key;          // of `certificate`, without a passphrase
  std::string authorities;  // whose certificates are believed of the other end

  bool empty() const { return certificate.empty() && key.empty() && authorities.empty(); }
};

// What was in the files.
struct TlsMaterial {
  std::string certificate;
  std::string key;
  std::string authorities;

  bool operator==(const TlsMaterial&) const = default;
};

// INVALID_ARGUMENT if a certificate is named without its key, or a key without its certificate. Reads nothing.
absl::Status CheckNamedTogether(const TlsFiles& files);

// INVALID_ARGUMENT names the file and what is wrong with it: not readable, no PEM certificate or key in it, a key that
// does not belong to the certificate, or what CheckNamedTogether says. Files that are not named stay empty.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files);

// The same where some of it is no file but was `given`. Errors name that "what was given". REQUIRES: of certificate,
// key and authorities each is named or given, not both.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files, TlsMaterial given);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TLS_TLS_FILES_H_
