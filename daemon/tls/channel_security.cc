#include "daemon/tls/channel_security.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

absl::Status CheckNames(const ChannelSecurity& security) {
  if (!security.files.authorities.empty()) return absl::OkStatus();
  if (!security.is_plain()) {
    return absl::InvalidArgumentError("a certificate or key is of use only with the authorities of the collector");
  }
  if (!security.server_name.empty()) {
    return absl::InvalidArgumentError("the name of the server is of use only with the authorities of the collector");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckChannelSecurity(const ChannelSecurity& security) {
  RETURN_IF_ERROR(CheckNames(security));
  return ReadTlsFiles(security.files).status();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const ChannelSecurity& security,
                                                                                 grpc::ChannelArguments& arguments) {
  RETURN_IF_ERROR(CheckNames(security));
  if (security.is_plain()) return grpc::InsecureChannelCredentials();
  ASSIGN_OR_RETURN(const TlsMaterial material, ReadTlsFiles(security.files));
  if (!security.server_name.empty()) arguments.SetSslTargetNameOverride(security.server_name);
  return grpc::SslCredentials({material.authorities, material.key, material.certificate});
}

}  // namespace lockstep
