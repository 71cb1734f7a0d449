#include "agent/demand_table.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/demands/demand_kind.h"
#include "agent/kineto/dynolog_client.h"
#include "agent/kineto/fabric_endpoint.h"
#include "agent/profiles/profiler.h"
#include "agent/rooted_fs.h"
#include "agent/stacks/stack_dump.h"
#include "agent/stacks/stack_turns.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace lockstep {

namespace {

absl::StatusOr<std::string> ReadStacks(const std::string& root, StackTurns& turns, const DemandCall& call) {
  ASSIGN_OR_RETURN(const RootedFs fs, RootedFs::Open(root));
  return DumpStacks(fs, call, turns, RealClock());
}

std::unique_ptr<FabricEndpoint> OpenFabric(const AgentOptions& options) {
  absl::StatusOr<RootedFs> proc = RootedFs::Open(options.root);
  if (!proc.ok()) return nullptr;
  return std::make_unique<FabricEndpoint>(FabricEndpoint::kName, *std::move(proc), RealClock());
}

}  // namespace

AgentDemands OpenDemands(const AgentOptions& options) {
  AgentDemands demands;
  if (options.stacks) {
    const auto turns = std::make_shared<StackTurns>();
    demands.kinds.push_back(
        {"stacks", [root = options.root, turns](const DemandCall& call) { return ReadStacks(root, *turns, call); }});
  }
  if (options.kineto_endpoint) demands.fabric = OpenFabric(options);
  if (demands.fabric != nullptr) {
    std::shared_ptr<const DynologClient> dynolog;
    if (options.dynolog_port != 0) {
      dynolog = std::make_shared<DynologClient>(static_cast<int>(options.dynolog_port), RealClock());
    }
    const auto profiler =
        std::make_shared<Profiler>(*demands.fabric, dynolog.get(), options.profile_directory, RealClock());
    demands.kinds.push_back(
        {"profile", [profiler, dynolog](const DemandCall& call) { return profiler->Profile(call); }});
  }
  return demands;
}

}  // namespace lockstep
