#include "daemon/client_names.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>

#include <memory>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kMaxNameBytes = 1'024;
constexpr size_t kIpv4Bytes = 4;
constexpr size_t kIpv6Bytes = 16;

struct CertificateDeleter {
  void operator()(gnutls_x509_crt_int* certificate) const { gnutls_x509_crt_deinit(certificate); }
};
using Certificate = std::unique_ptr<gnutls_x509_crt_int, CertificateDeleter>;

Certificate CertificateOf(gnutls_session_t session) {
  unsigned count = 0;
  const gnutls_datum_t* shown = gnutls_certificate_get_peers(session, &count);
  gnutls_x509_crt_t certificate = nullptr;
  if (shown == nullptr || count == 0 || gnutls_x509_crt_init(&certificate) != GNUTLS_E_SUCCESS) return nullptr;
  Certificate owned(certificate);
  if (gnutls_x509_crt_import(certificate, shown, GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS) return nullptr;
  return owned;
}

// "" for a kind of name that nobody compares.
std::string TextOf(int kind, const std::string& name) {
  switch (kind) {
    case GNUTLS_SAN_DNSNAME:
    case GNUTLS_SAN_RFC822NAME:
    case GNUTLS_SAN_URI:
      return name;
    case GNUTLS_SAN_IPADDRESS: {
      if (name.size() != kIpv4Bytes && name.size() != kIpv6Bytes) return "";
      char text[INET6_ADDRSTRLEN] = "";
      inet_ntop(name.size() == kIpv4Bytes ? AF_INET : AF_INET6, name.data(), text, sizeof(text));
      return text;
    }
    default:
      return "";
  }
}

}  // namespace

std::vector<std::string> AlternativeNamesOf(gnutls_session_t session) {
  std::vector<std::string> names;
  const Certificate certificate = CertificateOf(session);
  if (certificate == nullptr) return names;
  for (unsigned i = 0; i < kMaxClientNames; ++i) {
    std::string name(kMaxNameBytes, '\0');
    size_t bytes = name.size();
    const int kind = gnutls_x509_crt_get_subject_alt_name(certificate.get(), i, name.data(), &bytes, nullptr);
    if (kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) break;
    if (kind < 0) continue;  // too long, or broken
    name.resize(bytes);
    if (std::string text = TextOf(kind, name); !text.empty()) names.push_back(std::move(text));
  }
  return names;
}

}  // namespace lockstep
