#include "agent/demand_table.h"

#include "absl/status/statusor.h"
#include "agent/rooted_fs.h"
#include "agent/stacks/stack_dump.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace lockstep {

namespace {

absl::StatusOr<std::string> ReadStacks(const std::string& root, const DemandCall& call) {
  ASSIGN_OR_RETURN(const RootedFs fs, RootedFs::Open(root));
  return DumpStacks(fs, call, RealClock());
}

}  // namespace

std::vector<DemandKind> DemandTable(const AgentOptions& options) {
  std::vector<DemandKind> kinds;
  if (options.stacks) {
    kinds.push_back({"stacks", [root = options.root](const DemandCall& call) { return ReadStacks(root, call); }});
  }
  return kinds;
}

std::vector<std::string> DemandNames(const AgentOptions& options) {
  std::vector<std::string> names;
  for (const DemandKind& kind : DemandTable(options)) names.push_back(kind.name);
  return names;
}

}  // namespace lockstep
