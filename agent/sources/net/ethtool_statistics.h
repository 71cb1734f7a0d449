// The statistics of a network driver, as `ethtool -S` shows them: what drops, pauses and marks that the generic
// counters of /sys/class/net hide.

#ifndef LOCKSTEP_AGENT_SOURCES_NET_ETHTOOL_STATISTICS_H_
#define LOCKSTEP_AGENT_SOURCES_NET_ETHTOOL_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {

// Reads one interface at a time. Errors: NOT_FOUND when there is no such interface, UNIMPLEMENTED when its driver has
// no statistics, otherwise what the errno says. Not thread-safe.
class EthtoolStatistics {
 public:
  // Statistics of one interface; mlx5 with 64 channels has about 3000. More is OUT_OF_RANGE.
  static constexpr size_t kMaxStatistics = 32'768;

  virtual ~EthtoolStatistics() = default;

  // The names, in the order of the values.
  virtual absl::StatusOr<std::vector<std::string>> Names(const std::string& interface_name) = 0;

  // The values. Their number changes when the interface is reconfigured: the names then have to be read again.
  virtual absl::StatusOr<std::vector<uint64_t>> Values(const std::string& interface_name) = 0;
};

// The real ones, through the SIOCETHTOOL ioctl, in the network namespace of this process. Needs no privilege.
std::unique_ptr<EthtoolStatistics> MakeEthtoolStatistics();

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NET_ETHTOOL_STATISTICS_H_
