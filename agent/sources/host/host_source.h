// The host itself: CPU, pressure, memory, load and disks, all from /proc.

#ifndef LOCKSTEP_AGENT_SOURCES_HOST_HOST_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_HOST_HOST_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/metric_block.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/host/pressure.h"
#include "agent/sources/host/proc_stat.h"

namespace lockstep {

// Ratios are over the time between two ticks, so that the first tick has none. A file that is missing (an old kernel
// has no /proc/pressure) costs only its own metrics; one that is unreadable or malformed fails the tick, after the
// other files were read. NoData when there is no /proc at all. Not thread-safe.
class HostSource final : public Source {
 public:
  // Block devices reported, and remembered; others are dropped and counted as "host_disks".
  static constexpr size_t kMaxDisks = 128;

  explicit HostSource(RootedFs fs) : fs_(std::move(fs)) {}

  absl::string_view name() const override { return "host"; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

 private:
  static constexpr size_t kResources = 3;  // with a file under /proc/pressure

  absl::Status CollectCpu(MetricBlockBuilder& block);
  absl::Status CollectPressure(const Tick& tick, MetricBlockBuilder& block);
  absl::Status CollectMemory(MetricBlockBuilder& block);
  absl::Status CollectVmstat(MetricBlockBuilder& block);
  absl::Status CollectLoad(MetricBlockBuilder& block);
  absl::Status CollectDisks(const Tick& tick, wire::AgentReport& report);

  // True for a device that is neither a partition nor a loop or RAM device, which only mirror others.
  bool IsWholeDisk(absl::string_view name);

  const RootedFs fs_;
  absl::optional<CpuTicks> last_cpu_;
  absl::optional<int64_t> last_tick_ns_;
  Pressure last_pressure_[kResources];
  std::map<std::string, bool, std::less<>> whole_disks_;  // verdicts of IsWholeDisk, at most kMaxKnownDisks
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_HOST_HOST_SOURCE_H_
