#include "collector/access/role.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

constexpr absl::string_view kRoleNames[] = {"viewer", "operator", "admin", "agent"};

constexpr MethodRole kMethodRoles[] = {
    {"lockstep.wire.Admin.Acknowledge", Role::kOperator},
    {"lockstep.wire.Admin.AddMaintenance", Role::kOperator},
    {"lockstep.wire.Admin.Backup", Role::kAdmin},
    {"lockstep.wire.Admin.Comment", Role::kOperator},
    {"lockstep.wire.Admin.EndMaintenance", Role::kOperator},
    {"lockstep.wire.Admin.ForgetHost", Role::kAdmin},
    {"lockstep.wire.Admin.ListAudit", Role::kAdmin},
    {"lockstep.wire.Admin.OnDemand", Role::kOperator},
    {"lockstep.wire.Admin.Resolve", Role::kOperator},
    {"lockstep.wire.Admin.Silence", Role::kOperator},
    {"lockstep.wire.Ingest.Stream", Role::kAgent},
    {"lockstep.wire.Query.Capture", Role::kViewer},
    {"lockstep.wire.Query.GetHistory", Role::kViewer},
    {"lockstep.wire.Query.GetIncident", Role::kViewer},
    {"lockstep.wire.Query.GetStacks", Role::kViewer},
    {"lockstep.wire.Query.GetStatus", Role::kViewer},
    {"lockstep.wire.Query.ListGpus", Role::kViewer},
    {"lockstep.wire.Query.ListIncidents", Role::kViewer},
    {"lockstep.wire.Query.ListJobs", Role::kViewer},
    {"lockstep.wire.Query.ListMaintenance", Role::kViewer},
    {"lockstep.wire.Query.ListRanks", Role::kViewer},
};

}  // namespace

absl::string_view NameOf(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

std::optional<Role> RoleOf(absl::string_view name) {
  const auto* const found = std::find(std::begin(kRoleNames), std::end(kRoleNames), name);
  if (found == std::end(kRoleNames)) return std::nullopt;
  return static_cast<Role>(found - std::begin(kRoleNames));
}

bool Suffices(Role has, Role least) {
  if (has == Role::kAgent || least == Role::kAgent) return has == least;
  return has >= least;
}

absl::Span<const MethodRole> MethodRoles() { return kMethodRoles; }

std::optional<Role> LeastRoleFor(absl::string_view method) {
  const auto* const found = std::find_if(std::begin(kMethodRoles), std::end(kMethodRoles),
                                         [method](const MethodRole& row) { return row.method == method; });
  return found == std::end(kMethodRoles) ? std::nullopt : std::optional<Role>(found->least);
}

}  // namespace lockstep
