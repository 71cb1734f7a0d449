// Every metric that an agent can report: number on the wire, name, kind and meaning. The only list of them.
//
// Numbers are written to the wire and to history: never change or reuse one. Units are part of the name (Prometheus
// base units). Immutable; thread-safe.

#ifndef LOCKSTEP_BASE_METRIC_CATALOG_H_
#define LOCKSTEP_BASE_METRIC_CATALOG_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep {

enum class Metric : uint16_t {
  kUnspecified = 0,

  // Host: /proc.
  kHostCpuBusyRatio = 1,
  kHostCpuSystemRatio = 2,
  kHostCpuIowaitRatio = 3,
  kHostCpuStealRatio = 4,
  kHostRunnableTasks = 5,
  kHostBlockedTasks = 6,
  kHostLoad1 = 7,
  kHostPressureCpuSomeRatio = 8,
  kHostPressureMemorySomeRatio = 9,
  kHostPressureMemoryFullRatio = 10,
  kHostPressureIoSomeRatio = 11,
  kHostPressureIoFullRatio = 12,
  kHostMemoryTotalBytes = 13,
  kHostMemoryAvailableBytes = 14,
  kHostMemoryDirtyBytes = 15,
  kHostSwapUsedBytes = 16,
  kHostContextSwitchesTotal = 17,
  kHostMajorFaultsTotal = 18,
  kHostOomKillsTotal = 19,

  // Disk: /proc/diskstats; device = block device.
  kDiskReadBytesTotal = 40,
  kDiskWrittenBytesTotal = 41,
  kDiskBusySecondsTotal = 42,
  kDiskInFlight = 43,

  // Network: /sys/class/net and ethtool statistics; device = interface.
  kNetUp = 60,
  kNetSpeedBitsPerSecond = 61,
  kNetCarrierChangesTotal = 62,
  kNetReceiveBytesTotal = 63,
  kNetTransmitBytesTotal = 64,
  kNetReceivePacketsTotal = 65,
  kNetTransmitPacketsTotal = 66,
  kNetReceiveErrorsTotal = 67,
  kNetTransmitErrorsTotal = 68,
  kNetReceiveDroppedTotal = 69,
  kNetTransmitDroppedTotal = 70,
  kNetReceiveDiscardsPhyTotal = 71,
  kNetReceiveOutOfBufferTotal = 72,
  kNetReceivePauseFramesTotal = 73,
  kNetTransmitPauseFramesTotal = 74,
  kNetReceivePauseMicrosecondsTotal = 75,
  kNetTransmitPauseMicrosecondsTotal = 76,
  kNetReceiveCrcErrorsTotal = 77,
  kNetReceiveEcnMarkedTotal = 78,

  // InfiniBand and RoCE: /sys/class/infiniband; device = hca/port.
  kIbLinkUp = 100,
  kIbRateBitsPerSecond = 101,
  kIbReceiveBytesTotal = 102,
  kIbTransmitBytesTotal = 103,
  kIbReceivePacketsTotal = 104,
  kIbTransmitPacketsTotal = 105,
  kIbTransmitWaitTotal = 106,
  kIbSymbolErrorsTotal = 107,
  kIbLinkErrorRecoveryTotal = 108,
  kIbLinkDownedTotal = 109,
  kIbReceiveErrorsTotal = 110,
  kIbReceiveRemotePhysicalErrorsTotal = 111,
  kIbReceiveSwitchRelayErrorsTotal = 112,
  kIbReceiveConstraintErrorsTotal = 113,
  kIbTransmitConstraintErrorsTotal = 114,
  kIbTransmitDiscardsTotal = 115,
  kIbLocalLinkIntegrityErrorsTotal = 116,
  kIbExcessiveBufferOverrunErrorsTotal = 117,
  kIbVl15DroppedTotal = 118,
  kIbOutOfBufferTotal = 119,
  kIbOutOfSequenceTotal = 120,
  kIbPacketSequenceErrorsTotal = 121,
  kIbLocalAckTimeoutErrorsTotal = 122,
  kIbRnrNakRetryErrorsTotal = 123,
  kIbImpliedNakSequenceErrorsTotal = 124,
  kIbDuplicateRequestsTotal = 125,
  kIbRequestCqeErrorsTotal = 126,
  kIbResponseCqeErrorsTotal = 127,
  kIbRoceAdaptiveRetransmissionsTotal = 128,
  kIbRoceSlowRestartTotal = 129,
  kIbCnpSentTotal = 130,
  kIbCnpHandledTotal = 131,
  kIbEcnMarkedRocePacketsTotal = 132,
  kIbReceiveIcrcErrorsTotal = 133,

  // GPU: NVML; device = gpu<index>, and gpu<index>/mig<index> for memory and activity of an instance of it.
  kGpuUtilizationRatio = 160,
  kGpuMemoryUtilizationRatio = 161,
  kGpuMemoryUsedBytes = 162,
  kGpuMemoryTotalBytes = 163,
  kGpuTemperatureCelsius = 164,
  kGpuMemoryTemperatureCelsius = 165,
  kGpuPowerWatts = 166,
  kGpuPowerLimitWatts = 167,
  kGpuSmClockHertz = 168,
  kGpuMemoryClockHertz = 169,
  kGpuClockEventReasons = 170,
  kGpuPcieLinkGeneration = 171,
  kGpuPcieLinkWidth = 172,
  kGpuPcieLinkGenerationMax = 173,
  kGpuPcieLinkWidthMax = 174,
  kGpuPcieReplaysTotal = 175,
  kGpuPcieReceiveBytesPerSecond = 176,
  kGpuPcieTransmitBytesPerSecond = 177,
  kGpuEccCorrectedTotal = 178,
  kGpuEccUncorrectedTotal = 179,
  kGpuRemappedRowsCorrected = 180,
  kGpuRemappedRowsUncorrected = 181,
  kGpuRowRemapPending = 182,
  kGpuRowRemapFailure = 183,
  kGpuEnergyJoulesTotal = 184,
  kGpuNvlinkCrcErrorsTotal = 185,
  kGpuNvlinkReplayErrorsTotal = 186,
  kGpuNvlinkRecoveryErrorsTotal = 187,
  kGpuNvlinkActiveLinks = 188,
  kGpuGraphicsActiveRatio = 189,
  kGpuTensorActiveRatio = 190,
  kGpuNvlinkBytesPerSecond = 191,
  kGpuNvlinkReceiveBytesTotal = 192,
  kGpuNvlinkTransmitBytesTotal = 193,
  kGpuPowerViolationSecondsTotal = 194,
  kGpuThermalViolationSecondsTotal = 195,
  kGpuSyncBoostViolationSecondsTotal = 196,
  kGpuBoardLimitViolationSecondsTotal = 197,
  kGpuReliabilityViolationSecondsTotal = 198,
  kGpuFabricState = 199,
  kGpuFabricFailure = 200,
  kGpuFabricDegraded = 201,
  kGpuMigInstances = 202,
  kGpuProcesses = 203,
  kGpuSmActiveRatio = 204,
  kGpuDramActiveRatio = 205,
  kGpuNvlinkReceiveErrorsTotal = 206,
  kGpuNvlinkMalformedPacketsTotal = 207,
  kGpuNvlinkBufferOverrunsTotal = 208,
  kGpuNvlinkIntegrityErrorsTotal = 209,
  kGpuNvlinkTransmitDiscardsTotal = 210,
  kGpuNvlinkRecoveryFailuresTotal = 211,

  // 220 to 223 were of processes, and no agent ever reported them.

  // The RAS service inside NCCL, asked by one agent of each job.
  kNcclRasCommunicators = 240,
  kNcclRasMissingRanks = 241,
  kNcclRasDeadRanks = 242,
  kNcclRasUnequalCommunicators = 243,
  kNcclRasTimeouts = 244,
};

// A gauge is compared as it is; a counter only grows (until it wraps or is reset) and is compared by its rate.
enum class MetricKind : uint8_t { kGauge, kCounter };

struct MetricInfo {
  Metric metric;
  absl::string_view name;
  MetricKind kind;
  absl::string_view meaning;
};

// All metrics, by rising number.
absl::Span<const MetricInfo> MetricCatalog();

// The entry of `metric`, or nullptr for a number that this version does not know. O(log n).
const MetricInfo* FindMetric(Metric metric);

// The entry called `name`, or nullptr. O(n).
const MetricInfo* FindMetric(absl::string_view name);

// True for the values by which DCGM says "blank", "not found", "not supported" and "no permission" in its 32-bit, its
// 64-bit and its floating-point fields.
bool IsBlankSentinel(double value);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_METRIC_CATALOG_H_
