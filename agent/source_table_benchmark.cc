// What one tick of each source costs on this machine, in time of one CPU:
//   bazel run -c opt //agent:source_table_benchmark [-- ROOT]
// ROOT is a file system to look at in place of "/", such as a folder of fixtures.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/source.h"
#include "agent/source_table.h"
#include "base/check.h"
#include "base/clock.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

// Ticks follow each other at once, but are told to be a second apart: what a source does every few ticks is included.
void CollectOnce(benchmark::State& state, const SourceRow& row, const SourceOptions& options) {
  absl::StatusOr<std::unique_ptr<Source>> source = row.create(options);
  CHECK(source.ok());
  Tick tick;
  absl::Status status;
  size_t bytes = 0;
  for (auto unused : state) {
    tick.monotonic_ns += kNanosPerSecond;
    wire::AgentReport report;
    status = (*source)->Collect(tick, report);
    bytes = report.ByteSizeLong();
  }
  state.counters["report_bytes"] = static_cast<double>(bytes);
  state.SetLabel(status.ok() ? "OK" : std::string(status.message()));
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  lockstep::SourceOptions options;
  if (argc > 1) options.root = argv[1];
  for (const lockstep::SourceRow& row : lockstep::SourceTable()) {
    benchmark::RegisterBenchmark(std::string(row.name).c_str(),
                                 [&](benchmark::State& state) { lockstep::CollectOnce(state, row, options); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
