#include "daemon/web/web_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"

namespace lockstep {
namespace {

struct ClientAuthRow {
  const char* name;
  WebClientCertificate client;
};

// A certificate that is asked for, and needed by nobody, is not asked for.
constexpr ClientAuthRow kClientAuth[] = {
    {"NoClientCert", WebClientCertificate::kNone},
    {"RequestClientCert", WebClientCertificate::kNone},
    {"RequireAnyClientCert", WebClientCertificate::kAny},
    {"VerifyClientCertIfGiven", WebClientCertificate::kVerifiedIfGiven},
    {"RequireAndVerifyClientCert", WebClientCertificate::kVerified},
};

constexpr const char* kTlsKeys[] = {"cert_file",
                                    "key_file",
                                    "client_ca_file",
                                    "cert",
                                    "key",
                                    "client_ca",
                                    "client_auth_type",
                                    "client_allowed_sans",
                                    "min_version",
                                    "max_version",
                                    "cipher_suites",
                                    "prefer_server_cipher_suites",
                                    "curve_preferences"};

// Those that the format knows.
constexpr const char* kHeaders[] = {"Content-Security-Policy", "Strict-Transport-Security", "X-Content-Type-Options",
                                    "X-Frame-Options", "X-XSS-Protection"};
constexpr absl::string_view kAlwaysSet = "X-Content-Type-Options";
constexpr absl::string_view kAlwaysSetTo = "nosniff";
constexpr size_t kMaxHeaderBytes = 1'024;

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

absl::StatusOr<bool> Flag(const YAML::Node& map, const char* key, bool otherwise) {
  const YAML::Node value = map[key];
  if (!value.IsDefined() || value.IsNull()) return otherwise;
  bool flag = otherwise;
  if (!value.IsScalar() || !YAML::convert<bool>::decode(value, flag)) {
    return Refuse(value, absl::StrCat("'", key, "' must be true or false"));
  }
  return flag;
}

absl::StatusOr<std::vector<std::string>> Texts(const YAML::Node& map, const char* key) {
  const YAML::Node list = map[key];
  std::vector<std::string> texts;
  if (!list.IsDefined() || list.IsNull()) return texts;
  if (!list.IsSequence() || list.size() > kMaxWebNames) {
    return Refuse(list, absl::StrCat("'", key, "' must be a list of at most ", kMaxWebNames));
  }
  for (const YAML::Node& one : list) {
    if (!one.IsScalar() || one.Scalar().empty()) return Refuse(one, absl::StrCat("'", key, "' must list texts"));
    texts.push_back(one.Scalar());
  }
  return texts;
}

absl::Status At(const YAML::Node& map, const char* key, const absl::Status& status) {
  return status.ok() ? status : Refuse(map[key], absl::StrCat(key, ": ", status.message()));
}

// A path, or the text itself.
absl::Status ReadPem(const YAML::Node& node, const char* text_key, const std::string& folder, std::string& path,
                     std::string& text) {
  ASSIGN_OR_RETURN(text, Text(node, text_key));
  const std::string path_key = absl::StrCat(text_key, "_file");
  ASSIGN_OR_RETURN(path, Path(node, path_key.c_str(), folder));
  if (path.empty() || text.empty()) return absl::OkStatus();
  return Refuse(node[text_key], absl::StrCat("either ", text_key, " or ", path_key));
}

absl::Status ReadPolicy(const YAML::Node& node, TlsPolicy& policy) {
  ASSIGN_OR_RETURN(const std::string least, Text(node, "min_version"));
  ASSIGN_OR_RETURN(const std::string most, Text(node, "max_version"));
  RETURN_IF_ERROR(At(node, least.empty() ? "max_version" : "min_version", policy.SetVersions(least, most)));
  ASSIGN_OR_RETURN(const std::vector<std::string> suites, Texts(node, "cipher_suites"));
  RETURN_IF_ERROR(At(node, "cipher_suites", policy.SetCipherSuites(suites)));
  ASSIGN_OR_RETURN(const std::vector<std::string> curves, Texts(node, "curve_preferences"));
  RETURN_IF_ERROR(At(node, "curve_preferences", policy.SetCurves(curves)));
  ASSIGN_OR_RETURN(const bool prefers_server, Flag(node, "prefer_server_cipher_suites", true));
  policy.set_prefers_server(prefers_server);
  return absl::OkStatus();
}

absl::Status ReadClientAuth(const YAML::Node& node, WebConfig& config) {
  ASSIGN_OR_RETURN(const std::string name, Text(node, "client_auth_type"));
  if (!name.empty()) {
    const auto* const row = std::find_if(std::begin(kClientAuth), std::end(kClientAuth),
                                         [&name](const ClientAuthRow& one) { return name == one.name; });
    if (row == std::end(kClientAuth)) {
      const auto add_name = [](std::string* out, const ClientAuthRow& one) { out->append(one.name); };
      return Refuse(node["client_auth_type"], absl::StrCat("client_auth_type '", name, "': expected one of ",
                                                           absl::StrJoin(kClientAuth, ", ", add_name)));
    }
    config.client = row->client;
  }
  const bool has_authorities = !config.tls.authorities.empty() || !config.given.authorities.empty();
  const bool verifies =
      config.client == WebClientCertificate::kVerifiedIfGiven || config.client == WebClientCertificate::kVerified;
  // Others than these might go without one, and nobody would notice.
  const bool may_have_authorities = verifies || (!name.empty() && name != kClientAuth[0].name);
  if ((verifies && !has_authorities) || (has_authorities && !may_have_authorities)) {
    return Refuse(node, "client_ca_file and a client_auth_type that verifies belong together");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Texts(node, "client_allowed_sans"));
  config.client_names.insert(names.begin(), names.end());
  if (!names.empty() && !verifies) {
    return Refuse(node["client_allowed_sans"], "client_allowed_sans needs a client_auth_type that verifies");
  }
  return absl::OkStatus();
}

absl::Status ReadHttp(const YAML::Node& node, WebConfig& config) {
  if (node.IsNull()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckKeys(node, {"http2", "headers"}));
  RETURN_IF_ERROR(Flag(node, "http2", true).status());  // what may be spoken; HTTP/1.1 always may
  const YAML::Node headers = node["headers"];
  if (!headers.IsDefined() || headers.IsNull()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckKeys(headers, {std::begin(kHeaders), std::end(kHeaders)}));
  for (const auto& header : headers) {
    const std::string& name = header.first.Scalar();
    ASSIGN_OR_RETURN(const std::string value, Text(headers, name.c_str()));
    if (value.size() > kMaxHeaderBytes || !std::all_of(value.begin(), value.end(), absl::ascii_isprint)) {
      return Refuse(header.second, absl::StrCat("'", name, "' must be one line"));
    }
    if (name == kAlwaysSet) {
      if (value != kAlwaysSetTo) return Refuse(header.second, absl::StrCat(name, ": expected ", kAlwaysSetTo));
    } else if (!value.empty()) {
      config.headers.emplace_back(name, value);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTls(const YAML::Node& node, const std::string& folder, WebConfig& config) {
  RETURN_IF_ERROR(CheckKeys(node, {std::begin(kTlsKeys), std::end(kTlsKeys)}));
  RETURN_IF_ERROR(ReadPem(node, "cert", folder, config.tls.certificate, config.given.certificate));
  RETURN_IF_ERROR(ReadPem(node, "key", folder, config.tls.key, config.given.key));
  RETURN_IF_ERROR(ReadPem(node, "client_ca", folder, config.tls.authorities, config.given.authorities));
  const bool has_key = !config.tls.key.empty() || !config.given.key.empty();
  if (!config.has_tls() || !has_key) return Refuse(node, "needs cert_file and key_file");
  RETURN_IF_ERROR(ReadPolicy(node, config.tls_policy));
  return ReadClientAuth(node, config);
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

absl::Status ReadRateLimit(const YAML::Node& node, WebConfig& config) {
  if (node.IsNull()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckKeys(node, {"interval", "burst"}));
  ASSIGN_OR_RETURN(const std::string interval, Text(node, "interval"));
  ASSIGN_OR_RETURN(const std::string burst, Text(node, "burst"));
  absl::Duration between;
  if (!interval.empty() &&
      (!absl::ParseDuration(interval, &between) || between < absl::ZeroDuration() || between > absl::Hours(24))) {
    return Refuse(node["interval"],
                  absl::StrCat("interval: '", interval, "': expected a time such as 1s, a day at most"));
  }
  if (between == absl::ZeroDuration()) return absl::OkStatus();  // as with the exporters: no limit
  if (!absl::SimpleAtoi(burst, &config.request_burst) || config.request_burst < 1) {
    return Refuse(node, "burst: expected a number from 1 on: with less nobody would be answered");
  }
  config.request_interval_ns = std::max<int64_t>(absl::ToInt64Nanoseconds(between), 1);
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
    RETURN_IF_ERROR(CheckKeys(root, {"tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"}));
    if (root["tls_server_config"].IsDefined()) RETURN_IF_ERROR(ReadTls(root["tls_server_config"], folder, config));
    if (root["http_server_config"].IsDefined()) RETURN_IF_ERROR(ReadHttp(root["http_server_config"], config));
    if (root["basic_auth_users"].IsDefined()) RETURN_IF_ERROR(ReadUsers(root["basic_auth_users"], config));
    if (root["rate_limit"].IsDefined()) RETURN_IF_ERROR(ReadRateLimit(root["rate_limit"], config));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("line ", std::max(error.mark.line, 0) + 1, ": ", error.msg));
  }
  return config;
}

}  // namespace lockstep
