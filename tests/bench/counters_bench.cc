// Cost of the methods that compare counters: windows per second and core through Minder's LSTM-VAE.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/counters/minder/lstm_vae.h"
#include "detector/counters/minder/lstm_vae_denoiser.h"
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

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::RunBenchmarks(argc, argv); }
