// How long the profiles of a whole job take to compare: 3,400 ranks as in EROICA's largest job, and a million. One of
// them is slow and must be named.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"
#include "sim/patterns/base_functions.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr float kMissing = 0.2F;  // of the window, on the slow one

PatternFleet LargeJob(uint32_t ranks) {
  PatternFleet fleet;
  Random random(1);
  std::vector<std::pair<const BaseFunction*, int32_t>> functions;
  for (const BaseFunction& base : AllBaseFunctions()) {
    if ((base.frameworks & kMegatron) == 0) continue;
    functions.emplace_back(&base, fleet.Function(base.kind, base.name, base.utilisation));
  }
  for (uint32_t worker = 0; worker < ranks; ++worker) {
    fleet.AddWorker({.rank = static_cast<int32_t>(worker), .window_seconds = 20, .steps = 10});
    for (const auto& [base, function] : functions) {
      const double noise = 1 + 0.02 * (random.Unit() - 0.5);
      PatternCell cell;
      cell.worker = worker;
      cell.beta = static_cast<float>(std::sqrt(base->least_share * base->most_share) * noise);
      if (worker == ranks / 2 && base == functions.front().first) cell.beta += kMissing;
      cell.calls_per_second = static_cast<float>(base->least_calls);
      cell.mean_seconds = cell.beta / cell.calls_per_second;
      cell.spread = static_cast<float>(base->spread * noise);
      cell.mu = static_cast<float>(base->mu * noise);
      cell.sigma = cell.mu / 10;
      fleet.AddCell(function, cell);
    }
  }
  return fleet;
}

void BM_ComparePatterns(benchmark::State& state) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  const PatternFleet fleet = LargeJob(ranks);
  for (auto _ : state) {
    const PatternReport report = ComparePatterns(fleet);
    CHECK(report.findings.size() == 1 && report.findings[0].workers == std::vector<uint32_t>{ranks / 2});
  }
}
BENCHMARK(BM_ComparePatterns)->Name("compare_patterns")->Arg(3'400)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::RunBenchmarks(argc, argv); }
