#include "collector/access/access_rules.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "daemon/http_client.h"
#include "daemon/nearest_name.h"

namespace lockstep {
namespace {

constexpr char kHostGap[] = "{host}";
constexpr char kAnyGap[] = "*";

absl::Status Refuse(const YAML::Node& at, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("line ", std::max(at.Mark().line, 0) + 1, ": ", why));
}

absl::Status At(const YAML::Node& at, const absl::Status& status) { return Refuse(at, status.message()); }

// A map all of whose keys are among `known`, each once.
absl::Status CheckMap(const YAML::Node& map, const std::vector<std::string>& known) {
  if (!map.IsMap()) return Refuse(map, absl::StrCat("expected a map of ", absl::StrJoin(known, ", ")));
  std::vector<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Refuse(entry.first, absl::StrCat("unknown key '", key, "'", DidYouMean(key, known)));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return Refuse(entry.first, absl::StrCat("key '", key, "' appears twice"));
    }
    seen.push_back(key);
  }
  return absl::OkStatus();
}

// Text of a key; "" where it is missing.
absl::StatusOr<std::string> Text(const YAML::Node& map, const char* key, bool required = false) {
  const YAML::Node value = map[key];
  if (!value.IsDefined()) {
    if (required) return Refuse(map, absl::StrCat("'", key, "' is missing"));
    return std::string();
  }
  if (!value.IsScalar() || value.Scalar().empty()) return Refuse(value, absl::StrCat("'", key, "' must be a text"));
  return value.Scalar();
}

// The entries of a list; none where it is missing.
absl::StatusOr<std::vector<YAML::Node>> List(const YAML::Node& map, const char* key) {
  const YAML::Node list = map[key];
  if (!list.IsDefined() || list.IsNull()) return std::vector<YAML::Node>();
  if (!list.IsSequence()) return Refuse(list, absl::StrCat("'", key, "' must be a list"));
  if (list.size() > kMaxAccessRules)
    return Refuse(list, absl::StrCat("more than ", kMaxAccessRules, " in '", key, "'"));
  return std::vector<YAML::Node>(list.begin(), list.end());
}

class RulesReader {
 public:
  absl::StatusOr<AccessRules> Read(const YAML::Node& root) {
    RETURN_IF_ERROR(CheckMap(root, {"certificates", "tokens", "oidc", "tenants"}));
    RETURN_IF_ERROR(ReadTenants(root["tenants"]));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> certificates, List(root, "certificates"));
    for (const YAML::Node& rule : certificates) RETURN_IF_ERROR(ReadCertificate(rule));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> tokens, List(root, "tokens"));
    for (const YAML::Node& rule : tokens) RETURN_IF_ERROR(ReadToken(rule));
    if (root["oidc"].IsDefined()) RETURN_IF_ERROR(ReadOidc(root["oidc"]));
    return std::move(rules_);
  }

 private:
  absl::Status ReadTenants(const YAML::Node& tenants) {
    if (!tenants.IsDefined() || tenants.IsNull()) return absl::OkStatus();
    if (!tenants.IsMap()) return Refuse(tenants, "'tenants' must be a map of names to lists of jobs");
    if (tenants.size() > kMaxAccessRules)
      return Refuse(tenants, absl::StrCat("more than ", kMaxAccessRules, " tenants"));
    for (const auto& entry : tenants) {
      if (!entry.first.IsScalar() || entry.first.Scalar().empty()) return Refuse(entry.first, "a tenant needs a name");
      const std::string& name = entry.first.Scalar();
      if (rules_.tenants.contains(name)) return Refuse(entry.first, absl::StrCat("tenant '", name, "' appears twice"));
      ASSIGN_OR_RETURN(rules_.tenants[name], ReadJobs(tenants, name.c_str()));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<Wildcard>> ReadJobs(const YAML::Node& map, const char* key) {
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> jobs, List(map, key));
    std::vector<Wildcard> patterns;
    for (const YAML::Node& job : jobs) {
      if (!job.IsScalar()) return Refuse(job, "expected the name of a job, or its beginning and *");
      absl::StatusOr<Wildcard> pattern = Wildcard::Parse(job.Scalar(), kAnyGap);
      if (!pattern.ok()) return At(job, pattern.status());
      patterns.push_back(*std::move(pattern));
    }
    return patterns;
  }

  absl::StatusOr<Grant> ReadGrant(const YAML::Node& rule) {
    ASSIGN_OR_RETURN(const std::string role, Text(rule, "role", /*required=*/true));
    Grant grant;
    const std::optional<Role> known = RoleOf(role);
    if (!known.has_value()) {
      return Refuse(rule["role"], absl::StrCat("role '", role, "': expected viewer, operator, admin or agent"));
    }
    grant.role = *known;
    ASSIGN_OR_RETURN(grant.tenant, Text(rule, "tenant"));
    if (grant.tenant.empty()) return grant;
    if (!rules_.tenants.contains(grant.tenant)) {
      return Refuse(rule["tenant"], absl::StrCat("tenant '", grant.tenant, "' is not among 'tenants'"));
    }
    if (grant.role == Role::kAdmin || grant.role == Role::kAgent) {
      return Refuse(rule["tenant"], absl::StrCat("an ", role, " acts on the whole fleet and has no tenant"));
    }
    return grant;
  }

  absl::Status ReadCertificate(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckMap(node, {"match", "role", "tenant", "hosts", "jobs"}));
    CertificateRule rule;
    ASSIGN_OR_RETURN(rule.grant, ReadGrant(node));
    ASSIGN_OR_RETURN(const std::string match, Text(node, "match", /*required=*/true));
    absl::string_view pattern = match;
    if (absl::ConsumePrefix(&pattern, "dns:")) {
      rule.kind = CertificateRule::Kind::kDns;
    } else if (absl::ConsumePrefix(&pattern, "cn:")) {
      rule.kind = CertificateRule::Kind::kCommonName;
    } else if (!absl::StrContains(pattern, "://")) {
      return Refuse(node["match"], absl::StrCat("match '", match, "': expected spiffe://..., dns:NAME or cn:NAME"));
    }
    const bool is_agent = rule.grant.role == Role::kAgent;
    absl::StatusOr<Wildcard> parsed = Wildcard::Parse(pattern, is_agent ? kHostGap : kAnyGap);
    if (!parsed.ok()) return At(node["match"], parsed.status());
    rule.pattern = *std::move(parsed);
    ASSIGN_OR_RETURN(const std::string hosts, Text(node, "hosts"));
    if (!hosts.empty() && (hosts != kAnyGap || !is_agent)) {
      return Refuse(node["hosts"], "the only use of 'hosts' is \"*\", for an agent that reports for any host");
    }
    rule.reports_any_host = !hosts.empty();
    if (is_agent && rule.pattern.has_gap() == rule.reports_any_host) {
      return Refuse(node, "an agent needs the name of its host as {host} in 'match', or else hosts: \"*\"");
    }
    ASSIGN_OR_RETURN(rule.reports, ReadJobs(node, "jobs"));
    if (node["jobs"].IsDefined() && (!is_agent || rule.reports.empty())) {
      return Refuse(node["jobs"], "'jobs' lists those of which an agent is believed");
    }
    rules_.certificates.push_back(std::move(rule));
    return absl::OkStatus();
  }

  absl::Status ReadToken(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckMap(node, {"name", "hash", "role", "tenant"}));
    TokenRule rule;
    ASSIGN_OR_RETURN(rule.grant, ReadGrant(node));
    if (rule.grant.role == Role::kAgent) return Refuse(node, "an agent needs a certificate, a token will not do");
    ASSIGN_OR_RETURN(const std::string name, Text(node, "name", /*required=*/true));
    if (absl::StrContains(name, '.')) return Refuse(node["name"], "the name of a token holds no '.'");
    ASSIGN_OR_RETURN(rule.hash, Text(node, "hash", /*required=*/true));
    if (rule.hash[0] != '$') return Refuse(node["hash"], "expected a hash as of crypt(3), such as $5$SALT$...");
    if (!rules_.tokens.emplace(name, std::move(rule)).second) {
      return Refuse(node["name"], absl::StrCat("token '", name, "' appears twice"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOidc(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckMap(node, {"issuer", "audience", "keys", "keys_url", "keys_ca", "rules"}));
    ASSIGN_OR_RETURN(rules_.oidc.issuer, Text(node, "issuer", /*required=*/true));
    ASSIGN_OR_RETURN(rules_.oidc.audience, Text(node, "audience", /*required=*/true));
    RETURN_IF_ERROR(ReadKeySet(node));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> rules, List(node, "rules"));
    if (rules.empty()) return Refuse(node, "'rules' must give somebody a role");
    for (const YAML::Node& entry : rules) {
      RETURN_IF_ERROR(CheckMap(entry, {"claim", "value", "role", "tenant"}));
      ClaimRule& rule = rules_.oidc.rules.emplace_back();
      ASSIGN_OR_RETURN(rule.grant, ReadGrant(entry));
      if (rule.grant.role == Role::kAgent) return Refuse(entry, "an agent needs a certificate, a token will not do");
      ASSIGN_OR_RETURN(rule.claim, Text(entry, "claim", /*required=*/true));
      ASSIGN_OR_RETURN(rule.value, Text(entry, "value", /*required=*/true));
    }
    return absl::OkStatus();
  }

  absl::Status ReadKeySet(const YAML::Node& node) {
    OidcRules& oidc = rules_.oidc;
    ASSIGN_OR_RETURN(oidc.keys, Text(node, "keys"));
    ASSIGN_OR_RETURN(oidc.origin.url, Text(node, "keys_url"));
    ASSIGN_OR_RETURN(oidc.origin.authorities, Text(node, "keys_ca"));
    oidc.origin.issuer = oidc.issuer;
    if (!oidc.keys.empty()) {
      if (oidc.origin.url.empty() && oidc.origin.authorities.empty()) return absl::OkStatus();
      return Refuse(node["keys"], "'keys' is a file: it goes with neither 'keys_url' nor 'keys_ca'");
    }
    const char* said_by = oidc.origin.url.empty() ? "issuer" : "keys_url";
    const absl::Status url = CheckTrustworthyUrl(oidc.origin.url.empty() ? oidc.issuer : oidc.origin.url);
    if (url.ok()) return absl::OkStatus();
    return Refuse(node[said_by],
                  absl::StrCat("'", said_by, "' gives the key set, where no 'keys' does: ", url.message()));
  }

  AccessRules rules_;
};

}  // namespace

absl::StatusOr<AccessRules> ParseAccessRules(absl::string_view text) {
  if (text.size() > kMaxAccessBytes) {
    return absl::InvalidArgumentError(absl::StrCat("is longer than ", kMaxAccessBytes, " bytes"));
  }
  // yaml-cpp reports by exception; nothing of it leaves this function.
  try {
    return RulesReader().Read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("line ", std::max(error.mark.line, 0) + 1, ": ", error.msg));
  }
}

}  // namespace lockstep
