#include "agent/demand_table.h"

namespace lockstep {

std::vector<DemandKind> DemandTable(const AgentOptions& /*options*/) { return {}; }

std::vector<std::string> DemandNames(const AgentOptions& options) {
  std::vector<std::string> names;
  for (const DemandKind& kind : DemandTable(options)) names.push_back(kind.name);
  return names;
}

}  // namespace lockstep
