#include "cli/changed_arguments.h"

#include <cstddef>
#include <variant>

#include "base/check.h"

namespace lockstep {
namespace {

bool SameValue(const CommandArgument& one, const CommandArgument& other) {
  return std::visit([&](auto* target) { return *target == *std::get<decltype(target)>(other.target); }, one.target);
}

}  // namespace

std::vector<std::string> ChangedArguments(Command& filled, Command& fresh) {
  const std::vector<CommandArgument> now = filled.arguments();
  const std::vector<CommandArgument> before = fresh.arguments();
  CHECK(now.size() == before.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < now.size(); ++i) {
    if (!SameValue(now[i], before[i])) names.emplace_back(now[i].name);
  }
  return names;
}

}  // namespace lockstep
