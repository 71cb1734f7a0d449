#include "daemon/tls/testing/test_keys.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr long kValidSeconds = 3600;

EVP_PKEY* NewKey() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  CHECK(key != nullptr);
  return key;
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  CHECK(extension != nullptr);
  CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(const std::string& common_name, EVP_PKEY* key, long serial) {
  X509* certificate = X509_new();
  CHECK(certificate != nullptr && X509_set_version(certificate, X509_VERSION_3) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kValidSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kValidSeconds);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

template <typename Write>
void ToFile(const std::string& path, Write write) {
  // Renamed into place, as those who renew certificates do.
  const std::string beside = path + ".new";
  std::FILE* file = std::fopen(beside.c_str(), "w");
  CHECK(file != nullptr && write(file) == 1);
  CHECK(std::fclose(file) == 0 && std::rename(beside.c_str(), path.c_str()) == 0);
}

}  // namespace

TestAuthority::TestAuthority(std::string folder, std::string name)
    : folder_(std::move(folder)), path_(folder_ + "/" + name + ".ca.crt"), key_(NewKey()) {
  certificate_ = NewCertificate(name, key_, serial_++);
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  AddExtension(certificate_, certificate_, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate_, certificate_, NID_key_usage, "critical,keyCertSign,cRLSign");
  CHECK(X509_sign(certificate_, key_, EVP_sha256()) > 0);
  ToFile(path_, [this](std::FILE* file) { return PEM_write_X509(file, certificate_); });
}

TestAuthority::~TestAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

TlsFiles TestAuthority::Issue(const std::string& file, const std::string& common_name,
                              const std::string& alternatives) {
  EVP_PKEY* key = NewKey();
  X509* certificate = NewCertificate(common_name, key, serial_++);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  if (!alternatives.empty()) AddExtension(certificate, certificate_, NID_subject_alt_name, alternatives);
  CHECK(X509_sign(certificate, key_, EVP_sha256()) > 0);
  const TlsFiles files = {folder_ + "/" + file + ".crt", folder_ + "/" + file + ".key", path_};
  ToFile(files.certificate, [certificate](std::FILE* out) { return PEM_write_X509(out, certificate); });
  ToFile(files.key,
         [key](std::FILE* out) { return PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace lockstep
