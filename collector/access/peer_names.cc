#include "collector/access/peer_names.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/access/host_name.h"
#include "collector/convert/report_limits.h"

namespace lockstep {
namespace {

std::vector<std::string> Values(const grpc::AuthContext& context, const char* property) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : context.FindPropertyValues(property)) {
    if (values.size() < kMaxPeerNames && !value.empty()) values.emplace_back(value.data(), value.size());
  }
  return values;
}

const std::vector<std::string>& OfKind(const PeerNames& names, CertificateRule::Kind kind) {
  switch (kind) {
    case CertificateRule::Kind::kUri:
      return names.uris;
    case CertificateRule::Kind::kDns:
      return names.dns;
    case CertificateRule::Kind::kCommonName:
      break;
  }
  return names.common_names;
}

// What may stand in the gap of a rule: one step of a path, and for a host only what host names consist of.
bool MayFill(absl::string_view gap, bool is_host) {
  if (is_host) return IsHostName(gap);
  return !gap.empty() && gap.size() <= kMaxHostBytes &&
         std::all_of(gap.begin(), gap.end(), [](char c) { return c != '/' && absl::ascii_isprint(c); });
}

}  // namespace

std::string PeerNames::best() const {
  for (const std::vector<std::string>* kind : {&uris, &dns, &common_names}) {
    if (!kind->empty()) return kind->front();
  }
  return "";
}

PeerNames NamesOf(const grpc::AuthContext& context) {
  return {Values(context, GRPC_PEER_URI_PROPERTY_NAME), Values(context, GRPC_PEER_DNS_PROPERTY_NAME),
          Values(context, GRPC_X509_CN_PROPERTY_NAME)};
}

Caller CallerWith(std::string name, const Grant& grant, const AccessRules& rules) {
  Caller caller;
  caller.name = std::move(name);
  caller.role = grant.role;
  caller.tenant = grant.tenant;
  if (const auto tenant = rules.tenants.find(grant.tenant); tenant != rules.tenants.end()) caller.jobs = tenant->second;
  return caller;
}

std::optional<Caller> CallerOf(const PeerNames& names, const AccessRules& rules) {
  for (const CertificateRule& rule : rules.certificates) {
    const bool names_host = rule.grant.role == Role::kAgent && rule.pattern.has_gap();
    std::optional<Caller> caller;
    for (const std::string& name : OfKind(names, rule.kind)) {
      const std::optional<absl::string_view> gap = rule.pattern.Match(name);
      if (!gap.has_value() || (rule.pattern.has_gap() && !MayFill(*gap, names_host))) continue;
      if (!caller.has_value()) caller = CallerWith(absl::StrCat("certificate ", name), rule.grant, rules);
      caller->reports_any_host = rule.reports_any_host;
      caller->reports = rule.reports;
      if (names_host) caller->hosts.emplace(*gap);
    }
    if (caller.has_value()) return caller;
  }
  return std::nullopt;
}

}  // namespace lockstep
