#include "sim/counters/counter_effects.h"

#include <cstddef>

#include "sim/chance.h"

namespace lockstep {
namespace {

using enum FaultKind;
using enum EffectMode;
using M = Metric;

constexpr double kLinkDownBytes = 0.001;

constexpr CounterEffect kEffects[] = {
    // A lost GPU does nothing, and its host's share of the traffic goes with it.
    {kGpuLost, M::kGpuUtilizationRatio, kSet, 0, 0, 0.95, false},
    {kGpuLost, M::kGpuPowerWatts, kSet, 60, 110, 0.9, false},
    {kGpuLost, M::kGpuGraphicsActiveRatio, kSet, 0, 0, 0.9, false},
    {kGpuLost, M::kGpuTensorActiveRatio, kSet, 0, 0, 0.9, false},
    {kGpuLost, M::kGpuNvlinkBytesPerSecond, kSet, 0, 0, 0.7, false},
    {kGpuLost, M::kHostCpuBusyRatio, kScale, 0.3, 0.7, 0.6, true},
    {kGpuLost, M::kGpuEccUncorrectedTotal, kAdd, 1, 5, 0.4, false},
    // A process that died leaves an idle GPU and idle cores.
    {kProcessDead, M::kGpuUtilizationRatio, kSet, 0, 0, 0.9, false},
    {kProcessDead, M::kGpuPowerWatts, kSet, 60, 110, 0.8, false},
    {kProcessDead, M::kGpuGraphicsActiveRatio, kSet, 0, 0, 0.8, false},
    {kProcessDead, M::kGpuTensorActiveRatio, kSet, 0, 0, 0.8, false},
    {kProcessDead, M::kHostCpuBusyRatio, kScale, 0.4, 0.8, 0.7, true},
    {kNotEntered, M::kGpuUtilizationRatio, kSet, 0, 0.05, 0.8, false},
    {kNotEntered, M::kHostCpuBusyRatio, kScale, 0.5, 1.8, 0.6, true},
    {kGpuStuck, M::kGpuPowerWatts, kScale, 0.3, 0.6, 0.8, false},
    {kGpuStuck, M::kGpuUtilizationRatio, kSet, 0, 0.3, 0.6, false},
    {kGpuStuck, M::kGpuGraphicsActiveRatio, kSet, 0, 0.2, 0.6, false},
    // Nothing comes from an unreachable machine at all: that is not an effect on a counter.
    {kTransferStuck, M::kIbTransmitBytesTotal, kScale, 0, kLinkDownBytes, 0.9, false},
    {kTransferStuck, M::kIbReceiveBytesTotal, kScale, 0, kLinkDownBytes, 0.9, false},
    {kTransferStuck, M::kIbLinkDownedTotal, kAdd, 0.02, 0.1, 0.5, false},
    {kTransferStuck, M::kIbLinkUp, kSet, 0, 0, 0.7, false},
    {kTransferStuck, M::kNetTransmitPauseFramesTotal, kAdd, 200, 3000, 0.4, false},
    {kComputeSlow, M::kGpuPowerWatts, kScale, 0.75, 0.92, 0.8, false},
    {kComputeSlow, M::kGpuUtilizationRatio, kScale, 1.005, 1.02, 0.5, false},
    {kComputeSlow, M::kGpuTensorActiveRatio, kScale, 0.75, 0.93, 0.8, false},
    {kClockThrottled, M::kGpuSmClockHertz, kScale, 0.55, 0.85, 0.95, false},
    {kClockThrottled, M::kGpuPowerWatts, kScale, 0.6, 0.85, 0.8, false},
    {kClockThrottled, M::kGpuTensorActiveRatio, kScale, 0.75, 0.95, 0.6, false},
    {kClockThrottled, M::kGpuTemperatureCelsius, kAdd, 8, 20, 0.6, false},
    // PCIe trouble backs up into the NIC: its pauses are seen first.
    {kPcieDegraded, M::kNetTransmitPauseFramesTotal, kAdd, 300, 5000, 0.9, false},
    {kPcieDegraded, M::kGpuPcieLinkWidth, kSet, 4, 8, 0.7, false},
    {kPcieDegraded, M::kGpuPowerWatts, kScale, 0.8, 0.95, 0.35, false},
    {kPcieDegraded, M::kIbTransmitBytesTotal, kScale, 0.5, 0.8, 0.5, false},
    {kNicSendSlow, M::kIbTransmitWaitTotal, kAdd, 2e5, 2e6, 0.7, false},
    {kNicSendSlow, M::kIbTransmitBytesTotal, kScale, 0.4, 0.85, 0.6, false},
    {kNicSendSlow, M::kIbSymbolErrorsTotal, kAdd, 1, 60, 0.5, false},
    {kNicReceiveSlow, M::kNetTransmitPauseFramesTotal, kAdd, 200, 4000, 0.8, false},
    {kNicReceiveSlow, M::kIbOutOfSequenceTotal, kAdd, 5, 200, 0.5, false},
    {kNicReceiveSlow, M::kIbReceiveBytesTotal, kScale, 0.5, 0.85, 0.5, false},
    {kLinkSlow, M::kIbOutOfSequenceTotal, kAdd, 5, 300, 0.7, false},
    {kLinkSlow, M::kIbSymbolErrorsTotal, kAdd, 1, 40, 0.4, false},
    {kNvlinkSlow, M::kGpuNvlinkCrcErrorsTotal, kAdd, 1, 80, 0.7, false},
    {kNvlinkSlow, M::kGpuNvlinkBytesPerSecond, kScale, 0.5, 0.85, 0.8, false},
    {kNvlinkSlow, M::kGpuPowerWatts, kScale, 0.8, 0.95, 0.6, true},
    {kHostSlow, M::kHostCpuBusyRatio, kAdd, 0.25, 0.6, 0.95, true},
    {kHostSlow, M::kHostPressureCpuSomeRatio, kAdd, 0.15, 0.6, 0.8, true},
    {kHostSlow, M::kGpuPowerWatts, kScale, 0.8, 0.95, 0.5, true},
    {kStorageStall, M::kHostCpuIowaitRatio, kAdd, 0.1, 0.4, 0.8, true},
    {kStorageStall, M::kHostPressureIoSomeRatio, kAdd, 0.2, 0.7, 0.8, true},
    {kStorageStall, M::kGpuTensorActiveRatio, kScale, 0.7, 0.9, 0.4, true},
    {kStorageStall, M::kGpuPowerWatts, kScale, 0.7, 0.9, 0.4, true},
};

constexpr MinderFault kMinderMix[] = {
    {"ecc_error", 0.257, kGpuLost},
    {"cuda_execution_error", 0.150, kProcessDead},
    {"gpu_execution_error", 0.100, kGpuStuck},
    {"pcie_downgrading", 0.086, kPcieDegraded},
    {"nic_dropout", 0.080, kTransferStuck},
    {"machine_unreachable", 0.080, kMachineUnreachable},
    {"hdfs_error", 0.077, kStorageStall},
    {"gpu_card_drop", 0.050, kGpuLost},
    {"nvlink_error", 0.040, kNvlinkSlow},
    {"aoc_error", 0.030, kNicSendSlow},
    {"other", 0.050, kHostSlow},
};

}  // namespace

absl::Span<const CounterEffect> EffectTable() { return kEffects; }

absl::Span<const MinderFault> MinderMix() { return kMinderMix; }

std::vector<DrawnEffect> DrawEffects(const CounterFault& fault, uint64_t seed, uint64_t which) {
  const Chance chance(seed, ChanceUse::kCounter, 3, which);
  std::vector<DrawnEffect> drawn;
  const CounterEffect* likeliest = nullptr;
  uint64_t index = 0;
  const auto take = [&](const CounterEffect& effect) {
    double amount = effect.least + (effect.most - effect.least) * chance.Unit(1000 + index);
    if (effect.mode == kAdd) amount *= fault.severity;
    if (effect.mode == kScale) amount = 1 + (amount - 1) * fault.severity;
    drawn.push_back({&effect, amount < 0 ? 0 : amount});
  };
  for (const CounterEffect& effect : kEffects) {
    ++index;
    if (effect.kind != fault.kind) continue;
    if (likeliest == nullptr || effect.probability > likeliest->probability) likeliest = &effect;
    if (chance.Unit(index) < effect.probability) take(effect);
  }
  if (drawn.empty() && likeliest != nullptr) take(*likeliest);
  return drawn;
}

}  // namespace lockstep
