// What one report costs the collector on one core: parse, split, check, convert, observe; and what an evaluation costs.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "collector/convert/convert.h"
#include "collector/convert/report_split.h"
#include "collector/job_pipeline.h"
#include "collector/testing/report_builder.h"
#include "detector/model/fleet_sight.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr int kRepetitions = 5;
constexpr int kRanksPerHost = 8;
constexpr int kHosts = 8;

// A second of ten steps of one host, as it comes from the network.
std::string EncodedReport(int host, int64_t second) {
  TestRanks ranks;
  ranks.first_rank = host * kRanksPerHost;
  ranks.ranks = kRanksPerHost;
  ranks.world_size = kHosts * kRanksPerHost;
  ranks.first_step = second * 10 + 1;
  return ToMessage(MakeTestReport(static_cast<uint64_t>(second) + 1, ranks)).SerializeAsString();
}

HostReport Convert(const std::string& bytes) {
  wire::AgentMessage message;
  message.ParseFromString(bytes);
  auto inputs = SplitReport("node", 1, std::move(*message.mutable_report()));
  ConvertLosses losses;
  return *ToHostReport(inputs->front(), losses);
}

// On gRPC's threads.
void ingest_convert_report(benchmark::State& state) {
  const std::string bytes = EncodedReport(0, 0);
  for (auto _ : state) benchmark::DoNotOptimize(Convert(bytes));
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(ingest_convert_report)->Repetitions(kRepetitions)->MinTime(0.2);

// On one core, all of it: eight hosts report once per second and the job is evaluated twice per second.
void ingest_report_to_conclusion(benchmark::State& state) {
  JobPipeline pipeline{JobEngineOptions()};
  int64_t second = 0;
  int host = 0;
  std::string bytes;
  for (auto _ : state) {
    state.PauseTiming();
    bytes = EncodedReport(host, second);
    state.ResumeTiming();
    HostReport report = Convert(bytes);
    report.host = "node-" + std::to_string(host);
    report.received_ns = second * kNanosPerSecond + host;
    pipeline.Observe(report);
    if (++host < kHosts) continue;
    host = 0;
    ++second;
    for (int half = 0; half < 2; ++half) {
      benchmark::DoNotOptimize(pipeline.Evaluate((second - 1) * kNanosPerSecond + kHosts + half, FleetSight()));
    }
  }
}
BENCHMARK(ingest_report_to_conclusion)->Repetitions(kRepetitions)->MinTime(0.2);

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::RunBenchmarks(argc, argv); }
