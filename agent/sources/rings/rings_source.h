// The recorder rings of this host as a source: every recorded process, its communicators and what they did.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RINGS_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RINGS_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/demands/demand_kind.h"
#include "agent/gpu_names.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/rings/operation_archive.h"
#include "agent/sources/rings/ring_directory.h"
#include "agent/sources/rings/ring_place.h"
#include "agent/sources/rings/ring_report.h"
#include "base/clock.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Keeps the ring directory as it has to be, at every tick; NoData while there is none. What was lost is added to the
// report's dropped counts as "ring_...". Not thread-safe.
class RingsSource final : public Source {
 public:
  // `directory` of the rings; `root` is where proc/ is; `since_ns` (CLOCK_MONOTONIC) is the start of the agent: what
  // rings did before it is not reported again, see RingReader::Open; `gpus` of this machine, as far as somebody tells
  // of them. Borrows `clock`.
  RingsSource(std::string directory, RootedFs root, int64_t since_ns, std::shared_ptr<const GpuNames> gpus,
              const Clock& clock)
      : place_(directory),
        directory_(std::move(directory), std::move(root), since_ns),
        gpus_(std::move(gpus)),
        clock_(clock) {}

  absl::string_view name() const override { return "rings"; }
  bool comes_and_goes() const override { return true; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

  std::string position() const override { return directory_.positions(last_tick_ns_).SerializeAsString(); }
  void Resume(absl::string_view position) override;

  // To be called between two ticks, the first time right after one; returns when to call it again, in nanoseconds from
  // now. A ring of 32,768 operations turns in 65 ms at 500,000 per second: whoever is read every 5 ms survives that
  // this thread does not get a CPU for 55 ms.
  int64_t KeepUp() { return directory_.KeepUp() ? kBusyNanos : kKeepUpNanos; }
  static constexpr int64_t kKeepUpNanos = 20'000'000;
  static constexpr int64_t kBusyNanos = 5'000'000;

  // To be called as often as KeepUp: what a process that has just ended leaves behind is soon gone.
  void WatchExits(int64_t now_ns) { directory_.WatchExits(now_ns); }

  // Carries out a command of the collector; the answer goes into `report`.
  void Execute(const wire::Command& command, const Tick& tick, wire::AgentReport& report) const;

  // Whom a command with a demand is about. NOT_FOUND says why nobody.
  absl::StatusOr<DemandedProcess> FindProcess(const wire::Command& command) const;

  // For the agent's own metrics.
  const RingPlace& place() const { return place_; }
  const RingDirectory& directory() const { return directory_; }
  const RingTally& total() const { return total_; }  // since the start
  const OperationArchive& archive() const { return archive_; }

  // Coll, P2p, KernelCh, ProxyOp and ProxyStep of NCCL's activation mask.
  static constexpr uint64_t kTransferEvents = 2 | 4 | 64 | 8 | 16;
  static constexpr int64_t kMaxWatchNanos = 60 * kNanosPerSecond;

 private:
  absl::Status WatchTransfers(const wire::Command& command, const Tick& tick) const;

  RingPlace place_;
  RingDirectory directory_;
  const std::shared_ptr<const GpuNames> gpus_;
  const Clock& clock_;
  OperationArchive archive_;
  RingTally total_;
  int64_t last_tick_ns_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RINGS_SOURCE_H_
