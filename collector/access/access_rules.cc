#include "collector/access/access_rules.h"

#include <yaml-cpp/yaml.h>

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "daemon/http_client.h"
#include "daemon/yaml_map.h"

namespace lockstep {
namespace {

constexpr char kHostGap[] = "{host}";
constexpr char kAnyGap[] = "*";

class RulesReader {
 public:
  absl::StatusOr<AccessRules> Read(const YAML::Node& root) {
    RETURN_IF_ERROR(CheckYamlMap(root, {"certificates", "tokens", "oidc", "tenants"}));
    RETURN_IF_ERROR(ReadTenants(root["tenants"]));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> certificates, YamlList(root, "certificates", kMaxAccessRules));
    for (const YAML::Node& rule : certificates) RETURN_IF_ERROR(ReadCertificate(rule));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> tokens, YamlList(root, "tokens", kMaxAccessRules));
    for (const YAML::Node& rule : tokens) RETURN_IF_ERROR(ReadToken(rule));
    if (root["oidc"].IsDefined()) RETURN_IF_ERROR(ReadOidc(root["oidc"]));
    return std::move(rules_);
  }

 private:
  absl::Status ReadTenants(const YAML::Node& tenants) {
    if (!tenants.IsDefined() || tenants.IsNull()) return absl::OkStatus();
    if (!tenants.IsMap()) return RefuseYaml(tenants, "'tenants' must be a map of names to lists of jobs");
    if (tenants.size() > kMaxAccessRules)
      return RefuseYaml(tenants, absl::StrCat("more than ", kMaxAccessRules, " tenants"));
    for (const auto& entry : tenants) {
      if (!entry.first.IsScalar() || entry.first.Scalar().empty())
        return RefuseYaml(entry.first, "a tenant needs a name");
      const std::string& name = entry.first.Scalar();
      if (rules_.tenants.contains(name))
        return RefuseYaml(entry.first, absl::StrCat("tenant '", name, "' appears twice"));
      ASSIGN_OR_RETURN(rules_.tenants[name], ReadJobs(tenants, name.c_str()));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<Wildcard>> ReadJobs(const YAML::Node& map, const char* key) {
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> jobs, YamlList(map, key, kMaxAccessRules));
    std::vector<Wildcard> patterns;
    for (const YAML::Node& job : jobs) {
      if (!job.IsScalar()) return RefuseYaml(job, "expected the name of a job, or its beginning and *");
      absl::StatusOr<Wildcard> pattern = Wildcard::Parse(job.Scalar(), kAnyGap);
      if (!pattern.ok()) return RefuseYaml(job, pattern.status());
      patterns.push_back(*std::move(pattern));
    }
    return patterns;
  }

  absl::StatusOr<Grant> ReadGrant(const YAML::Node& rule) {
    ASSIGN_OR_RETURN(const std::string role, YamlText(rule, "role", /*required=*/true));
    Grant grant;
    const std::optional<Role> known = RoleOf(role);
    if (!known.has_value()) {
      return RefuseYaml(rule["role"], absl::StrCat("role '", role, "': expected viewer, operator, admin or agent"));
    }
    grant.role = *known;
    ASSIGN_OR_RETURN(grant.tenant, YamlText(rule, "tenant"));
    if (grant.tenant.empty()) return grant;
    if (!rules_.tenants.contains(grant.tenant)) {
      return RefuseYaml(rule["tenant"], absl::StrCat("tenant '", grant.tenant, "' is not among 'tenants'"));
    }
    if (grant.role == Role::kAdmin || grant.role == Role::kAgent) {
      return RefuseYaml(rule["tenant"], absl::StrCat("an ", role, " acts on the whole fleet and has no tenant"));
    }
    return grant;
  }

  absl::Status ReadCertificate(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(node, {"match", "role", "tenant", "hosts", "jobs"}));
    CertificateRule rule;
    ASSIGN_OR_RETURN(rule.grant, ReadGrant(node));
    ASSIGN_OR_RETURN(const std::string match, YamlText(node, "match", /*required=*/true));
    absl::string_view pattern = match;
    if (absl::ConsumePrefix(&pattern, "dns:")) {
      rule.kind = CertificateRule::Kind::kDns;
    } else if (absl::ConsumePrefix(&pattern, "cn:")) {
      rule.kind = CertificateRule::Kind::kCommonName;
    } else if (!absl::StrContains(pattern, "://")) {
      return RefuseYaml(node["match"], absl::StrCat("match '", match, "': expected spiffe://..., dns:NAME or cn:NAME"));
    }
    const bool is_agent = rule.grant.role == Role::kAgent;
    absl::StatusOr<Wildcard> parsed = Wildcard::Parse(pattern, is_agent ? kHostGap : kAnyGap);
    if (!parsed.ok()) return RefuseYaml(node["match"], parsed.status());
    rule.pattern = *std::move(parsed);
    ASSIGN_OR_RETURN(const std::string hosts, YamlText(node, "hosts"));
    if (!hosts.empty() && (hosts != kAnyGap || !is_agent)) {
      return RefuseYaml(node["hosts"], "the only use of 'hosts' is \"*\", for an agent that reports for any host");
    }
    rule.reports_any_host = !hosts.empty();
    if (is_agent && rule.pattern.has_gap() == rule.reports_any_host) {
      return RefuseYaml(node, "an agent needs the name of its host as {host} in 'match', or else hosts: \"*\"");
    }
    ASSIGN_OR_RETURN(rule.reports, ReadReports(node, is_agent));
    rules_.certificates.push_back(std::move(rule));
    return absl::OkStatus();
  }

  absl::Status ReadToken(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(node, {"name", "hash", "role", "tenant"}));
    TokenRule rule;
    ASSIGN_OR_RETURN(rule.grant, ReadGrant(node));
    if (rule.grant.role == Role::kAgent)
      return RefuseYaml(node, "an agent needs a certificate or the token of a provider, this will not do");
    ASSIGN_OR_RETURN(const std::string name, YamlText(node, "name", /*required=*/true));
    if (absl::StrContains(name, '.')) return RefuseYaml(node["name"], "the name of a token holds no '.'");
    ASSIGN_OR_RETURN(rule.hash, YamlText(node, "hash", /*required=*/true));
    if (rule.hash[0] != '$') return RefuseYaml(node["hash"], "expected a hash as of crypt(3), such as $5$SALT$...");
    if (!rules_.tokens.emplace(name, std::move(rule)).second) {
      return RefuseYaml(node["name"], absl::StrCat("token '", name, "' appears twice"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOidc(const YAML::Node& node) {
    if (!node.IsSequence()) return ReadProvider(node);
    if (node.size() > kMaxProviders) return RefuseYaml(node, absl::StrCat("more than ", kMaxProviders, " providers"));
    for (const YAML::Node& provider : node) RETURN_IF_ERROR(ReadProvider(provider));
    return absl::OkStatus();
  }

  absl::Status ReadProvider(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(node, {"issuer", "audience", "keys", "keys_url", "keys_ca", "keys_token", "rules"}));
    OidcRules oidc;
    ASSIGN_OR_RETURN(oidc.issuer, YamlText(node, "issuer", /*required=*/true));
    for (const OidcRules& other : rules_.oidc) {
      if (other.issuer == oidc.issuer) {
        return RefuseYaml(node["issuer"], absl::StrCat("issuer '", oidc.issuer, "' appears twice"));
      }
    }
    ASSIGN_OR_RETURN(oidc.audience, YamlText(node, "audience", /*required=*/true));
    RETURN_IF_ERROR(ReadKeySet(node, oidc));
    ASSIGN_OR_RETURN(const std::vector<YAML::Node> rules, YamlList(node, "rules", kMaxAccessRules));
    if (rules.empty()) return RefuseYaml(node, "'rules' must give somebody a role");
    for (const YAML::Node& entry : rules) {
      ASSIGN_OR_RETURN(ClaimRule rule, ReadClaim(entry));
      oidc.rules.push_back(std::move(rule));
    }
    rules_.oidc.push_back(std::move(oidc));
    return absl::OkStatus();
  }

  absl::StatusOr<ClaimRule> ReadClaim(const YAML::Node& node) {
    RETURN_IF_ERROR(CheckYamlMap(node, {"claim", "value", "role", "tenant", "host_claim", "jobs"}));
    ClaimRule rule;
    ASSIGN_OR_RETURN(rule.grant, ReadGrant(node));
    ASSIGN_OR_RETURN(rule.claim, YamlText(node, "claim", /*required=*/true));
    ASSIGN_OR_RETURN(rule.value, YamlText(node, "value", /*required=*/true));
    ASSIGN_OR_RETURN(rule.host_claim, YamlText(node, "host_claim"));
    const bool is_agent = rule.grant.role == Role::kAgent;
    if (is_agent && rule.host_claim.empty()) {
      return RefuseYaml(node, "an agent needs a claim that names its host, 'host_claim'");
    }
    if (!is_agent && node["host_claim"].IsDefined()) {
      return RefuseYaml(node["host_claim"], "'host_claim' is for an agent, which reports for that host");
    }
    ASSIGN_OR_RETURN(rule.reports, ReadReports(node, is_agent));
    return rule;
  }

  absl::StatusOr<std::vector<Wildcard>> ReadReports(const YAML::Node& node, bool is_agent) {
    ASSIGN_OR_RETURN(std::vector<Wildcard> reports, ReadJobs(node, "jobs"));
    if (node["jobs"].IsDefined() && (!is_agent || reports.empty())) {
      return RefuseYaml(node["jobs"], "'jobs' lists those of which an agent is believed");
    }
    return reports;
  }

  static absl::Status ReadKeySet(const YAML::Node& node, OidcRules& oidc) {
    ASSIGN_OR_RETURN(oidc.keys, YamlText(node, "keys"));
    ASSIGN_OR_RETURN(oidc.origin.url, YamlText(node, "keys_url"));
    ASSIGN_OR_RETURN(oidc.origin.authorities, YamlText(node, "keys_ca"));
    ASSIGN_OR_RETURN(oidc.origin.token_file, YamlText(node, "keys_token"));
    oidc.origin.issuer = oidc.issuer;
    if (!oidc.origin.token_file.empty() && oidc.origin.url.empty()) {
      return RefuseYaml(node["keys_token"], "'keys_token' is shown to 'keys_url' alone, which is missing");
    }
    if (!oidc.keys.empty()) {
      if (oidc.origin.url.empty() && oidc.origin.authorities.empty()) return absl::OkStatus();
      return RefuseYaml(node["keys"], "'keys' is a file: it goes with neither 'keys_url' nor 'keys_ca'");
    }
    const char* said_by = oidc.origin.url.empty() ? "issuer" : "keys_url";
    const absl::Status url = CheckTrustworthyUrl(oidc.origin.url.empty() ? oidc.issuer : oidc.origin.url);
    if (url.ok()) return absl::OkStatus();
    return RefuseYaml(node[said_by],
                      absl::StrCat("'", said_by, "' gives the key set, where no 'keys' does: ", url.message()));
  }

  AccessRules rules_;
};

}  // namespace

absl::StatusOr<AccessRules> ParseAccessRules(absl::string_view text) {
  AccessRules rules;
  RETURN_IF_ERROR(ReadYaml(text, kMaxAccessBytes, [&rules](const YAML::Node& root) -> absl::Status {
    ASSIGN_OR_RETURN(rules, RulesReader().Read(root));
    return absl::OkStatus();
  }));
  return rules;
}

}  // namespace lockstep
