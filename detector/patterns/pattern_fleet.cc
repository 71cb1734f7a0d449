#include "detector/patterns/pattern_fleet.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {

bool PatternFleet::Add(const RankPatterns& patterns, int32_t duty) {
  if (patterns.rank >= 0 && worker_by_rank_.contains(patterns.rank)) {
    ++repeated_ranks_;
    return false;
  }
  const uint32_t worker = AddWorker({.rank = patterns.rank,
                                     .duty = duty,
                                     .window_seconds = static_cast<float>(patterns.window_seconds),
                                     .steps = patterns.steps,
                                     .idle = static_cast<float>(patterns.idle)});
  for (const FunctionPattern& pattern : patterns.functions) {
    AddCell(Function(pattern.kind, pattern.name, pattern.utilisation),
            {.worker = worker,
             .beta = static_cast<float>(pattern.beta),
             .calls_per_second = static_cast<float>(pattern.calls_per_second),
             .mean_seconds = static_cast<float>(pattern.mean_seconds),
             .spread = static_cast<float>(pattern.spread),
             .mu = static_cast<float>(pattern.mu),
             .sigma = static_cast<float>(pattern.sigma)});
  }
  return true;
}

uint32_t PatternFleet::AddWorker(const FleetWorker& worker) {
  const auto index = static_cast<uint32_t>(workers_.size());
  workers_.push_back(worker);
  if (worker.rank >= 0) worker_by_rank_.emplace(worker.rank, index);
  return index;
}

int32_t PatternFleet::Function(FunctionKind kind, absl::string_view name, Utilisation utilisation) {
  std::string key = absl::StrCat(static_cast<int>(kind), " ", name);
  const auto known = function_by_name_.find(key);
  if (known != function_by_name_.end()) {
    FleetFunction& function = functions_[static_cast<size_t>(known->second)];
    if (function.utilisation == Utilisation::kNone) function.utilisation = utilisation;
    return known->second;
  }
  if (functions_.size() == kMostFleetFunctions) return -1;
  const auto index = static_cast<int32_t>(functions_.size());
  FleetFunction function;
  function.kind = kind;
  function.group = GroupOf(kind, name);
  function.utilisation = utilisation;
  function.name = std::string(name);
  functions_.push_back(std::move(function));
  function_by_name_.emplace(std::move(key), index);
  return index;
}

void PatternFleet::AddCell(int32_t function, const PatternCell& cell) {
  if (function < 0) {
    ++left_out_cells_;
    return;
  }
  functions_[static_cast<size_t>(function)].cells.push_back(cell);
}

}  // namespace lockstep
