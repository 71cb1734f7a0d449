// Who may do what: the file of rules, as values.
//
//   certificates:                       # of agents, programs and people; the first rule that fits counts
//     - {match: "spiffe://example.org/lockstep/agent/{host}", role: agent}
//     - {match: "spiffe://example.org/vision/agent/{host}", role: agent, jobs: [vision-*]}  # believed of these alone
//     - {match: "dns:dashboard.example.org", role: viewer}
//     - {match: "cn:alice", role: viewer, tenant: vision}
//   tokens:                             # of people and scripts, sent as NAME.SECRET
//     - {name: grafana, hash: "$5$...", role: viewer}
//   oidc:                               # people who log in elsewhere; of several providers a list
//     issuer: https://login.example.org
//     audience: lockstep
//     keys: /etc/lockstep/jwks.json
//     rules:
//       - {claim: groups, value: sre, role: admin}
//       - {claim: sub, value: agent, role: agent, host_claim: kubernetes.io.node.name}
//   tenants:                            # which jobs they see
//     vision: [vision-*, resnet]
//
// Pure. Limits: kMaxAccessRules rules of each kind, kMaxProviders providers, kMaxAccessBytes of text.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_ACCESS_RULES_H_
#define LOCKSTEP_COLLECTOR_ACCESS_ACCESS_RULES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/access/key_set_origin.h"
#include "collector/access/role.h"
#include "collector/access/wildcard.h"

namespace lockstep {

inline constexpr size_t kMaxAccessBytes = 1 << 20;
inline constexpr size_t kMaxAccessRules = 1'000;
inline constexpr size_t kMaxProviders = 8;  // each has a thread of its own that fetches keys

// What a rule gives. An agent has hosts, all others may have a tenant; an admin has none.
struct Grant {
  Role role = Role::kViewer;
  std::string tenant;  // one of AccessRules::tenants; "" = none
};

struct CertificateRule {
  enum class Kind { kUri, kDns, kCommonName };
  Kind kind = Kind::kUri;
  Wildcard pattern;  // its gap is the host of an agent; else any text without '/'
  bool reports_any_host = false;
  std::vector<Wildcard> reports;  // the jobs of which such an agent is believed; empty = all
  Grant grant;
};

struct TokenRule {
  std::string hash;  // as of crypt(3)
  Grant grant;
};

// A claim is named by its name, or by a path of names: kubernetes.io.node.name is `name` in `node` in `kubernetes.io`.
struct ClaimRule {
  std::string claim;
  std::string value;  // that the claim has, or one of its values if it is a list
  Grant grant;
  std::string host_claim;         // of an agent: the claim that names the host for which it may report
  std::vector<Wildcard> reports;  // the jobs of which such an agent is believed; empty = all
};

// What is believed of one provider.
struct OidcRules {
  std::string issuer;
  std::string audience;
  std::string keys;  // path of the JWKS file; "" = the key set comes from `origin`
  KeySetOrigin origin;
  std::vector<ClaimRule> rules;  // the first that fits counts
};

struct AccessRules {
  std::vector<CertificateRule> certificates;
  std::map<std::string, TokenRule> tokens;  // by name
  std::vector<OidcRules> oidc;              // each of another issuer
  std::map<std::string, std::vector<Wildcard>> tenants;

  // Whether somebody without a certificate may come in.
  bool takes_tokens() const { return !tokens.empty() || !oidc.empty(); }
};

// INVALID_ARGUMENT says in which line what is wrong, and what was expected.
absl::StatusOr<AccessRules> ParseAccessRules(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_ACCESS_RULES_H_
