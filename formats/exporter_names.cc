#include "formats/exporter_names.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

// Violations are nanoseconds (dcgm_fields.h), whatever the help text of the exporter says. node_cpu_seconds_total and
// node_pressure_*_total are not here: ours are ratios, theirs counters of seconds, by mode; they are compared by rate.
// Nor is DCGM_FI_DEV_XID_ERRORS, which is the code of the newest error and no amount.
constexpr ExporterName kNames[] = {
    {"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "gpu_board_limit_violation_seconds_total", 1e-9},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gpu_clock_event_reasons", 1},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gpu_clock_event_reasons", 1},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "gpu_remapped_rows_corrected", 1},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu_ecc_uncorrected_total", 1},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "gpu_ecc_corrected_total", 1},
    {"DCGM_FI_DEV_FB_USED", "gpu_memory_used_bytes", 1048576},
    {"DCGM_FI_DEV_GPU_TEMP", "gpu_temperature_celsius", 1},
    {"DCGM_FI_DEV_GPU_UTIL", "gpu_utilization_ratio", 0.01},
    {"DCGM_FI_DEV_MEMORY_TEMP", "gpu_memory_temperature_celsius", 1},
    {"DCGM_FI_DEV_MEM_CLOCK", "gpu_memory_clock_hertz", 1e6},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "gpu_memory_utilization_ratio", 0.01},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "gpu_nvlink_crc_errors_total", 1},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "gpu_nvlink_recovery_errors_total", 1},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "gpu_nvlink_replay_errors_total", 1},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", "gpu_pcie_link_generation", 1},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", "gpu_pcie_link_width", 1},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "gpu_pcie_link_generation_max", 1},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "gpu_pcie_link_width_max", 1},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "gpu_pcie_replays_total", 1},
    {"DCGM_FI_DEV_POWER_USAGE", "gpu_power_watts", 1},
    {"DCGM_FI_DEV_POWER_VIOLATION", "gpu_power_violation_seconds_total", 1e-9},
    {"DCGM_FI_DEV_RELIABILITY_VIOLATION", "gpu_reliability_violation_seconds_total", 1e-9},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gpu_row_remap_failure", 1},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", "gpu_row_remap_pending", 1},
    {"DCGM_FI_DEV_SM_CLOCK", "gpu_sm_clock_hertz", 1e6},
    {"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "gpu_sync_boost_violation_seconds_total", 1e-9},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", "gpu_thermal_violation_seconds_total", 1e-9},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "gpu_energy_joules_total", 0.001},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "gpu_remapped_rows_uncorrected", 1},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "gpu_dram_active_ratio", 1},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gpu_graphics_active_ratio", 1},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "gpu_pcie_receive_bytes_per_second", 1},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "gpu_pcie_transmit_bytes_per_second", 1},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gpu_tensor_active_ratio", 1},
    {"DCGM_FI_PROF_SM_ACTIVE", "gpu_sm_active_ratio", 1},
    {"node_context_switches_total", "host_context_switches_total", 1},
    {"node_disk_io_time_seconds_total", "disk_busy_seconds_total", 1},
    {"node_disk_read_bytes_total", "disk_read_bytes_total", 1},
    {"node_disk_written_bytes_total", "disk_written_bytes_total", 1},
    {"node_ethtool_rx_pause", "net_receive_pause_frames_total", 1},
    {"node_ethtool_rx_pause_ctrl_phy", "net_receive_pause_frames_total", 1},
    {"node_ethtool_tx_pause", "net_transmit_pause_frames_total", 1},
    {"node_ethtool_tx_pause_ctrl_phy", "net_transmit_pause_frames_total", 1},
    {"node_infiniband_excessive_buffer_overrun_errors_total", "ib_excessive_buffer_overrun_errors_total", 1},
    {"node_infiniband_link_downed_total", "ib_link_downed_total", 1},
    {"node_infiniband_link_error_recovery_total", "ib_link_error_recovery_total", 1},
    {"node_infiniband_local_link_integrity_errors_total", "ib_local_link_integrity_errors_total", 1},
    {"node_infiniband_port_constraint_errors_received_total", "ib_receive_constraint_errors_total", 1},
    {"node_infiniband_port_constraint_errors_transmitted_total", "ib_transmit_constraint_errors_total", 1},
    {"node_infiniband_port_data_received_bytes_total", "ib_receive_bytes_total", 1},
    {"node_infiniband_port_data_transmitted_bytes_total", "ib_transmit_bytes_total", 1},
    {"node_infiniband_port_discards_transmitted_total", "ib_transmit_discards_total", 1},
    {"node_infiniband_port_errors_received_total", "ib_receive_errors_total", 1},
    {"node_infiniband_port_packets_received_total", "ib_receive_packets_total", 1},
    {"node_infiniband_port_packets_transmitted_total", "ib_transmit_packets_total", 1},
    {"node_infiniband_port_receive_errors_total", "ib_receive_errors_total", 1},
    {"node_infiniband_port_receive_remote_physical_errors_total", "ib_receive_remote_physical_errors_total", 1},
    {"node_infiniband_port_receive_switch_relay_errors_total", "ib_receive_switch_relay_errors_total", 1},
    {"node_infiniband_port_transmit_wait_total", "ib_transmit_wait_total", 1},
    {"node_infiniband_rate_bytes_per_second", "ib_rate_bits_per_second", 8},
    {"node_infiniband_symbol_error_total", "ib_symbol_errors_total", 1},
    {"node_infiniband_vl15_dropped_total", "ib_vl15_dropped_total", 1},
    {"node_load1", "host_load1", 1},
    {"node_memory_Dirty_bytes", "host_memory_dirty_bytes", 1},
    {"node_memory_MemAvailable_bytes", "host_memory_available_bytes", 1},
    {"node_memory_MemTotal_bytes", "host_memory_total_bytes", 1},
    {"node_network_receive_bytes_total", "net_receive_bytes_total", 1},
    {"node_network_receive_drop_total", "net_receive_dropped_total", 1},
    {"node_network_receive_errs_total", "net_receive_errors_total", 1},
    {"node_network_receive_packets_total", "net_receive_packets_total", 1},
    {"node_network_speed_bytes", "net_speed_bits_per_second", 8},
    {"node_network_transmit_bytes_total", "net_transmit_bytes_total", 1},
    {"node_network_transmit_drop_total", "net_transmit_dropped_total", 1},
    {"node_network_transmit_errs_total", "net_transmit_errors_total", 1},
    {"node_network_transmit_packets_total", "net_transmit_packets_total", 1},
    {"node_procs_blocked", "host_blocked_tasks", 1},
    {"node_procs_running", "host_runnable_tasks", 1},
    {"node_vmstat_oom_kill", "host_oom_kills_total", 1},
    {"node_vmstat_pgmajfault", "host_major_faults_total", 1},
};

}  // namespace

const ExporterName* FindExporterName(absl::string_view theirs) {
  const auto found =
      std::lower_bound(std::begin(kNames), std::end(kNames), theirs,
                       [](const ExporterName& name, absl::string_view key) { return name.theirs < key; });
  return found != std::end(kNames) && found->theirs == theirs ? found : nullptr;
}

}  // namespace lockstep
