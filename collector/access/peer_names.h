// How the certificate of the other end of a connection names it, and what a rule makes of that.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_PEER_NAMES_H_
#define LOCKSTEP_COLLECTOR_ACCESS_PEER_NAMES_H_

#include <grpcpp/security/auth_context.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "collector/access/access_rules.h"
#include "collector/access/caller.h"

namespace lockstep {

// Alternative names of one kind beyond this are not looked at.
inline constexpr size_t kMaxPeerNames = 100;

// All empty: the other end showed no certificate.
struct PeerNames {
  std::vector<std::string> uris;  // SPIFFE ids among them
  std::vector<std::string> dns;
  std::vector<std::string> common_names;

  bool empty() const { return uris.empty() && dns.empty() && common_names.empty(); }
  // One that people know it by.
  std::string best() const;
};

// Only what gRPC has verified: a certificate that is not signed by the authorities does not get this far.
PeerNames NamesOf(const grpc::AuthContext& context);

// The caller by the first rule that fits any of the names; nothing if none does. Of several names that fit that rule
// each gives an agent a host.
std::optional<Caller> CallerOf(const PeerNames& names, const AccessRules& rules);

// A caller who has what was granted.
Caller CallerWith(std::string name, const Grant& grant, const AccessRules& rules);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_PEER_NAMES_H_
