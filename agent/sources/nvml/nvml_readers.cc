#include "agent/sources/nvml/nvml_readers.h"

#include <cstdint>

#include "agent/sources/nvml/nvml_fields.h"
#include "base/metric_catalog.h"

namespace lockstep {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMilli = 0.001;  // milliwatts, millijoules
constexpr double kHertzPerMegahertz = 1e6;
constexpr double kBytesPerKilobyte = 1000;
// More than any GPU has: it is the library that says how many there are.
constexpr uint32_t kMostLinks = 64;

// A function that answers with one number.
template <auto kFunction, Metric kMetric>
int ReadNumber(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block, double scale = 1) {
  if (api.*kFunction == nullptr) return kNvmlFunctionNotFound;
  uint32_t value = 0;
  const int result = (api.*kFunction)(device, &value);
  if (result == kNvmlSuccess) block.Add(kMetric, value * scale);
  return result;
}

// A function that is told which of several things to answer about.
template <auto kFunction, int kSelector, Metric kMetric>
int ReadSelected(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block, double scale = 1) {
  if (api.*kFunction == nullptr) return kNvmlFunctionNotFound;
  uint32_t value = 0;
  const int result = (api.*kFunction)(device, kSelector, &value);
  if (result == kNvmlSuccess) block.Add(kMetric, value * scale);
  return result;
}

int ReadUtilization(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  if (api.utilization == nullptr) return kNvmlFunctionNotFound;
  NvmlUtilization utilization = {};
  const int result = api.utilization(device, &utilization);
  if (result != kNvmlSuccess) return result;
  block.Add(Metric::kGpuUtilizationRatio, utilization.gpu_percent * kPercent);
  block.Add(Metric::kGpuMemoryUtilizationRatio, utilization.memory_percent * kPercent);
  return result;
}

int ReadClockEventReasons(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  const auto function = api.clock_event_reasons != nullptr ? api.clock_event_reasons : api.clock_throttle_reasons;
  if (function == nullptr) return kNvmlFunctionNotFound;
  unsigned long long reasons = 0;
  const int result = function(device, &reasons);
  if (result == kNvmlSuccess) block.Add(Metric::kGpuClockEventReasons, static_cast<double>(reasons));
  return result;
}

int ReadEnergy(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  if (api.energy == nullptr) return kNvmlFunctionNotFound;
  unsigned long long millijoules = 0;
  const int result = api.energy(device, &millijoules);
  if (result == kNvmlSuccess) block.Add(Metric::kGpuEnergyJoulesTotal, static_cast<double>(millijoules) * kMilli);
  return result;
}

template <int kType, Metric kMetric>
int ReadEcc(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  if (api.ecc_errors == nullptr) return kNvmlFunctionNotFound;
  unsigned long long errors = 0;
  const int result = api.ecc_errors(device, kType, kNvmlEccVolatile, &errors);
  if (result == kNvmlSuccess) block.Add(kMetric, static_cast<double>(errors));
  return result;
}

int ReadRemappedRows(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  if (api.remapped_rows == nullptr) return kNvmlFunctionNotFound;
  uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  const int result = api.remapped_rows(device, &corrected, &uncorrected, &pending, &failed);
  if (result != kNvmlSuccess) return result;
  block.Add(Metric::kGpuRemappedRowsCorrected, corrected);
  block.Add(Metric::kGpuRemappedRowsUncorrected, uncorrected);
  block.Add(Metric::kGpuRowRemapPending, pending != 0 ? 1 : 0);
  block.Add(Metric::kGpuRowRemapFailure, failed != 0 ? 1 : 0);
  return result;
}

// Asks `ask` of one link after the other, until the library knows no such link.
template <typename Ask>
int ForEachLink(Ask ask) {
  for (uint32_t link = 0; link < kMostLinks; ++link) {
    const int result = ask(link);
    if (result == kNvmlGpuIsLost || result == kNvmlUninitialized) return result;
    if (result == kNvmlInvalidArgument) break;
  }
  return kNvmlSuccess;
}

int ReadActiveLinks(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  if (api.link_state == nullptr) return kNvmlFunctionNotFound;
  uint32_t active = 0;
  bool any = false;
  const int result = ForEachLink([&](uint32_t link) {
    uint32_t state = 0;
    const int answer = api.link_state(device, link, &state);
    any = any || answer == kNvmlSuccess;
    active += answer == kNvmlSuccess && state != 0 ? 1 : 0;
    return answer;
  });
  if (result != kNvmlSuccess) return result;
  if (!any) return kNvmlNotSupported;
  block.Add(Metric::kGpuNvlinkActiveLinks, active);
  return kNvmlSuccess;
}

// Where there are no fields for it.
int ReadLinkCounters(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  static constexpr struct {
    int first_counter;
    int last_counter;
    Metric metric;
  } kSums[] = {
      {kNvmlLinkCrcFlit, kNvmlLinkCrcData, Metric::kGpuNvlinkCrcErrorsTotal},
      {kNvmlLinkReplay, kNvmlLinkReplay, Metric::kGpuNvlinkReplayErrorsTotal},
      {kNvmlLinkRecovery, kNvmlLinkRecovery, Metric::kGpuNvlinkRecoveryErrorsTotal},
  };
  if (api.link_errors == nullptr) return kNvmlFunctionNotFound;
  bool any = false;
  for (const auto& sum : kSums) {
    double total = 0;
    bool counted = false;
    for (int counter = sum.first_counter; counter <= sum.last_counter; ++counter) {
      const int result = ForEachLink([&](uint32_t link) {
        unsigned long long errors = 0;
        const int answer = api.link_errors(device, link, counter, &errors);
        counted = counted || answer == kNvmlSuccess;
        total += answer == kNvmlSuccess ? static_cast<double>(errors) : 0;
        return answer;
      });
      if (result != kNvmlSuccess) return result;
    }
    if (counted) block.Add(sum.metric, total);
    any = any || counted;
  }
  return any ? kNvmlSuccess : kNvmlNotSupported;
}

int ReadLinkErrors(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  const int result = ReadFields(api, device, NvlinkErrorFields(), block);
  return result == kNvmlNotSupported || result == kNvmlFunctionNotFound ? ReadLinkCounters(api, device, block) : result;
}

// Of either version; what a driver does not tell of is 0.
int AskFabric(const NvmlApi& api, NvmlDevice device, NvmlFabricInfo& info) {
  info.version = kNvmlFabricInfoVersion;
  if (api.fabric_info != nullptr) return api.fabric_info(device, &info);
  if (api.fabric_info_v1 == nullptr) return kNvmlFunctionNotFound;
  NvmlFabricInfoV1 old = {};
  const int result = api.fabric_info_v1(device, &old);
  info.status = old.status;
  info.state = old.state;
  return result;
}

int ReadFabric(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  NvmlFabricInfo info = {};
  const int result = AskFabric(api, device, info);
  if (result != kNvmlSuccess) return result;
  if (info.state == kNvmlFabricNotSupported) return kNvmlNotSupported;
  const bool failed = info.state == kNvmlFabricCompleted && info.status != kNvmlSuccess;
  bool degraded = false;
  constexpr uint32_t kMask = (1u << kNvmlFabricHealthBits) - 1;
  for (uint32_t rest = info.health; rest != 0; rest >>= kNvmlFabricHealthBits) {
    degraded = degraded || (rest & kMask) == 1;
  }
  block.Add(Metric::kGpuFabricState, info.state);
  block.Add(Metric::kGpuFabricFailure, failed ? 1 : 0);
  block.Add(Metric::kGpuFabricDegraded, degraded ? 1 : 0);
  return kNvmlSuccess;
}

constexpr NvmlReader kReaders[] = {
    {"utilization", NvmlCadence::kEveryTick, ReadUtilization},
    {"memory", NvmlCadence::kEveryTick, ReadNvmlMemory},
    {"temperature", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadSelected<&NvmlApi::temperature, kNvmlTemperatureGpu, Metric::kGpuTemperatureCelsius>(api, device,
                                                                                                       block);
     }},
    {"memory temperature", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadFields(api, device, MemoryTemperatureFields(), block);
     }},
    {"power", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::power_usage, Metric::kGpuPowerWatts>(api, device, block, kMilli);
     }},
    {"SM clock", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadSelected<&NvmlApi::clock, kNvmlClockSm, Metric::kGpuSmClockHertz>(api, device, block,
                                                                                    kHertzPerMegahertz);
     }},
    {"memory clock", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadSelected<&NvmlApi::clock, kNvmlClockMemory, Metric::kGpuMemoryClockHertz>(api, device, block,
                                                                                            kHertzPerMegahertz);
     }},
    {"clock event reasons", NvmlCadence::kEveryTick, ReadClockEventReasons},
    {"energy", NvmlCadence::kEveryTick, ReadEnergy},
    {"PCIe generation", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::pcie_generation, Metric::kGpuPcieLinkGeneration>(api, device, block);
     }},
    {"PCIe width", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::pcie_width, Metric::kGpuPcieLinkWidth>(api, device, block);
     }},
    {"PCIe replays", NvmlCadence::kEveryTick,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::pcie_replays, Metric::kGpuPcieReplaysTotal>(api, device, block);
     }},
    {"power limit", NvmlCadence::kSlow,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::power_limit, Metric::kGpuPowerLimitWatts>(api, device, block, kMilli);
     }},
    {"maximal PCIe generation", NvmlCadence::kSlow,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::pcie_generation_max, Metric::kGpuPcieLinkGenerationMax>(api, device, block);
     }},
    {"maximal PCIe width", NvmlCadence::kSlow,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadNumber<&NvmlApi::pcie_width_max, Metric::kGpuPcieLinkWidthMax>(api, device, block);
     }},
    {"corrected ECC errors", NvmlCadence::kSlow, ReadEcc<kNvmlEccCorrected, Metric::kGpuEccCorrectedTotal>},
    {"uncorrected ECC errors", NvmlCadence::kSlow, ReadEcc<kNvmlEccUncorrected, Metric::kGpuEccUncorrectedTotal>},
    {"remapped rows", NvmlCadence::kSlow, ReadRemappedRows},
    {"NVLink states", NvmlCadence::kSlow, ReadActiveLinks},
    {"NVLink errors", NvmlCadence::kSlow, ReadLinkErrors},
    {"NVLink throughput", NvmlCadence::kSlow,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadFields(api, device, NvlinkThroughputFields(), block);
     }},
    {"violation times", NvmlCadence::kSlow,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadFields(api, device, ViolationFields(), block);
     }},
    {"fabric", NvmlCadence::kSlow, ReadFabric},
    {"PCIe receive throughput", NvmlCadence::kTurn,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadSelected<&NvmlApi::pcie_throughput, kNvmlPcieReceive, Metric::kGpuPcieReceiveBytesPerSecond>(
           api, device, block, kBytesPerKilobyte);
     }},
    {"PCIe transmit throughput", NvmlCadence::kTurn,
     [](const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
       return ReadSelected<&NvmlApi::pcie_throughput, kNvmlPcieTransmit, Metric::kGpuPcieTransmitBytesPerSecond>(
           api, device, block, kBytesPerKilobyte);
     }},
};

}  // namespace

absl::Span<const NvmlReader> NvmlReaders() { return kReaders; }

int ReadNvmlMemory(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block) {
  if (api.memory == nullptr) return kNvmlFunctionNotFound;
  NvmlMemory memory = {};
  const int result = api.memory(device, &memory);
  if (result != kNvmlSuccess) return result;
  block.Add(Metric::kGpuMemoryUsedBytes, static_cast<double>(memory.used_bytes));
  block.Add(Metric::kGpuMemoryTotalBytes, static_cast<double>(memory.total_bytes));
  return result;
}

}  // namespace lockstep
