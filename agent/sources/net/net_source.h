// Network interfaces: link, traffic, errors and drops from /sys/class/net, and what the driver counts (ethtool).

#ifndef LOCKSTEP_AGENT_SOURCES_NET_NET_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_NET_NET_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/metric_block.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/net/ethtool_statistics.h"

namespace lockstep {

// Reports interfaces that are hardware (they have a `device`): a node of Kubernetes has hundreds of virtual ones, which
// only show the same packets again. A machine without any, such as a container, reports its virtual ones, and only
// where there is nothing else, the loopback. The choice is made anew every kRescanNs.
//
// A file that is missing or unreadable costs only its own metric; NoData when there is no interface at all. May hang:
// ethtool waits for the kernel's network lock and for the adapter's firmware. Not thread-safe.
class NetSource final : public Source {
 public:
  // Interfaces reported; the others are dropped and counted as "net_interfaces".
  static constexpr size_t kMaxInterfaces = 64;
  static constexpr int64_t kRescanNs = 10'000'000'000;

  NetSource(RootedFs fs, std::unique_ptr<EthtoolStatistics> ethtool)
      : fs_(std::move(fs)), ethtool_(std::move(ethtool)) {}

  absl::string_view name() const override { return "net"; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

 private:
  // A statistic of ethtool that is part of one of our metrics.
  struct EthtoolPart {
    size_t index;
    Metric metric;
  };

  struct Interface {
    std::string name;
    bool has_ethtool = true;         // until the driver says no
    size_t ethtool_count = 0;        // statistics when `parts` was made; 0 = not made yet
    std::vector<EthtoolPart> parts;  // sorted by metric
  };

  absl::Status Rescan(int64_t now_ns);
  void CollectLink(const std::string& folder, MetricBlockBuilder& block) const;
  void CollectEthtool(Interface& interface, MetricBlockBuilder& block);
  absl::Status LearnEthtoolNames(Interface& interface, size_t count);

  const RootedFs fs_;
  const std::unique_ptr<EthtoolStatistics> ethtool_;
  absl::optional<int64_t> scanned_ns_;
  std::vector<Interface> interfaces_;
  uint64_t too_many_ = 0;  // interfaces beyond the limit, at the last scan
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NET_NET_SOURCE_H_
