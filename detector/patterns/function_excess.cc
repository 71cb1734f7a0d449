#include "detector/patterns/function_excess.h"

#include <algorithm>

#include "absl/types/span.h"
#include "detector/stats/median.h"

namespace lockstep {
namespace {

constexpr double kLeastExcess = 0.001;  // of the window, to be worth naming

// The columns of one function, of the named workers or of their peers.
struct Values {
  std::vector<float> beta;
  std::vector<float> calls;
  std::vector<float> mean;
  std::vector<float> spread;
  std::vector<float> mu;

  void Add(const PatternCell& cell) {
    beta.push_back(cell.beta);
    calls.push_back(cell.calls_per_second);
    mean.push_back(cell.mean_seconds);
    spread.push_back(cell.spread);
    mu.push_back(cell.mu);
  }
};

double MedianOrZero(std::vector<float> values) { return values.empty() ? 0 : MedianOf(absl::MakeSpan(values)); }

}  // namespace

std::vector<FunctionExcess> FindFunctionExcesses(const ExcessQuery& query) {
  std::vector<char> counts(query.order.workers.size(), 0);
  size_t named = 0;
  size_t peers = 0;
  for (const size_t duty : query.duties) {
    for (size_t place = query.order.begins[duty]; place < query.order.begins[duty + 1]; ++place) {
      counts[place] = 1;
      (query.named[place] != 0 ? named : peers) += 1;
    }
  }
  std::vector<FunctionExcess> excesses;
  for (size_t index = 0; index < query.fleet.functions().size(); ++index) {
    const FleetFunction& function = query.fleet.functions()[index];
    if (!query.functions.contains(static_cast<int32_t>(index)) && !query.groups.contains(function.group)) continue;
    Values theirs;
    Values usual;
    for (const PatternCell& cell : function.cells) {
      const uint32_t place = query.order.places[cell.worker];
      if (counts[place] != 0) (query.named[place] != 0 ? theirs : usual).Add(cell);
    }
    FunctionExcess excess;
    excess.function = static_cast<int32_t>(index);
    excess.mean_seconds = MedianOrZero(theirs.mean);
    excess.usual_mean_seconds = MedianOrZero(usual.mean);
    excess.calls_per_second = MedianOrZero(theirs.calls);
    excess.usual_calls_per_second = MedianOrZero(usual.calls);
    excess.spread = MedianOrZero(theirs.spread);
    excess.mu = MedianOrZero(theirs.mu);
    excess.usual_mu = MedianOrZero(usual.mu);
    // Who does not call it spends no time in it.
    theirs.beta.resize(named, 0);
    usual.beta.resize(peers, 0);
    excess.beta = MedianOrZero(theirs.beta);
    excess.usual_beta = query.of_all ? 0 : MedianOrZero(usual.beta);
    if (excess.beta - excess.usual_beta >= kLeastExcess) excesses.push_back(excess);
  }
  std::stable_sort(excesses.begin(), excesses.end(), [](const FunctionExcess& a, const FunctionExcess& b) {
    return a.beta - a.usual_beta > b.beta - b.usual_beta;
  });
  if (excesses.size() > kMostNamedFunctions) excesses.resize(kMostNamedFunctions);
  return excesses;
}

}  // namespace lockstep
