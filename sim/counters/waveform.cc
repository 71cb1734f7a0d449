#include "sim/counters/waveform.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace lockstep {
namespace {

using M = Metric;
using enum CounterDevice;

constexpr Waveform kWaveforms[] = {
    {M::kHostCpuBusyRatio, kHost, false, 0.16, 0.13, 0.08, 0.14, 3, 1},
    {M::kHostPressureCpuSomeRatio, kHost, false, 0.02, 0.02, 0.01, 0.01, 6, 1},
    {M::kHostCpuIowaitRatio, kHost, false, 0.005, 0.005, 0.06, 0.001, 8, 1},
    {M::kHostPressureIoSomeRatio, kHost, false, 0.01, 0.01, 0.12, 0.002, 8, 1},
    {M::kGpuUtilizationRatio, kGpu, false, 0.98, 0.95, 0.02, 1.0, 0.5, 1},
    {M::kGpuGraphicsActiveRatio, kGpu, false, 0.93, 0.70, 0.01, 0.99, 0.7, 1},
    {M::kGpuTensorActiveRatio, kGpu, false, 0.48, 0.05, 0, 0, 1, 1},
    {M::kGpuPowerWatts, kGpu, false, 640, 420, 130, 250, 1, 700},
    {M::kGpuSmClockHertz, kGpu, false, 1.72e9, 1.9e9, 1.98e9, 1.98e9, 0.3, 1.98e9},
    {M::kGpuNvlinkBytesPerSecond, kGpu, false, 60e9, 150e9, 0, 0, 1.5, 450e9},
    {M::kGpuTemperatureCelsius, kGpu, true, 66, 62, 42, 50, 0.7, 100},
    {M::kGpuPcieLinkWidth, kGpu, true, 16, 16, 16, 16, 0, 16},
    {M::kGpuEccUncorrectedTotal, kGpu, true, 0, 0, 0, 0, 0, 0},
    {M::kGpuNvlinkCrcErrorsTotal, kGpu, true, 0, 0, 0, 0, 0, 0},
    {M::kIbTransmitBytesTotal, kHca, false, 3e9, 30e9, 2e7, 0, 1.5, 50e9},
    {M::kIbReceiveBytesTotal, kHca, false, 3e9, 30e9, 2e7, 0, 1.5, 50e9},
    {M::kIbLinkUp, kHca, false, 1, 1, 1, 1, 0, 1},
    {M::kIbTransmitWaitTotal, kHca, true, 2e4, 1e5, 0, 0, 8, 0},
    {M::kIbSymbolErrorsTotal, kHca, true, 0, 0, 0, 0, 0, 0},
    {M::kIbOutOfSequenceTotal, kHca, true, 0.2, 1, 0, 0, 20, 0},
    {M::kIbLinkDownedTotal, kHca, true, 0, 0, 0, 0, 0, 0},
    {M::kNetTransmitPauseFramesTotal, kInterface, false, 1, 6, 0, 0, 15, 0},
};

}  // namespace

absl::Span<const Waveform> Waveforms() { return kWaveforms; }

const Waveform& WaveformOf(Metric metric) {
  const auto* const found = std::find_if(std::begin(kWaveforms), std::end(kWaveforms),
                                         [metric](const Waveform& waveform) { return waveform.metric == metric; });
  CHECK(found != std::end(kWaveforms));
  return *found;
}

std::string CounterDeviceName(CounterDevice device, int32_t index) {
  switch (device) {
    case kHost:
      return "";
    case kGpu:
      return absl::StrCat("gpu", index);
    case kHca:
      return absl::StrCat("mlx5_", index, "/1");
    case kInterface:
      return absl::StrCat("eth", index);
  }
  return "";
}

double ComputeShare(const ActivityWindow& now, int64_t ms, int64_t interval_ms) {
  if (now.activity != Activity::kTraining) return 0;
  const auto step_ms = std::max<int64_t>(1, static_cast<int64_t>(now.step_seconds * 1000));
  const auto compute_ms = static_cast<int64_t>(now.compute_share * static_cast<double>(step_ms));
  const auto computed_until = [&](int64_t at_ms) {
    // Divided as doubles, which is quicker; the whole part is exact below 2^53.
    const auto steps = static_cast<int64_t>(static_cast<double>(at_ms) / static_cast<double>(step_ms));
    return steps * compute_ms + std::min(at_ms - steps * step_ms, compute_ms);
  };
  const int64_t end_ms = ms - now.begin_ms;
  const int64_t begin_ms = std::max<int64_t>(0, end_ms - interval_ms);
  if (end_ms == begin_ms) return 1;
  return static_cast<double>(computed_until(end_ms) - computed_until(begin_ms)) /
         static_cast<double>(end_ms - begin_ms);
}

}  // namespace lockstep
