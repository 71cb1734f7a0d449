#include "agent/sources/net/ethtool_name_table.h"

#include "absl/strings/ascii.h"

namespace lockstep {
namespace {

struct Row {
  absl::string_view pattern;  // '#' stands for one digit
  Metric metric;
};

// A port either pauses as a whole or per priority, never both, so that adding global and per-priority counts is right.
constexpr Row kRows[] = {
    // mlx5 (ConnectX)
    {"rx_discards_phy", Metric::kNetReceiveDiscardsPhyTotal},
    {"rx_out_of_buffer", Metric::kNetReceiveOutOfBufferTotal},
    {"rx_prio#_pause", Metric::kNetReceivePauseFramesTotal},
    {"tx_prio#_pause", Metric::kNetTransmitPauseFramesTotal},
    {"rx_prio#_pause_duration", Metric::kNetReceivePauseMicrosecondsTotal},
    {"tx_prio#_pause_duration", Metric::kNetTransmitPauseMicrosecondsTotal},
    {"rx_global_pause", Metric::kNetReceivePauseFramesTotal},
    {"tx_global_pause", Metric::kNetTransmitPauseFramesTotal},
    {"rx_global_pause_duration", Metric::kNetReceivePauseMicrosecondsTotal},
    {"tx_global_pause_duration", Metric::kNetTransmitPauseMicrosecondsTotal},
    {"rx_crc_errors_phy", Metric::kNetReceiveCrcErrorsTotal},
    {"rx_ecn_mark", Metric::kNetReceiveEcnMarkedTotal},
    // ice (E810)
    {"rx_priority_#_xoff.nic", Metric::kNetReceivePauseFramesTotal},
    {"tx_priority_#_xoff.nic", Metric::kNetTransmitPauseFramesTotal},
    {"link_xoff_rx.nic", Metric::kNetReceivePauseFramesTotal},
    {"link_xoff_tx.nic", Metric::kNetTransmitPauseFramesTotal},
    {"rx_crc_errors.nic", Metric::kNetReceiveCrcErrorsTotal},
    // bnxt_en (the BCM57 family)
    {"rx_pause_frames", Metric::kNetReceivePauseFramesTotal},
    {"tx_pause_frames", Metric::kNetTransmitPauseFramesTotal},
    {"rx_pfc_ena_frames_pri#", Metric::kNetReceivePauseFramesTotal},
    {"tx_pfc_ena_frames_pri#", Metric::kNetTransmitPauseFramesTotal},
    {"rx_fcs_err_frames", Metric::kNetReceiveCrcErrorsTotal},
    // i40e, e1000e, ixgbe
    {"port.rx_crc_errors", Metric::kNetReceiveCrcErrorsTotal},
    {"rx_crc_errors", Metric::kNetReceiveCrcErrorsTotal},
};

bool Matches(absl::string_view pattern, absl::string_view name) {
  if (pattern.size() != name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool same =
        pattern[i] == '#' ? absl::ascii_isdigit(static_cast<unsigned char>(name[i])) : pattern[i] == name[i];
    if (!same) return false;
  }
  return true;
}

}  // namespace

Metric MetricOfEthtoolName(absl::string_view name) {
  for (const Row& row : kRows) {
    if (Matches(row.pattern, name)) return row.metric;
  }
  return Metric::kUnspecified;
}

}  // namespace lockstep
