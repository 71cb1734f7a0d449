#include "detector/counters/metric_traits.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"

namespace lockstep {
namespace {

using enum Metric;

// Constants of the hardware, states with rules of their own (detector/hardware), and what describes no work at all.
constexpr Metric kIgnoredMetrics[] = {
    kHostOomKillsTotal,
    kHostMemoryTotalBytes,
    kGpuMemoryTotalBytes,
    kGpuMemoryUsedBytes,
    kGpuClockEventReasons,
    kGpuPcieLinkWidthMax,
    kGpuPcieLinkGenerationMax,
    kGpuRowRemapPending,
    kGpuRowRemapFailure,
    kNcclRasCommunicators,
    kNcclRasMissingRanks,
    kNcclRasDeadRanks,
    kNcclRasTimeouts,
    kNetCarrierChangesTotal,
    kNcclRasUnequalCommunicators,
    kGpuPcieLinkGeneration,
    kHostMemoryAvailableBytes,
    kGpuFabricState,
    kGpuFabricFailure,
    kGpuFabricDegraded,
    kGpuMigInstances,
    kGpuProcesses,
    kGpuPowerViolationSecondsTotal,
    kGpuThermalViolationSecondsTotal,
    kGpuSyncBoostViolationSecondsTotal,
    kGpuBoardLimitViolationSecondsTotal,
    kGpuReliabilityViolationSecondsTotal,
};

// Of devices, and yet moved by much that is no fault: airflow, other users of a management network.
constexpr Metric kSoftDeviceMetrics[] = {
    kNetReceiveBytesTotal,
    kNetTransmitBytesTotal,
    kNetReceivePacketsTotal,
    kNetTransmitPacketsTotal,
    kNetReceiveDroppedTotal,
    kNetTransmitDroppedTotal,
    kNetReceiveErrorsTotal,
    kNetTransmitErrorsTotal,
    kGpuTemperatureCelsius,
    kGpuMemoryUtilizationRatio,
    kGpuMemoryTemperatureCelsius,
    kGpuPcieReceiveBytesPerSecond,
    kGpuPcieTransmitBytesPerSecond,
    kGpuSmActiveRatio,
    kGpuDramActiveRatio,
};

// Not utilisation, nor the share of time in which kernels run: both are full while kernels wait for each other.
constexpr Metric kActivityMetrics[] = {
    kGpuPowerWatts, kGpuEnergyJoulesTotal, kGpuTensorActiveRatio, kIbReceiveBytesTotal, kIbTransmitBytesTotal,
};

// What a machine without work or strangled does less of. Not energy alone: clocks and utilisation rise while it
// waits.
struct WorkMetric {
  Metric metric;
  WorkKind kind;
};
constexpr WorkMetric kWorkMetrics[] = {
    {kGpuPowerWatts, WorkKind::kEffort},
    {kGpuEnergyJoulesTotal, WorkKind::kEffort},
    {kGpuGraphicsActiveRatio, WorkKind::kEffort},
    {kGpuTensorActiveRatio, WorkKind::kAmount},
    {kGpuNvlinkBytesPerSecond, WorkKind::kAmount},
    {kIbReceiveBytesTotal, WorkKind::kTraffic},
    {kIbTransmitBytesTotal, WorkKind::kTraffic},
    {kGpuNvlinkReceiveBytesTotal, WorkKind::kTraffic},
    {kGpuNvlinkTransmitBytesTotal, WorkKind::kTraffic},
};

WorkKind WorkOf(Metric metric) {
  for (const WorkMetric& row : kWorkMetrics) {
    if (row.metric == metric) return row.kind;
  }
  return WorkKind::kNone;
}

// Of kernel counters that are read once a second: what they can tell apart on dozens of cores.
constexpr Metric kFineMetrics[] = {
    kHostCpuIowaitRatio,
    kHostPressureCpuSomeRatio,
    kHostPressureIoSomeRatio,
    kHostPressureIoFullRatio,
};
// A jiffy of 10 ms in a second, on ten cores.
constexpr double kFineResolution = 0.001;

// Full most of the time, so that small differences say more about the ceiling than about the machine.
constexpr Metric kSaturatingMetrics[] = {kGpuUtilizationRatio, kGpuGraphicsActiveRatio};
// Empirical: healthy GPUs near the ceiling of the one differ by so much, and boost clocks by so much with heat.
constexpr double kSaturatingResolution = 0.06;
constexpr double kClockResolution = 0.03;

// Of devices, and counters of what they do rather than of what goes wrong.
constexpr Metric kDoneMetrics[] = {
    kIbReceiveBytesTotal,    kIbTransmitBytesTotal,       kGpuEnergyJoulesTotal,        kIbReceivePacketsTotal,
    kIbTransmitPacketsTotal, kGpuNvlinkReceiveBytesTotal, kGpuNvlinkTransmitBytesTotal,
};

template <size_t kCount>
bool In(const Metric (&list)[kCount], Metric metric) {
  return std::find(std::begin(list), std::end(list), metric) != std::end(list);
}

struct Unit {
  absl::string_view suffix;
  double absolute_resolution;
};

// 2 % of a full ratio, a step of the sensors, 1 % of a GPU's power, one step of a GPU's clock.
constexpr Unit kUnits[] = {{"_ratio", 0.02}, {"_celsius", 2}, {"_watts", 5}, {"_hertz", 1.5e7}};

constexpr double kEventsPerTick = 0.5;      // a count is a whole number: half a step
constexpr double kLeastResolution = 1e-30;  // of what has none
// Of a gauge that counts things: it is rounded by at most half a step.
constexpr double kHalfStep = 0.5;

// Gauges of whole numbers that are exact, so that a step of them is news.
constexpr Metric kExactMetrics[] = {
    kNetUp, kIbLinkUp, kGpuPcieLinkWidth, kGpuNvlinkActiveLinks, kGpuRemappedRowsCorrected, kGpuRemappedRowsUncorrected,
};
// A tenth of a step: by five deviations a tick adds as much as it may (3 x 5 - 4.5 nats, kLargestStep of 26), and twice
// that leaves room for a place that is hardly known.
constexpr double kExactResolution = 0.1;

bool IsPause(Metric metric) {
  return metric >= kNetReceivePauseFramesTotal && metric <= kNetTransmitPauseMicrosecondsTotal;
}
bool IsProfiling(Metric metric) {
  return (metric >= kGpuGraphicsActiveRatio && metric <= kGpuNvlinkBytesPerSecond) || metric == kGpuSmActiveRatio ||
         metric == kGpuDramActiveRatio;
}
bool IsGpu(Metric metric) { return metric >= kGpuUtilizationRatio && metric <= kGpuNvlinkRecoveryFailuresTotal; }
bool IsIb(Metric metric) { return metric >= kIbLinkUp && metric <= kIbReceiveIcrcErrorsTotal; }
bool IsHost(Metric metric) { return metric >= kHostCpuBusyRatio && metric <= kHostOomKillsTotal; }

constexpr MetricArea kAreas[] = {
    {"GPUs", IsGpu},         {"DCGM profiling", IsProfiling}, {"InfiniBand and RoCE", IsIb},
    {"PFC pauses", IsPause}, {"load of hosts", IsHost},
};

}  // namespace

bool CountsUp(Metric metric, absl::string_view name) {
  const MetricInfo* const info = FindMetric(metric);
  return info == nullptr ? absl::EndsWith(name, "_total") : info->kind == MetricKind::kCounter;
}

MetricTraits TraitsOf(Metric metric, absl::string_view name) {
  MetricTraits traits;
  traits.is_rate = CountsUp(metric, name);
  for (const Unit& unit : kUnits) {
    if (absl::EndsWith(name, unit.suffix)) traits.absolute_resolution = unit.absolute_resolution;
  }
  if (In(kSaturatingMetrics, metric)) traits.absolute_resolution = kSaturatingResolution;
  if (In(kFineMetrics, metric)) traits.absolute_resolution = kFineResolution;
  if (!traits.is_rate && traits.absolute_resolution == 0) {
    traits.whole_resolution = In(kExactMetrics, metric) ? kExactResolution : kHalfStep;
  }
  if (metric == kGpuSmClockHertz) traits.relative_resolution = kClockResolution;
  if (In(kIgnoredMetrics, metric)) {
    traits.family = MetricFamily::kIgnored;
  } else if (metric >= kNetUp && !In(kSoftDeviceMetrics, metric)) {
    traits.family = MetricFamily::kDevice;
  }
  traits.counts_trouble = traits.family == MetricFamily::kDevice && traits.is_rate && !In(kDoneMetrics, metric);
  traits.is_host_load = IsHost(metric);
  traits.is_heat = metric == kGpuTemperatureCelsius || metric == kGpuMemoryTemperatureCelsius;
  traits.is_activity = In(kActivityMetrics, metric);
  traits.work = WorkOf(metric);
  return traits;
}

double ResolutionOf(const MetricTraits& traits, double level, double tick_seconds) {
  const double relative = traits.relative_resolution * std::abs(level);
  const double absolute = traits.is_rate ? kEventsPerTick / tick_seconds : traits.absolute_resolution;
  return std::max({relative, absolute, kLeastResolution});
}

absl::Span<const MetricArea> MetricAreas() { return kAreas; }

}  // namespace lockstep
