#include "detector/counters/counter_class.h"

#include <algorithm>
#include <iterator>

#include "base/metric_catalog.h"

namespace lockstep {
namespace {

using enum Metric;

// Share of the evidence from which a sign may name the cause: kDeviating.
constexpr double kStrong = 0.5;
// Of the peers' level: a lowered clock takes less, a device that hardly works takes more. Empirical.
constexpr double kCollapsed = 0.5;

enum class Way : uint8_t { kUp, kDown, kCollapsed };

// What a sign speaks for; the more specific first.
struct ClassRow {
  Metric metric;
  Way way;
  VerdictClass verdict_class;
};

constexpr ClassRow kClasses[] = {
    {kGpuEccUncorrectedTotal, Way::kUp, VerdictClass::kGpuFault},
    {kGpuPcieLinkWidth, Way::kDown, VerdictClass::kPcieDegraded},
    {kGpuPcieReplaysTotal, Way::kUp, VerdictClass::kPcieDegraded},
    {kGpuNvlinkCrcErrorsTotal, Way::kUp, VerdictClass::kNvlinkSlow},
    {kGpuNvlinkReplayErrorsTotal, Way::kUp, VerdictClass::kNvlinkSlow},
    {kGpuNvlinkReceiveErrorsTotal, Way::kUp, VerdictClass::kNvlinkSlow},
    {kGpuNvlinkIntegrityErrorsTotal, Way::kUp, VerdictClass::kNvlinkSlow},
    {kGpuUtilizationRatio, Way::kCollapsed, VerdictClass::kGpuFault},
    {kGpuGraphicsActiveRatio, Way::kCollapsed, VerdictClass::kGpuFault},
    {kGpuSmClockHertz, Way::kDown, VerdictClass::kClockThrottled},
    {kGpuPowerWatts, Way::kCollapsed, VerdictClass::kGpuFault},
    {kIbLinkUp, Way::kDown, VerdictClass::kLinkSlow},
    {kIbRateBitsPerSecond, Way::kDown, VerdictClass::kLinkSlow},
    {kNetSpeedBitsPerSecond, Way::kDown, VerdictClass::kLinkSlow},
    {kIbLinkDownedTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kIbLinkErrorRecoveryTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kIbReceiveErrorsTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kNetReceiveCrcErrorsTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kNetReceiveErrorsTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kNetTransmitErrorsTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kNetTransmitPauseFramesTotal, Way::kUp, VerdictClass::kPcieDegraded},
    {kNetTransmitPauseMicrosecondsTotal, Way::kUp, VerdictClass::kPcieDegraded},
    {kIbSymbolErrorsTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kIbOutOfSequenceTotal, Way::kUp, VerdictClass::kLinkSlow},
    {kIbTransmitWaitTotal, Way::kUp, VerdictClass::kCommSlowTx},
    {kIbTransmitBytesTotal, Way::kDown, VerdictClass::kCommSlowTx},
    {kIbReceiveBytesTotal, Way::kDown, VerdictClass::kCommSlowRx},
    {kGpuNvlinkBytesPerSecond, Way::kDown, VerdictClass::kNvlinkSlow},
    {kHostCpuIowaitRatio, Way::kUp, VerdictClass::kStorageStall},
    {kHostPressureIoSomeRatio, Way::kUp, VerdictClass::kStorageStall},
    {kHostPressureIoFullRatio, Way::kUp, VerdictClass::kStorageStall},
    {kHostCpuBusyRatio, Way::kUp, VerdictClass::kHostSlow},
    {kHostPressureCpuSomeRatio, Way::kUp, VerdictClass::kHostSlow},
    {kGpuPowerWatts, Way::kDown, VerdictClass::kComputeSlow},
    {kGpuTensorActiveRatio, Way::kDown, VerdictClass::kComputeSlow},
};

// Classes of the operation records that the cause found in counters makes more precise.
struct Refinement {
  VerdictClass from;
  VerdictClass to;
};
constexpr Refinement kRefinements[] = {
    {VerdictClass::kComputeSlow, VerdictClass::kClockThrottled},
    {VerdictClass::kComputeSlow, VerdictClass::kPcieDegraded},
    {VerdictClass::kHostSlow, VerdictClass::kStorageStall},
};

bool Goes(const NamedSign& sign, Way way) {
  switch (way) {
    case Way::kUp:
      return sign.excursion.up;
    case Way::kDown:
      return !sign.excursion.up;
    case Way::kCollapsed:
      return !sign.excursion.up && sign.excursion.level < kCollapsed * sign.excursion.median;
  }
  return false;
}

}  // namespace

VerdictClass ClassOf(absl::Span<const NamedSign> signs) {
  for (const ClassRow& row : kClasses) {
    for (const NamedSign& sign : signs) {
      if (sign.metric == row.metric && sign.excursion.share >= kStrong && Goes(sign, row.way)) return row.verdict_class;
    }
  }
  return VerdictClass::kCounterOutlier;
}

VerdictClass NetworkClassOf(absl::Span<const NamedSign> signs) {
  if (signs.empty()) return VerdictClass::kCounterOutlier;
  const Metric strongest = signs.front().metric;
  if (strongest == kNetTransmitPauseFramesTotal || strongest == kNetTransmitPauseMicrosecondsTotal) {
    return VerdictClass::kCommSlowRx;
  }
  const VerdictClass found = ClassOf(signs);
  return IsNetwork(found) ? found : VerdictClass::kCounterOutlier;
}

bool IsNetwork(VerdictClass verdict_class) {
  constexpr VerdictClass kNetwork[] = {VerdictClass::kLinkSlow, VerdictClass::kCommSlowTx, VerdictClass::kCommSlowRx};
  return std::find(std::begin(kNetwork), std::end(kNetwork), verdict_class) != std::end(kNetwork);
}

std::string DeviceOf(absl::Span<const NamedSign> signs) {
  if (signs.empty()) return "";
  const std::string& device = signs.front().device;
  const bool all = std::all_of(signs.begin(), signs.end(), [&](const NamedSign& sign) {
    return sign.excursion.share < kStrong || sign.device == device;
  });
  return all ? device : "";
}

VerdictClass Refined(VerdictClass by_records, VerdictClass by_counters) {
  const bool refines = std::any_of(std::begin(kRefinements), std::end(kRefinements), [&](const Refinement& refinement) {
    return refinement.from == by_records && refinement.to == by_counters;
  });
  return refines ? by_counters : by_records;
}

}  // namespace lockstep
