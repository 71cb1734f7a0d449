#include "daemon/tls/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"

namespace lockstep {
namespace {

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

constexpr char kGiven[] = "what was given";

Bio Reader(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// A key with a passphrase is refused: there is nobody to ask.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writes*/, void* /*data*/) { return -1; }

absl::Status Refuse(const std::string& path, const char* why) {
  ERR_clear_error();  // of this thread; TLS of other code reads the same queue
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::StatusOr<Certificate> FirstCertificate(const std::string& path, const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  if (certificate == nullptr) return Refuse(path, "holds no certificate in PEM");
  return certificate;
}

absl::Status CheckPair(const TlsFiles& files, const TlsMaterial& material) {
  ASSIGN_OR_RETURN(const Certificate certificate, FirstCertificate(files.certificate, material.certificate));
  const PrivateKey key(PEM_read_bio_PrivateKey(Reader(material.key).get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return Refuse(files.key, "holds no private key in PEM, or one with a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Refuse(files.key, absl::StrCat("is not the key of ", files.certificate).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNamedTogether(const TlsFiles& files) {
  if (files.certificate.empty() == files.key.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(files.key.empty() ? absl::StrCat(files.certificate, ": a certificate needs its key")
                                                      : absl::StrCat(files.key, ": a key needs its certificate"));
}

absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files) {
  RETURN_IF_ERROR(CheckNamedTogether(files));
  return ReadTlsFiles(files, {});
}

absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files, TlsMaterial given) {
  TlsFiles names = files;
  const std::pair<std::string*, std::string*> parts[] = {
      {&names.certificate, &given.certificate}, {&names.key, &given.key}, {&names.authorities, &given.authorities}};
  for (const auto& [name, text] : parts) {
    if (name->empty()) {
      *name = kGiven;
    } else {
      ASSIGN_OR_RETURN(*text, ReadBoundedFile(*name));
    }
  }
  if (!files.certificate.empty() || !given.certificate.empty()) RETURN_IF_ERROR(CheckPair(names, given));
  if (!files.authorities.empty() || !given.authorities.empty()) {
    RETURN_IF_ERROR(FirstCertificate(names.authorities, given.authorities).status());
  }
  return given;
}

}  // namespace lockstep
