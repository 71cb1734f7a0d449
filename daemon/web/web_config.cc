#include "daemon/web/web_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"

namespace lockstep {
namespace {

struct ClientAuthRow {
  const char* name;
  WebClientCertificate client;
};

// A certificate that is asked for and not verified proves nothing: it is not asked for.
constexpr ClientAuthRow kClientAuth[] = {
    {"NoClientCert", WebClientCertificate::kNone},
    {"RequestClientCert", WebClientCertificate::kNone},
    {"VerifyClientCertIfGiven", WebClientCertificate::kVerifiedIfGiven},
    {"RequireAndVerifyClientCert", WebClientCertificate::kVerified},
};

absl::Status Refuse(const YAML::Node& at, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("line ", std::max(at.Mark().line, 0) + 1, ": ", why));
}

absl::Status CheckKeys(const YAML::Node& map, const std::vector<std::string>& known) {
  if (!map.IsMap()) return Refuse(map, absl::StrCat("expected a map of ", absl::StrJoin(known, ", ")));
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Refuse(entry.first, absl::StrCat("'", key, "' is not known here, only ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Text(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  if (!value.IsDefined()) return std::string();
  if (!value.IsScalar()) return Refuse(value, absl::StrCat("'", key, "' must be a text"));
  return value.Scalar();
}

absl::StatusOr<std::string> Path(const YAML::Node& map, const char* key, const std::string& folder) {
  absl::StatusOr<std::string> path = Text(map, key);
  if (path.ok() && !path->empty() && !absl::StartsWith(*path, "/")) *path = absl::StrCat(folder, "/", *path);
  return path;
}

absl::Status ReadTls(const YAML::Node& node, const std::string& folder, WebConfig& config) {
  RETURN_IF_ERROR(CheckKeys(node, {"cert_file", "key_file", "client_ca_file", "client_auth_type"}));
  ASSIGN_OR_RETURN(config.tls.certificate, Path(node, "cert_file", folder));
  ASSIGN_OR_RETURN(config.tls.key, Path(node, "key_file", folder));
  ASSIGN_OR_RETURN(config.tls.authorities, Path(node, "client_ca_file", folder));
  if (config.tls.certificate.empty() || config.tls.key.empty()) return Refuse(node, "needs cert_file and key_file");
  ASSIGN_OR_RETURN(const std::string name, Text(node, "client_auth_type"));
  if (!name.empty()) {
    const auto* const row = std::find_if(std::begin(kClientAuth), std::end(kClientAuth),
                                         [&name](const ClientAuthRow& one) { return name == one.name; });
    if (row == std::end(kClientAuth)) {
      return Refuse(node["client_auth_type"], absl::StrCat("client_auth_type '", name,
                                                           "': expected NoClientCert, "
                                                           "VerifyClientCertIfGiven or RequireAndVerifyClientCert"));
    }
    config.client = row->client;
  }
  if ((config.client == WebClientCertificate::kNone) != config.tls.authorities.empty()) {
    return Refuse(node, "client_ca_file and a client_auth_type that verifies belong together");
  }
  return absl::OkStatus();
}

absl::Status ReadUsers(const YAML::Node& node, WebConfig& config) {
  if (node.IsNull()) return absl::OkStatus();
  if (!node.IsMap()) return Refuse(node, "'basic_auth_users' must be a map of names to hashes");
  if (node.size() > kMaxWebUsers) return Refuse(node, absl::StrCat("more than ", kMaxWebUsers, " users"));
  for (const auto& entry : node) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar() || entry.first.Scalar().empty()) {
      return Refuse(entry.first, "expected NAME: HASH");
    }
    const std::string& name = entry.first.Scalar();
    if (absl::StrContains(name, ':')) return Refuse(entry.first, "the name of a user holds no ':'");
    if (!absl::StartsWith(entry.second.Scalar(), "$")) {
      return Refuse(entry.second, absl::StrCat("user '", name, "': expected a hash such as $2y$10$..."));
    }
    if (!config.users.emplace(name, entry.second.Scalar()).second) {
      return Refuse(entry.first, absl::StrCat("user '", name, "' appears twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WebConfig> ParseWebConfig(absl::string_view text, const std::string& folder) {
  if (text.size() > kMaxBoundedFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat("is longer than ", kMaxBoundedFileBytes, " bytes"));
  }
  WebConfig config;
  // yaml-cpp reports by exception; nothing of it leaves this function.
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsDefined() || root.IsNull()) return config;  // an empty file guards nothing, as with the exporters
    RETURN_IF_ERROR(CheckKeys(root, {"tls_server_config", "basic_auth_users"}));
    if (root["tls_server_config"].IsDefined()) RETURN_IF_ERROR(ReadTls(root["tls_server_config"], folder, config));
    if (root["basic_auth_users"].IsDefined()) RETURN_IF_ERROR(ReadUsers(root["basic_auth_users"], config));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("line ", std::max(error.mark.line, 0) + 1, ": ", error.msg));
  }
  return config;
}

}  // namespace lockstep
