// Cost of the detector: CPU time for one second of a simulated job (12 steps, 24 records per rank) of so many ranks,
// with one evaluation and the looks that fall due, their agents included; items are operation records.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "detector/engine/job_engine.h"
#include "detector/testing/engine_driver.h"
#include "detector/testing/job_generator.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

void BM_RecordsThroughJobEngine(benchmark::State& state) {
  JobGeneratorOptions options;
  options.ranks = static_cast<int>(state.range(0));
  options.ranks_per_host = 8;
  options.noise.own_cv = 0.05;
  JobGenerator generator(options);
  EngineDriver driver({});
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<HostReport> reports = generator.NextReports();
    state.ResumeTiming();
    benchmark::DoNotOptimize(driver.Hear(reports, generator.NowNanos()));
  }
  state.SetItemsProcessed(static_cast<int64_t>(driver.engine().summary().records_observed));
}
BENCHMARK(BM_RecordsThroughJobEngine)->Arg(4)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::RunBenchmarks(argc, argv); }
