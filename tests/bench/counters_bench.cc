// Cost of the methods that compare counters: windows per second and core through Minder's LSTM-VAE; seconds that the
// default detector takes for one tick of 20 metrics of 10,000 machines, after two minutes of learning, a tenth of a per
// cent of the machines being odd.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/peer_detector.h"
#include "eval/minder/lstm_vae.h"
#include "eval/minder/lstm_vae_denoiser.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

// One tick of 10,000 machines at a time, by the fastest instruction set of this machine.
void LstmVaeWindows(benchmark::State& state) {
  constexpr size_t kMachines = 10'000;
  Random random(1);
  LstmVae model;
  for (int i = 0; i < LstmVaeLayout(1).size; ++i) model.parameters.push_back(static_cast<float>(random.Unit() - 0.5));
  const LstmVaeDenoiser denoiser(model);
  std::vector<std::vector<float>> samples(kMinderWindow, std::vector<float>(kMachines));
  std::vector<std::vector<float>> denoised = samples;
  std::vector<const float*> sample_rows;
  std::vector<float*> denoised_rows;
  for (int step = 0; step < kMinderWindow; ++step) {
    for (float& sample : samples[step]) sample = static_cast<float>(random.Unit());
    sample_rows.push_back(samples[step].data());
    denoised_rows.push_back(denoised[step].data());
  }
  for (auto _ : state) {
    denoiser.Run(sample_rows, kMachines, denoised_rows);
    benchmark::ClobberMemory();
  }
  const double windows = static_cast<double>(state.iterations()) * static_cast<double>(kMachines);
  state.counters["lstm_vae_windows_per_second_core"] = benchmark::Counter(windows, benchmark::Counter::kIsRate);
  state.SetLabel("1/s");
}
BENCHMARK(LstmVaeWindows)->Repetitions(5);

void DetectionPass(benchmark::State& state) {
  constexpr int32_t kMachines = 10'000;
  constexpr int32_t kMetrics = 20;
  constexpr int kLearningTicks = 120;
  constexpr size_t kTicks = 8;  // prepared, and played again and again
  constexpr int32_t kOddEvery = 1000;
  Random random(2);
  PeerDetector detector({});
  for (int32_t metric = 0; metric < kMetrics; ++metric) {
    const int32_t watch = detector.Watch(absl::StrCat("metric_", metric), Metric::kUnspecified, 1);
    for (int32_t host = 0; host < kMachines; ++host) detector.AddUnit(watch, host, "");
  }
  std::vector<std::vector<float>> ticks(kTicks, std::vector<float>(kMachines));
  for (std::vector<float>& tick : ticks) {
    for (float& value : tick) value = static_cast<float>(500 * (1 + 0.03 * random.Gaussian()));
  }
  int64_t now_ms = 1000;
  const auto pass = [&] {
    std::vector<float>& tick = ticks[static_cast<size_t>(now_ms / 1000) % kTicks];
    for (int32_t metric = 0; metric < kMetrics; ++metric) detector.Step(metric, tick, now_ms, 1);
    benchmark::DoNotOptimize(detector.Conclude(now_ms));
    now_ms += 1000;
  };
  for (int i = 0; i < kLearningTicks; ++i) pass();
  for (std::vector<float>& tick : ticks) {
    for (int32_t host = 0; host < kMachines; host += kOddEvery) tick[static_cast<size_t>(host)] *= 0.6F;
  }
  for (auto _ : state) pass();
  state.counters["detection_pass_seconds_10000x20"] = benchmark::Counter(
      static_cast<double>(state.iterations()), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel("s");
}
BENCHMARK(DetectionPass)->Repetitions(5);

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::RunBenchmarks(argc, argv); }
