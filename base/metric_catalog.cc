#include "base/metric_catalog.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace lockstep {
namespace {

// What DCGM gives instead of a value.
constexpr double kInt32Blank = 2147483632;           // 0x7ffffff0, and up to 0x7fffffff
constexpr double kInt64Blank = 9223372036854774784;  // as a double, all of 0x7ffffffffffffff0 and up are beyond this
constexpr double kFp64Blank = 140737488355328;       // 2^47, and a few above
constexpr double kBlanks = 16;

// Sorted by number.
constexpr MetricInfo kCatalog[] = {
    // Host: /proc.
    {Metric::kHostCpuBusyRatio, "host_cpu_busy_ratio", MetricKind::kGauge,
     "share of all CPUs' time that was not idle, 0 to 1"},
    {Metric::kHostCpuSystemRatio, "host_cpu_system_ratio", MetricKind::kGauge, "share in the kernel, 0 to 1"},
    {Metric::kHostCpuIowaitRatio, "host_cpu_iowait_ratio", MetricKind::kGauge,
     "share idle while a disk request was outstanding, 0 to 1"},
    {Metric::kHostCpuStealRatio, "host_cpu_steal_ratio", MetricKind::kGauge, "share taken by the hypervisor, 0 to 1"},
    {Metric::kHostRunnableTasks, "host_runnable_tasks", MetricKind::kGauge, "tasks running or waiting for a CPU"},
    {Metric::kHostBlockedTasks, "host_blocked_tasks", MetricKind::kGauge, "tasks in uninterruptible sleep"},
    {Metric::kHostLoad1, "host_load1", MetricKind::kGauge, "one-minute load average"},
    {Metric::kHostPressureCpuSomeRatio, "host_pressure_cpu_some_ratio", MetricKind::kGauge,
     "share of time that some task waited for a CPU, last 10 s, 0 to 1"},
    {Metric::kHostPressureMemorySomeRatio, "host_pressure_memory_some_ratio", MetricKind::kGauge,
     "share of time that some task waited for memory, last 10 s, 0 to 1"},
    {Metric::kHostPressureMemoryFullRatio, "host_pressure_memory_full_ratio", MetricKind::kGauge,
     "share of time that all tasks waited for memory, last 10 s, 0 to 1"},
    {Metric::kHostPressureIoSomeRatio, "host_pressure_io_some_ratio", MetricKind::kGauge,
     "share of time that some task waited for I/O, last 10 s, 0 to 1"},
    {Metric::kHostPressureIoFullRatio, "host_pressure_io_full_ratio", MetricKind::kGauge,
     "share of time that all tasks waited for I/O, last 10 s, 0 to 1"},
    {Metric::kHostMemoryTotalBytes, "host_memory_total_bytes", MetricKind::kGauge, "physical memory"},
    {Metric::kHostMemoryAvailableBytes, "host_memory_available_bytes", MetricKind::kGauge,
     "memory that can be had without swapping"},
    {Metric::kHostMemoryDirtyBytes, "host_memory_dirty_bytes", MetricKind::kGauge, "page cache waiting to be written"},
    {Metric::kHostSwapUsedBytes, "host_swap_used_bytes", MetricKind::kGauge, "swap in use"},
    {Metric::kHostContextSwitchesTotal, "host_context_switches_total", MetricKind::kCounter,
     "context switches since boot"},
    {Metric::kHostMajorFaultsTotal, "host_major_faults_total", MetricKind::kCounter,
     "page faults that needed a disk, since boot"},
    {Metric::kHostOomKillsTotal, "host_oom_kills_total", MetricKind::kCounter,
     "processes killed for want of memory, since boot"},
    // Disk: /proc/diskstats; device = block device.
    {Metric::kDiskReadBytesTotal, "disk_read_bytes_total", MetricKind::kCounter, "bytes read"},
    {Metric::kDiskWrittenBytesTotal, "disk_written_bytes_total", MetricKind::kCounter, "bytes written"},
    {Metric::kDiskBusySecondsTotal, "disk_busy_seconds_total", MetricKind::kCounter,
     "seconds with at least one request in flight"},
    {Metric::kDiskInFlight, "disk_in_flight", MetricKind::kGauge, "requests in flight"},
    // Network: /sys/class/net and ethtool statistics; device = interface.
    {Metric::kNetUp, "net_up", MetricKind::kGauge, "1 when operstate is up, else 0"},
    {Metric::kNetSpeedBitsPerSecond, "net_speed_bits_per_second", MetricKind::kGauge, "negotiated speed"},
    {Metric::kNetCarrierChangesTotal, "net_carrier_changes_total", MetricKind::kCounter,
     "times the carrier came or went"},
    {Metric::kNetReceiveBytesTotal, "net_receive_bytes_total", MetricKind::kCounter, "bytes received"},
    {Metric::kNetTransmitBytesTotal, "net_transmit_bytes_total", MetricKind::kCounter, "bytes sent"},
    {Metric::kNetReceivePacketsTotal, "net_receive_packets_total", MetricKind::kCounter, "packets received"},
    {Metric::kNetTransmitPacketsTotal, "net_transmit_packets_total", MetricKind::kCounter, "packets sent"},
    {Metric::kNetReceiveErrorsTotal, "net_receive_errors_total", MetricKind::kCounter, "damaged packets received"},
    {Metric::kNetTransmitErrorsTotal, "net_transmit_errors_total", MetricKind::kCounter,
     "packets that could not be sent"},
    {Metric::kNetReceiveDroppedTotal, "net_receive_dropped_total", MetricKind::kCounter, "packets dropped on receive"},
    {Metric::kNetTransmitDroppedTotal, "net_transmit_dropped_total", MetricKind::kCounter, "packets dropped on send"},
    {Metric::kNetReceiveDiscardsPhyTotal, "net_receive_discards_phy_total", MetricKind::kCounter,
     "packets the port dropped for want of buffers (rx_discards_phy)"},
    {Metric::kNetReceiveOutOfBufferTotal, "net_receive_out_of_buffer_total", MetricKind::kCounter,
     "packets dropped for want of receive buffers (rx_out_of_buffer)"},
    {Metric::kNetReceivePauseFramesTotal, "net_receive_pause_frames_total", MetricKind::kCounter,
     "priority pause frames received, all priorities"},
    {Metric::kNetTransmitPauseFramesTotal, "net_transmit_pause_frames_total", MetricKind::kCounter,
     "priority pause frames sent, all priorities"},
    {Metric::kNetReceivePauseMicrosecondsTotal, "net_receive_pause_microseconds_total", MetricKind::kCounter,
     "microseconds paused by received frames, all priorities"},
    {Metric::kNetTransmitPauseMicrosecondsTotal, "net_transmit_pause_microseconds_total", MetricKind::kCounter,
     "microseconds the peer was paused, all priorities"},
    {Metric::kNetReceiveCrcErrorsTotal, "net_receive_crc_errors_total", MetricKind::kCounter,
     "frames with a bad checksum"},
    {Metric::kNetReceiveEcnMarkedTotal, "net_receive_ecn_marked_total", MetricKind::kCounter,
     "packets received with a congestion mark"},
    // InfiniBand and RoCE: /sys/class/infiniband; device = hca/port.
    {Metric::kIbLinkUp, "ib_link_up", MetricKind::kGauge, "1 when the port state is ACTIVE, else 0"},
    {Metric::kIbRateBitsPerSecond, "ib_rate_bits_per_second", MetricKind::kGauge, "negotiated rate"},
    {Metric::kIbReceiveBytesTotal, "ib_receive_bytes_total", MetricKind::kCounter,
     "bytes received (port_rcv_data x 4)"},
    {Metric::kIbTransmitBytesTotal, "ib_transmit_bytes_total", MetricKind::kCounter, "bytes sent (port_xmit_data x 4)"},
    {Metric::kIbReceivePacketsTotal, "ib_receive_packets_total", MetricKind::kCounter, "packets received"},
    {Metric::kIbTransmitPacketsTotal, "ib_transmit_packets_total", MetricKind::kCounter, "packets sent"},
    {Metric::kIbTransmitWaitTotal, "ib_transmit_wait_total", MetricKind::kCounter,
     "ticks with data to send and no credit"},
    {Metric::kIbSymbolErrorsTotal, "ib_symbol_errors_total", MetricKind::kCounter, "minor link errors"},
    {Metric::kIbLinkErrorRecoveryTotal, "ib_link_error_recovery_total", MetricKind::kCounter,
     "successful link error recoveries"},
    {Metric::kIbLinkDownedTotal, "ib_link_downed_total", MetricKind::kCounter, "failed link error recoveries"},
    {Metric::kIbReceiveErrorsTotal, "ib_receive_errors_total", MetricKind::kCounter, "packets received with an error"},
    {Metric::kIbReceiveRemotePhysicalErrorsTotal, "ib_receive_remote_physical_errors_total", MetricKind::kCounter,
     "packets received with the bad-packet mark"},
    {Metric::kIbReceiveSwitchRelayErrorsTotal, "ib_receive_switch_relay_errors_total", MetricKind::kCounter,
     "packets that could not be forwarded"},
    {Metric::kIbReceiveConstraintErrorsTotal, "ib_receive_constraint_errors_total", MetricKind::kCounter,
     "packets received and discarded by a rule"},
    {Metric::kIbTransmitConstraintErrorsTotal, "ib_transmit_constraint_errors_total", MetricKind::kCounter,
     "packets not sent by a rule"},
    {Metric::kIbTransmitDiscardsTotal, "ib_transmit_discards_total", MetricKind::kCounter,
     "outbound packets discarded because the port was down or congested"},
    {Metric::kIbLocalLinkIntegrityErrorsTotal, "ib_local_link_integrity_errors_total", MetricKind::kCounter,
     "times that local errors exceeded the threshold"},
    {Metric::kIbExcessiveBufferOverrunErrorsTotal, "ib_excessive_buffer_overrun_errors_total", MetricKind::kCounter,
     "times that buffer overruns exceeded the threshold"},
    {Metric::kIbVl15DroppedTotal, "ib_vl15_dropped_total", MetricKind::kCounter, "management packets dropped"},
    {Metric::kIbOutOfBufferTotal, "ib_out_of_buffer_total", MetricKind::kCounter,
     "packets dropped because no receive request was posted"},
    {Metric::kIbOutOfSequenceTotal, "ib_out_of_sequence_total", MetricKind::kCounter, "packets received out of order"},
    {Metric::kIbPacketSequenceErrorsTotal, "ib_packet_sequence_errors_total", MetricKind::kCounter,
     "sequence-error acknowledgements received"},
    {Metric::kIbLocalAckTimeoutErrorsTotal, "ib_local_ack_timeout_errors_total", MetricKind::kCounter,
     "acknowledgements that never came"},
    {Metric::kIbRnrNakRetryErrorsTotal, "ib_rnr_nak_retry_errors_total", MetricKind::kCounter,
     "receiver-not-ready acknowledgements received"},
    {Metric::kIbImpliedNakSequenceErrorsTotal, "ib_implied_nak_sequence_errors_total", MetricKind::kCounter,
     "acknowledgements that implied a loss"},
    {Metric::kIbDuplicateRequestsTotal, "ib_duplicate_requests_total", MetricKind::kCounter, "requests received twice"},
    {Metric::kIbRequestCqeErrorsTotal, "ib_request_cqe_errors_total", MetricKind::kCounter,
     "requests that completed in error"},
    {Metric::kIbResponseCqeErrorsTotal, "ib_response_cqe_errors_total", MetricKind::kCounter,
     "responses that completed in error"},
    {Metric::kIbRoceAdaptiveRetransmissionsTotal, "ib_roce_adaptive_retransmissions_total", MetricKind::kCounter,
     "adaptive retransmissions"},
    {Metric::kIbRoceSlowRestartTotal, "ib_roce_slow_restart_total", MetricKind::kCounter, "slow restarts after a loss"},
    {Metric::kIbCnpSentTotal, "ib_cnp_sent_total", MetricKind::kCounter, "congestion notifications sent"},
    {Metric::kIbCnpHandledTotal, "ib_cnp_handled_total", MetricKind::kCounter,
     "congestion notifications handled by the sender"},
    {Metric::kIbEcnMarkedRocePacketsTotal, "ib_ecn_marked_roce_packets_total", MetricKind::kCounter,
     "RoCE packets received with a congestion mark"},
    {Metric::kIbReceiveIcrcErrorsTotal, "ib_receive_icrc_errors_total", MetricKind::kCounter,
     "RoCE packets received with a bad checksum"},
    // GPU: NVML; device = gpu<index>.
    {Metric::kGpuUtilizationRatio, "gpu_utilization_ratio", MetricKind::kGauge,
     "share of time with a kernel running, 0 to 1"},
    {Metric::kGpuMemoryUtilizationRatio, "gpu_memory_utilization_ratio", MetricKind::kGauge,
     "share of time with device memory in use, 0 to 1"},
    {Metric::kGpuMemoryUsedBytes, "gpu_memory_used_bytes", MetricKind::kGauge, "device memory allocated"},
    {Metric::kGpuMemoryTotalBytes, "gpu_memory_total_bytes", MetricKind::kGauge, "device memory"},
    {Metric::kGpuTemperatureCelsius, "gpu_temperature_celsius", MetricKind::kGauge, "core temperature"},
    {Metric::kGpuMemoryTemperatureCelsius, "gpu_memory_temperature_celsius", MetricKind::kGauge, "memory temperature"},
    {Metric::kGpuPowerWatts, "gpu_power_watts", MetricKind::kGauge, "power draw"},
    {Metric::kGpuPowerLimitWatts, "gpu_power_limit_watts", MetricKind::kGauge, "enforced power limit"},
    {Metric::kGpuSmClockHertz, "gpu_sm_clock_hertz", MetricKind::kGauge, "clock of the multiprocessors"},
    {Metric::kGpuMemoryClockHertz, "gpu_memory_clock_hertz", MetricKind::kGauge, "clock of the memory"},
    {Metric::kGpuClockEventReasons, "gpu_clock_event_reasons", MetricKind::kGauge,
     "bit set of reasons that hold the clocks down (NVML clocks event reasons)"},
    {Metric::kGpuPcieLinkGeneration, "gpu_pcie_link_generation", MetricKind::kGauge, "current PCIe generation"},
    {Metric::kGpuPcieLinkWidth, "gpu_pcie_link_width", MetricKind::kGauge, "current PCIe lanes"},
    {Metric::kGpuPcieLinkGenerationMax, "gpu_pcie_link_generation_max", MetricKind::kGauge,
     "PCIe generation that the slot and the GPU can do"},
    {Metric::kGpuPcieLinkWidthMax, "gpu_pcie_link_width_max", MetricKind::kGauge,
     "PCIe lanes that the slot and the GPU can do"},
    {Metric::kGpuPcieReplaysTotal, "gpu_pcie_replays_total", MetricKind::kCounter, "PCIe packets sent again"},
    {Metric::kGpuPcieReceiveBytesPerSecond, "gpu_pcie_receive_bytes_per_second", MetricKind::kGauge,
     "PCIe receive throughput"},
    {Metric::kGpuPcieTransmitBytesPerSecond, "gpu_pcie_transmit_bytes_per_second", MetricKind::kGauge,
     "PCIe send throughput"},
    {Metric::kGpuEccCorrectedTotal, "gpu_ecc_corrected_total", MetricKind::kCounter,
     "corrected memory errors since the driver was loaded"},
    {Metric::kGpuEccUncorrectedTotal, "gpu_ecc_uncorrected_total", MetricKind::kCounter,
     "uncorrected memory errors since the driver was loaded"},
    {Metric::kGpuRemappedRowsCorrected, "gpu_remapped_rows_corrected", MetricKind::kGauge,
     "memory rows remapped after corrected errors"},
    {Metric::kGpuRemappedRowsUncorrected, "gpu_remapped_rows_uncorrected", MetricKind::kGauge,
     "memory rows remapped after uncorrected errors"},
    {Metric::kGpuRowRemapPending, "gpu_row_remap_pending", MetricKind::kGauge, "1 when a remapping waits for a reset"},
    {Metric::kGpuRowRemapFailure, "gpu_row_remap_failure", MetricKind::kGauge, "1 when a remapping failed"},
    {Metric::kGpuEnergyJoulesTotal, "gpu_energy_joules_total", MetricKind::kCounter,
     "energy used since the driver was loaded"},
    {Metric::kGpuNvlinkCrcErrorsTotal, "gpu_nvlink_crc_errors_total", MetricKind::kCounter,
     "NVLink checksum errors, all links"},
    {Metric::kGpuNvlinkReplayErrorsTotal, "gpu_nvlink_replay_errors_total", MetricKind::kCounter,
     "NVLink replays, all links"},
    {Metric::kGpuNvlinkRecoveryErrorsTotal, "gpu_nvlink_recovery_errors_total", MetricKind::kCounter,
     "NVLink recoveries, all links"},
    {Metric::kGpuNvlinkActiveLinks, "gpu_nvlink_active_links", MetricKind::kGauge, "NVLinks that are up"},
    // DCGM's profiling fields, where a dcgm-exporter runs on the node.
    {Metric::kGpuGraphicsActiveRatio, "gpu_graphics_active_ratio", MetricKind::kGauge,
     "share of time with the graphics or compute engine active, 0 to 1"},
    {Metric::kGpuTensorActiveRatio, "gpu_tensor_active_ratio", MetricKind::kGauge,
     "share of time with the tensor pipe active, 0 to 1"},
    {Metric::kGpuNvlinkBytesPerSecond, "gpu_nvlink_bytes_per_second", MetricKind::kGauge,
     "NVLink throughput, both directions, all links"},
    // NVML's field values, fabric, instances and processes.
    {Metric::kGpuNvlinkReceiveBytesTotal, "gpu_nvlink_receive_bytes_total", MetricKind::kCounter,
     "bytes received over NVLink, all links"},
    {Metric::kGpuNvlinkTransmitBytesTotal, "gpu_nvlink_transmit_bytes_total", MetricKind::kCounter,
     "bytes sent over NVLink, all links"},
    {Metric::kGpuPowerViolationSecondsTotal, "gpu_power_violation_seconds_total", MetricKind::kCounter,
     "time that the power limit held the clocks down"},
    {Metric::kGpuThermalViolationSecondsTotal, "gpu_thermal_violation_seconds_total", MetricKind::kCounter,
     "time that heat held the clocks down"},
    {Metric::kGpuSyncBoostViolationSecondsTotal, "gpu_sync_boost_violation_seconds_total", MetricKind::kCounter,
     "time that the slowest GPU of a sync boost group held the clocks down"},
    {Metric::kGpuBoardLimitViolationSecondsTotal, "gpu_board_limit_violation_seconds_total", MetricKind::kCounter,
     "time that a limit of the board held the clocks down"},
    {Metric::kGpuReliabilityViolationSecondsTotal, "gpu_reliability_violation_seconds_total", MetricKind::kCounter,
     "time that the reliability voltage guardband held the clocks down"},
    {Metric::kGpuFabricState, "gpu_fabric_state", MetricKind::kGauge,
     "how far the GPU has joined the NVLink fabric: 1 not started, 2 in progress, 3 completed"},
    {Metric::kGpuFabricFailure, "gpu_fabric_failure", MetricKind::kGauge,
     "1 when joining the NVLink fabric has failed"},
    {Metric::kGpuFabricDegraded, "gpu_fabric_degraded", MetricKind::kGauge,
     "1 when the NVLink fabric has less bandwidth, or a route that is bad or recovers"},
    {Metric::kGpuMigInstances, "gpu_mig_instances", MetricKind::kGauge, "MIG instances; 0 when MIG is off"},
    {Metric::kGpuProcesses, "gpu_processes", MetricKind::kGauge, "processes that compute on it"},
    // DCGM's profiling fields again.
    {Metric::kGpuSmActiveRatio, "gpu_sm_active_ratio", MetricKind::kGauge,
     "share of time that the multiprocessors had work, their mean, 0 to 1"},
    {Metric::kGpuDramActiveRatio, "gpu_dram_active_ratio", MetricKind::kGauge,
     "share of time that device memory was read or written, 0 to 1"},
    // The RAS service inside NCCL.
    {Metric::kNcclRasCommunicators, "nccl_ras_communicators", MetricKind::kGauge, "communicators that NCCL knows of"},
    {Metric::kNcclRasMissingRanks, "nccl_ras_missing_ranks", MetricKind::kGauge,
     "members of communicators whose process did not answer NCCL"},
    {Metric::kNcclRasDeadRanks, "nccl_ras_dead_ranks", MetricKind::kGauge, "those of them that NCCL holds to be dead"},
    {Metric::kNcclRasUnequalCommunicators, "nccl_ras_unequal_communicators", MetricKind::kGauge,
     "communicators whose members launched different numbers of operations"},
    {Metric::kNcclRasTimeouts, "nccl_ras_timeouts", MetricKind::kGauge, "time-outs while NCCL asked its processes"},
};

}  // namespace

absl::Span<const MetricInfo> MetricCatalog() { return kCatalog; }

const MetricInfo* FindMetric(Metric metric) {
  const MetricInfo* const found =
      std::lower_bound(std::begin(kCatalog), std::end(kCatalog), metric,
                       [](const MetricInfo& info, Metric wanted) { return info.metric < wanted; });
  return found != std::end(kCatalog) && found->metric == metric ? found : nullptr;
}

const MetricInfo* FindMetric(absl::string_view name) {
  const MetricInfo* const found = std::find_if(std::begin(kCatalog), std::end(kCatalog),
                                               [name](const MetricInfo& info) { return info.name == name; });
  return found != std::end(kCatalog) ? found : nullptr;
}

bool IsBlankSentinel(double value) {
  if (value >= kInt64Blank) return true;
  return (value >= kInt32Blank && value < kInt32Blank + kBlanks && value == std::floor(value)) ||
         (value >= kFp64Blank && value < kFp64Blank + kBlanks && value == std::floor(value));
}

}  // namespace lockstep
