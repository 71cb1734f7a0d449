#include "agent/sources/net/net_source.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/sources/net/ethtool_name_table.h"
#include "agent/text_fields.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kMaxFileBytes = 4096;  // one page, the most that a file of sysfs holds
constexpr double kBitsPerMegabit = 1e6;
constexpr absl::string_view kFolder = "sys/class/net";

struct CounterFile {
  absl::string_view path;  // below the interface's folder
  Metric metric;
};

constexpr CounterFile kCounterFiles[] = {
    {"carrier_changes", Metric::kNetCarrierChangesTotal},
    {"statistics/rx_bytes", Metric::kNetReceiveBytesTotal},
    {"statistics/tx_bytes", Metric::kNetTransmitBytesTotal},
    {"statistics/rx_packets", Metric::kNetReceivePacketsTotal},
    {"statistics/tx_packets", Metric::kNetTransmitPacketsTotal},
    {"statistics/rx_errors", Metric::kNetReceiveErrorsTotal},
    {"statistics/tx_errors", Metric::kNetTransmitErrorsTotal},
    {"statistics/rx_dropped", Metric::kNetReceiveDroppedTotal},
    {"statistics/tx_dropped", Metric::kNetTransmitDroppedTotal},
};

absl::string_view FirstField(absl::string_view text) { return TakeField(text); }

}  // namespace

absl::Status NetSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (!scanned_ns_.has_value() || tick.monotonic_ns - *scanned_ns_ >= kRescanNs) {
    RETURN_IF_ERROR(Rescan(tick.monotonic_ns));
  }
  if (interfaces_.empty()) return NoData("no network interface");
  for (Interface& interface : interfaces_) {
    MetricBlockBuilder block(report, interface.name, tick.monotonic_ns);
    CollectLink(absl::StrCat(kFolder, "/", interface.name, "/"), block);
    CollectEthtool(interface, block);
  }
  if (too_many_ > 0) {
    wire::Dropped* const dropped = report.add_dropped();
    dropped->set_reason("net_interfaces");
    dropped->set_count(too_many_);
  }
  return absl::OkStatus();
}

absl::Status NetSource::Rescan(int64_t now_ns) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.ReadDir(kFolder));
  std::vector<std::string> hardware, software, loopback;
  for (const std::string& name : names) {
    const std::string folder = absl::StrCat(kFolder, "/", name);
    if (!fs_.Exists(absl::StrCat(folder, "/statistics"))) continue;  // bonding_masters is a plain file
    const bool is_hardware = fs_.Exists(absl::StrCat(folder, "/device"));
    (is_hardware ? hardware : name == "lo" ? loopback : software).push_back(name);
  }
  const std::vector<std::string>& chosen = !hardware.empty() ? hardware : !software.empty() ? software : loopback;
  const size_t count = std::min(chosen.size(), kMaxInterfaces);
  std::vector<Interface> interfaces(count);
  for (size_t i = 0; i < count; ++i) interfaces[i].name = chosen[i];
  too_many_ = chosen.size() - count;
  interfaces_ = std::move(interfaces);
  scanned_ns_ = now_ns;
  return absl::OkStatus();
}

void NetSource::CollectLink(const std::string& folder, MetricBlockBuilder& block) const {
  const auto read = [&](absl::string_view file) {
    return fs_.ReadFile(absl::StrCat(folder, file), kMaxFileBytes).value_or("");
  };
  const std::string state = read("operstate");
  if (FirstField(state) == "unknown") {
    // Drivers that never say (and virtual links) still know whether there is a carrier.
    const absl::optional<uint64_t> carrier = ParseOnlyCount(read("carrier"));
    if (carrier.has_value()) block.Add(Metric::kNetUp, *carrier != 0 ? 1 : 0);
  } else if (!FirstField(state).empty()) {
    block.Add(Metric::kNetUp, FirstField(state) == "up" ? 1 : 0);
  }
  // A link that is down says -1 or refuses the read.
  const absl::optional<uint64_t> megabits = ParseOnlyCount(read("speed"));
  if (megabits.has_value() && *megabits > 0 && *megabits < UINT32_MAX) {
    block.Add(Metric::kNetSpeedBitsPerSecond, static_cast<double>(*megabits) * kBitsPerMegabit);
  }
  for (const CounterFile& file : kCounterFiles) {
    const absl::optional<uint64_t> value = ParseOnlyCount(read(file.path));
    if (value.has_value()) block.Add(file.metric, static_cast<double>(*value));
  }
}

void NetSource::CollectEthtool(Interface& interface, MetricBlockBuilder& block) {
  if (!interface.has_ethtool) return;
  const absl::StatusOr<std::vector<uint64_t>> values = ethtool_->Values(interface.name);
  // Not every driver has statistics, and not every name is in our network namespace; /sys told what there is to tell.
  // Asked again after the next scan.
  if (!values.ok() ||
      (interface.ethtool_count != values->size() && !LearnEthtoolNames(interface, values->size()).ok())) {
    interface.has_ethtool = false;
    return;
  }
  for (size_t i = 0; i < interface.parts.size();) {
    const Metric metric = interface.parts[i].metric;
    double sum = 0;
    for (; i < interface.parts.size() && interface.parts[i].metric == metric; ++i) {
      sum += static_cast<double>((*values)[interface.parts[i].index]);
    }
    block.Add(metric, sum);
  }
}

absl::Status NetSource::LearnEthtoolNames(Interface& interface, size_t count) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ethtool_->Names(interface.name));
  if (names.size() != count) return absl::AbortedError("statistics changed while they were read");
  interface.parts.clear();
  for (size_t i = 0; i < names.size(); ++i) {
    const Metric metric = MetricOfEthtoolName(names[i]);
    if (metric != Metric::kUnspecified) interface.parts.push_back(EthtoolPart{i, metric});
  }
  std::stable_sort(interface.parts.begin(), interface.parts.end(),
                   [](const EthtoolPart& a, const EthtoolPart& b) { return a.metric < b.metric; });
  interface.ethtool_count = count;
  return absl::OkStatus();
}

}  // namespace lockstep
