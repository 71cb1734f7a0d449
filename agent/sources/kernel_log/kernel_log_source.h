// Follows the kernel log and reports the lines that kernel_line.h recognises.

#ifndef LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LOG_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LOG_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/source.h"
#include "agent/sources/kernel_log/kmsg_device.h"

namespace lockstep {

// Starts behind the last line: what was logged before the agent is no news. Lines of user programs that write to
// /dev/kmsg count as well: only root can, and it is how operators rehearse an incident.
//
// NoData where there is no kernel log; PERMISSION_DENIED where there is one that may not be read, for then nobody hears
// what it says. Looked for again in every tick.
// Not thread-safe.
class KernelLogSource final : public Source {
 public:
  // Records taken in one tick; the rest waits in the kernel for the next one.
  static constexpr int kMaxRecordsPerTick = 4096;
  // Different events reported in one tick; further ones are dropped and counted as "kernel_events".
  static constexpr int kMaxEventsPerTick = 64;

  explicit KernelLogSource(std::unique_ptr<KmsgDevice> device) : device_(std::move(device)) {}

  absl::string_view name() const override { return "kernel_log"; }

  // Records that the kernel overwrote before they were read are counted as "kernel_log_overwritten", records that could
  // not be read or understood as "kernel_log_unreadable".
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

 private:
  struct Losses {
    uint64_t overwritten = 0;
    uint64_t unreadable = 0;
    uint64_t events = 0;
  };

  void TakeRecord(absl::string_view text, wire::AgentReport& report, Losses& losses);

  const std::unique_ptr<KmsgDevice> device_;
  bool open_ = false;
  bool overwritten_ = false;                // since the last record
  absl::optional<uint64_t> next_sequence_;  // of the record after the last one
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LOG_SOURCE_H_
