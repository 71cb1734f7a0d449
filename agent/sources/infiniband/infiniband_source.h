// InfiniBand and RoCE ports: link, traffic and error counters of every adapter, from /sys/class/infiniband.

#ifndef LOCKSTEP_AGENT_SOURCES_INFINIBAND_INFINIBAND_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_INFINIBAND_INFINIBAND_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/metric_block.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"

namespace lockstep {

// Device names are "<adapter>/<port>": "mlx5_0/1". Adapters differ in what they count: a file that is missing, cannot
// be read or holds no number ("N/A (no PMA)") costs only its own metric. The ports are looked for anew every kRescanNs.
//
// NoData without adapters; UNAVAILABLE when there are ports of which nothing at all can be read. May hang: some of the
// files are questions to the firmware of the adapter. Not thread-safe.
class InfinibandSource final : public Source {
 public:
  // Ports reported; the others are dropped and counted as "infiniband_ports".
  static constexpr size_t kMaxPorts = 128;
  static constexpr int64_t kRescanNs = 10'000'000'000;

  explicit InfinibandSource(RootedFs fs) : fs_(std::move(fs)) {}

  absl::string_view name() const override { return "infiniband"; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;
  // The ports that can be read, but for those of virtual functions: machines and containers come and go with them.
  std::vector<std::string> parts() const override;

 private:
  struct Port {
    std::string device;
    std::string folder;  // with a final slash
    bool is_virtual = false;
    bool is_silent = false;
  };

  absl::Status Rescan(int64_t now_ns);
  void CollectPort(const Port& port, MetricBlockBuilder& block) const;

  const RootedFs fs_;
  absl::optional<int64_t> scanned_ns_;
  std::vector<Port> ports_;
  uint64_t too_many_ = 0;  // ports beyond the limit, at the last scan
};

// Bits per second of a `rate` file such as "400 Gb/sec (4X NDR)", or nothing. Pure.
absl::optional<double> ParseInfinibandRate(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_INFINIBAND_INFINIBAND_SOURCE_H_
