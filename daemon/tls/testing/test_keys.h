// Keys and certificates for tests, made when they run: nothing that opens a door is in the repository.
//
// Not thread-safe.

#ifndef LOCKSTEP_DAEMON_TLS_TESTING_TEST_KEYS_H_
#define LOCKSTEP_DAEMON_TLS_TESTING_TEST_KEYS_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "daemon/tls/tls_files.h"

namespace lockstep {

// An authority of its own, whose certificates are written into a folder of the test.
class TestAuthority {
 public:
  // `name` is that of its certificate, and begins the names of its files.
  TestAuthority(std::string folder, std::string name);
  ~TestAuthority();

  // Path of its certificate.
  const std::string& path() const { return path_; }

  // A new key and a certificate, in FILE.crt and FILE.key. `alternatives` as in OpenSSL's configuration
  // ("URI:spiffe://example.org/a,DNS:localhost,IP:127.0.0.1"); "" = none. The authorities of what is returned are this
  // one alone.
  TlsFiles Issue(const std::string& file, const std::string& common_name, const std::string& alternatives);

 private:
  const std::string folder_;
  const std::string path_;
  EVP_PKEY* key_ = nullptr;
  X509* certificate_ = nullptr;
  long serial_ = 1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TLS_TESTING_TEST_KEYS_H_
