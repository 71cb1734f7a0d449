#include "agent/sources/infiniband/infiniband_source.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/text_fields.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::string_view kFolder = "sys/class/infiniband";
constexpr size_t kMaxFileBytes = 4096;  // one page, the most that a file of sysfs holds
constexpr double kBitsPerGigabit = 1e9;
// The standard counts data in 32-bit words, whatever the file name suggests.
constexpr double kBytesPerWord = 4;
// Of the port state machine in the InfiniBand specification: the only state in which data flows.
constexpr uint64_t kStateActive = 4;

struct CounterFile {
  absl::string_view path;  // below the port's folder
  Metric metric;
  double scale = 1;
};

constexpr CounterFile kCounterFiles[] = {
    {"counters/port_rcv_data", Metric::kIbReceiveBytesTotal, kBytesPerWord},
    {"counters/port_xmit_data", Metric::kIbTransmitBytesTotal, kBytesPerWord},
    {"counters/port_rcv_packets", Metric::kIbReceivePacketsTotal},
    {"counters/port_xmit_packets", Metric::kIbTransmitPacketsTotal},
    {"counters/port_xmit_wait", Metric::kIbTransmitWaitTotal},
    {"counters/symbol_error", Metric::kIbSymbolErrorsTotal},
    {"counters/link_error_recovery", Metric::kIbLinkErrorRecoveryTotal},
    {"counters/link_downed", Metric::kIbLinkDownedTotal},
    {"counters/port_rcv_errors", Metric::kIbReceiveErrorsTotal},
    {"counters/port_rcv_remote_physical_errors", Metric::kIbReceiveRemotePhysicalErrorsTotal},
    {"counters/port_rcv_switch_relay_errors", Metric::kIbReceiveSwitchRelayErrorsTotal},
    {"counters/port_rcv_constraint_errors", Metric::kIbReceiveConstraintErrorsTotal},
    {"counters/port_xmit_constraint_errors", Metric::kIbTransmitConstraintErrorsTotal},
    {"counters/port_xmit_discards", Metric::kIbTransmitDiscardsTotal},
    {"counters/local_link_integrity_errors", Metric::kIbLocalLinkIntegrityErrorsTotal},
    {"counters/excessive_buffer_overrun_errors", Metric::kIbExcessiveBufferOverrunErrorsTotal},
    {"counters/VL15_dropped", Metric::kIbVl15DroppedTotal},
    {"hw_counters/out_of_buffer", Metric::kIbOutOfBufferTotal},
    {"hw_counters/out_of_sequence", Metric::kIbOutOfSequenceTotal},
    {"hw_counters/packet_seq_err", Metric::kIbPacketSequenceErrorsTotal},
    {"hw_counters/local_ack_timeout_err", Metric::kIbLocalAckTimeoutErrorsTotal},
    {"hw_counters/rnr_nak_retry_err", Metric::kIbRnrNakRetryErrorsTotal},
    {"hw_counters/implied_nak_seq_err", Metric::kIbImpliedNakSequenceErrorsTotal},
    {"hw_counters/duplicate_request", Metric::kIbDuplicateRequestsTotal},
    {"hw_counters/req_cqe_error", Metric::kIbRequestCqeErrorsTotal},
    {"hw_counters/resp_cqe_error", Metric::kIbResponseCqeErrorsTotal},
    {"hw_counters/roce_adp_retrans", Metric::kIbRoceAdaptiveRetransmissionsTotal},
    {"hw_counters/roce_slow_restart", Metric::kIbRoceSlowRestartTotal},
    {"hw_counters/np_cnp_sent", Metric::kIbCnpSentTotal},
    {"hw_counters/rp_cnp_handled", Metric::kIbCnpHandledTotal},
    {"hw_counters/np_ecn_marked_roce_packets", Metric::kIbEcnMarkedRocePacketsTotal},
    {"hw_counters/rx_icrc_encapsulated", Metric::kIbReceiveIcrcErrorsTotal},
};

// The number in front of "4: ACTIVE".
absl::optional<uint64_t> ParseState(absl::string_view text) {
  return ParseCount(absl::StripSuffix(TakeField(text), ":"));
}

}  // namespace

absl::optional<double> ParseInfinibandRate(absl::string_view text) {
  double gigabits = 0;
  if (!absl::SimpleAtod(TakeField(text), &gigabits) || TakeField(text) != "Gb/sec") return absl::nullopt;
  if (!std::isfinite(gigabits) || gigabits < 0) return absl::nullopt;
  return gigabits * kBitsPerGigabit;
}

absl::Status InfinibandSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (!scanned_ns_.has_value() || tick.monotonic_ns - *scanned_ns_ >= kRescanNs) {
    RETURN_IF_ERROR(Rescan(tick.monotonic_ns));
  }
  if (ports_.empty()) return NoData("no InfiniBand port");
  size_t silent = 0;
  for (Port& port : ports_) {
    MetricBlockBuilder block(report, port.device, tick.monotonic_ns);
    CollectPort(port, block);
    port.is_silent = block.empty();
    silent += port.is_silent ? 1 : 0;
  }
  if (too_many_ > 0) {
    wire::Dropped* const dropped = report.add_dropped();
    dropped->set_reason("infiniband_ports");
    dropped->set_count(too_many_);
  }
  if (silent == ports_.size()) return absl::UnavailableError(absl::StrCat("none of ", silent, " ports can be read"));
  return absl::OkStatus();
}

std::vector<std::string> InfinibandSource::parts() const {
  std::vector<std::string> parts;
  for (const Port& port : ports_) {
    if (!port.is_virtual && !port.is_silent) parts.push_back(port.device);
  }
  return parts;
}

absl::Status InfinibandSource::Rescan(int64_t now_ns) {
  ASSIGN_OR_RETURN(const std::vector<std::string> adapters, fs_.ReadDir(kFolder));
  std::vector<Port> ports;
  uint64_t too_many = 0;
  for (const std::string& adapter : adapters) {
    const std::string folder = absl::StrCat(kFolder, "/", adapter, "/ports");
    const absl::StatusOr<std::vector<std::string>> numbers = fs_.ReadDir(folder);
    if (!numbers.ok()) continue;  // an adapter on its way in or out
    const bool is_virtual = fs_.ReadLink(absl::StrCat(kFolder, "/", adapter, "/device/physfn")).ok();
    for (const std::string& number : *numbers) {
      if (ports.size() == kMaxPorts) {
        ++too_many;
        continue;
      }
      ports.push_back({absl::StrCat(adapter, "/", number), absl::StrCat(folder, "/", number, "/"), is_virtual,
                       /*is_silent=*/false});
    }
  }
  ports_ = std::move(ports);
  too_many_ = too_many;
  scanned_ns_ = now_ns;
  return absl::OkStatus();
}

void InfinibandSource::CollectPort(const Port& port, MetricBlockBuilder& block) const {
  const auto read = [&](absl::string_view file) {
    return fs_.ReadFile(absl::StrCat(port.folder, file), kMaxFileBytes).value_or("");
  };
  const absl::optional<uint64_t> state = ParseState(read("state"));
  if (state.has_value()) block.Add(Metric::kIbLinkUp, *state == kStateActive ? 1 : 0);
  const absl::optional<double> rate = ParseInfinibandRate(read("rate"));
  if (rate.has_value()) block.Add(Metric::kIbRateBitsPerSecond, *rate);
  for (const CounterFile& file : kCounterFiles) {
    const absl::optional<uint64_t> value = ParseOnlyCount(read(file.path));
    if (value.has_value()) block.Add(file.metric, static_cast<double>(*value) * file.scale);
  }
}

}  // namespace lockstep
