// What somebody may do, and the least that each call needs: one table for all methods of all services.
//
// A method that is not in the table is refused to everybody. Pure; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_ROLE_H_
#define LOCKSTEP_COLLECTOR_ACCESS_ROLE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep {

// The first three are a ladder; an agent stands beside it: it reports, and neither reads nor changes anything.
enum class Role : uint8_t { kViewer, kOperator, kAdmin, kAgent };

// "viewer", "operator", "admin", "agent".
absl::string_view NameOf(Role role);
std::optional<Role> RoleOf(absl::string_view name);

// Whether who has the role `has` may do what needs `least`.
bool Suffices(Role has, Role least);

struct MethodRole {
  absl::string_view method;  // "lockstep.wire.Query.GetStatus", as protobuf names it
  Role least;
};

absl::Span<const MethodRole> MethodRoles();

// Nothing for a method that is not in the table.
std::optional<Role> LeastRoleFor(absl::string_view method);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_ROLE_H_
