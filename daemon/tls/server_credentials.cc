#include "daemon/tls/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kGraceMillis = 10'000;  // for calls that are under way

grpc_ssl_client_certificate_request_type ToGrpc(ClientCertificate client) {
  switch (client) {
    case ClientCertificate::kNotAsked:
      return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    case ClientCertificate::kOptional:
      return GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    case ClientCertificate::kRequired:
      return GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  CHECK(false);
}

// The public interface of gRPC has reloading in its C part only.
class ReloadingServerCredentials final : public grpc::ServerCredentials {
 public:
  ReloadingServerCredentials(const TlsWatch& watch, ClientCertificate client) : watch_(watch) {
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(ToGrpc(client), Fetch, this));
    CHECK(credentials_ != nullptr);
  }
  ~ReloadingServerCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {
    CHECK(false);  // who may call what is decided per call, see collector/access
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // Called by gRPC before each handshake, one at a time.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    auto* credentials = static_cast<ReloadingServerCredentials*>(self);
    const TlsWatch::Version version = credentials->watch_.current();
    if (credentials->served_.exchange(version.number) == version.number) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {version.material->key.c_str(), version.material->certificate.c_str()};
    // gRPC insists on authorities when keys change, also where it asks no client for a certificate.
    const bool has_authorities = !version.material->authorities.empty();
    *config = grpc_ssl_server_certificate_config_create(
        (has_authorities ? version.material->authorities : version.material->certificate).c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const TlsWatch& watch_;
  std::atomic<uint64_t> served_{0};
  grpc_server_credentials* credentials_ = nullptr;
};

}  // namespace

void LimitConnectionAge(int64_t age_ns, grpc::ServerBuilder& builder) {
  const int64_t age_ms = age_ns / kNanosPerMilli;
  CHECK(age_ms > 0 && age_ms <= std::numeric_limits<int>::max());
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, static_cast<int>(age_ms));
  // Streams have no end: what is left of them is over then.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, static_cast<int>(std::min(age_ms, kGraceMillis)));
}

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const TlsWatch& watch, ClientCertificate client) {
  return std::make_shared<ReloadingServerCredentials>(watch, client);
}

}  // namespace lockstep
