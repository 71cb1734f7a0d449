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
#include "agent/kernel_xids.h"
#include "agent/source.h"
#include "agent/sources/kernel_log/kmsg_device.h"
#include "agent/sources/kernel_log/log_position.h"
#include "base/clock.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Goes on where the agent before it stopped, if that was in this boot and is known. What the kernel still has and is
// younger than kMaxLookBackNanos is reported, with the time at which it was logged; older lines are counted. After a
// boot of a host that had an agent before, that is all of the log. Where nothing is known of an agent before, the lines
// of the last kFirstLookBackNanos are read, and older ones are no news. Lines of user programs that write to /dev/kmsg
// count as well: only root can, and it is how operators rehearse an incident.
//
// Every kernel has a log: one that is not shown is a failure (UNAVAILABLE), as one that may not be read
// (PERMISSION_DENIED), for then nobody hears what it says; so is the error of one that was read and cannot be any more.
// Looked for again in every tick.
// Not thread-safe.
class KernelLogSource final : public Source {
 public:
  // Records taken in one tick; the rest waits in the kernel for the next one.
  static constexpr int kMaxRecordsPerTick = 4096;
  // Different events reported in one tick; further ones are dropped and counted as "kernel_events".
  static constexpr int kMaxEventsPerTick = 64;
  // As old as a report may be that waits (collector/convert/report_limits.h).
  static constexpr int64_t kMaxLookBackNanos = 24 * 3600 * kNanosPerSecond;
  // As long as the detector holds on to a finding: what is older could only be history.
  static constexpr int64_t kFirstLookBackNanos = 600 * kNanosPerSecond;
  // Lines further apart are different events, though they say the same and are read in one tick.
  static constexpr int64_t kFoldNanos = 60 * kNanosPerSecond;

  // `boot_id` of the running kernel; empty = not known, so that no position can be trusted. `xids` hears of Xids.
  KernelLogSource(std::unique_ptr<KmsgDevice> device, std::string boot_id, std::shared_ptr<KernelXids> xids)
      : device_(std::move(device)), boot_id_(std::move(boot_id)), xids_(std::move(xids)) {}

  absl::string_view name() const override { return "kernel_log"; }

  // Records that the kernel overwrote before they were read are counted as "kernel_log_overwritten", records that could
  // not be read or understood as "kernel_log_unreadable", events older than kMaxLookBackNanos as
  // "kernel_events_too_old".
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

  std::string position() const override;
  void Resume(absl::string_view position) override { resumed_ = ParseLogPosition(position); }
  void ResumeAfterBoot() override { after_boot_ = true; }

 private:
  struct Losses {
    uint64_t overwritten = 0;
    uint64_t unreadable = 0;
    uint64_t events = 0;
    uint64_t too_old = 0;
  };

  // Where to begin, once the log is open.
  void Begin();
  // It cannot be read any more: to be opened again, and to go on where it was.
  void Lose();
  void TakeRecord(absl::string_view text, const Tick& tick, wire::AgentReport& report, Losses& losses);
  // When a line was logged, by CLOCK_MONOTONIC. The clock of its time stamp runs a little faster or slower, some
  // seconds per day; a line that is read as it comes was logged since the tick before.
  int64_t LoggedNs(int64_t stamp_ns, const Tick& tick) const;

  const std::unique_ptr<KmsgDevice> device_;
  const std::string boot_id_;
  const std::shared_ptr<KernelXids> xids_;
  bool open_ = false;
  absl::optional<LogPosition> resumed_;  // of an agent before us
  bool after_boot_ = false;              // an agent before us has seen nothing of this boot
  bool resumes_ = false;                 // from a position, and no record has been seen since
  bool catching_up_ = false;             // reads what was logged before it was opened
  int64_t look_back_ns_ = 0;
  bool counts_old_ = false;  // what is too old was this host's to report
  int64_t last_tick_ns_ = 0;
  bool overwritten_ = false;                // since the last record
  absl::optional<uint64_t> next_sequence_;  // of the record after the last one
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_KERNEL_LOG_KERNEL_LOG_SOURCE_H_
