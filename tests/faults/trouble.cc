#include "tests/faults/trouble.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/uplink/uplink_session.h"
#include "base/check.h"
#include "base/clock.h"
#include "tests/faults/simulated_network.h"

namespace lockstep::faults {
namespace {

// An agent that nobody tells leaves by itself, with its next tick.
constexpr int64_t kLateSeconds = UplinkSession::kAckTimeoutNanos / kNanosPerSecond + 1;
static_assert(kLateSeconds * kNanosPerSecond > SimulatedNetwork::kLateNanos);

constexpr double kMostJumpSeconds = 7'200;
// A report is written, synced and acknowledged within the second after which the next one comes.
constexpr double kMostSpoolSlowSeconds = 0.3;

constexpr TroubleInfo kTable[] = {
    {TroubleKind::kKillCollector, "kill_collector", 20, 0, false, 0, 12},
    {TroubleKind::kPowerLoss, "power_loss", 30, 0, false, kLateSeconds, 12},
    {TroubleKind::kRestartCollector, "restart_collector", 10, 0, false, 0, 12},
    {TroubleKind::kStopCollector, "stop_collector", 25, 0, false, 0, 12},
    {TroubleKind::kKillAgent, "kill_agent", 20, 0, true, 0, 40},
    {TroubleKind::kAgentPowerLoss, "agent_power_loss", 30, 0, true, kLateSeconds, 40},
    {TroubleKind::kStopAgent, "stop_agent", 25, 0, true, 0, 40},
    {TroubleKind::kDriverHangs, "driver_hangs", 20, 0, true, 0, 40},
    {TroubleKind::kBreakStream, "break_stream", 0, 3, true, kLateSeconds, 40},
    {TroubleKind::kPartition, "partition", 90, 0, true, 0, 40},
    {TroubleKind::kDelay, "delay", 60, 3, true, 0, 40},
    {TroubleKind::kDiskFull, "disk_full", 40, 0, false, 0, 12},
    {TroubleKind::kDiskFails, "disk_fails", 40, 0, false, 0, 12},
    {TroubleKind::kSyncFails, "sync_fails", 40, 0, false, 0, 12},
    {TroubleKind::kDiskSlow, "disk_slow", 40, 1, false, 0, 12},
    {TroubleKind::kDiskHangs, "disk_hangs", 30, 0, false, 0, 12},
    {TroubleKind::kDiskLies, "disk_lies", 60, 0, false, 0, 12},
    {TroubleKind::kDiskCorrupts, "disk_corrupts", 0, 0, false, 0, 12},
    {TroubleKind::kClockJump, "clock_jump", 0, kMostJumpSeconds, false, 0, -1, true},
    {TroubleKind::kAgentClockJump, "agent_clock_jump", 0, kMostJumpSeconds, true, 0, -1, true},
    {TroubleKind::kSpoolFull, "spool_full", 40, 0, true, 0, -1},
    {TroubleKind::kSpoolFails, "spool_fails", 40, 0, true, 0, -1},
    {TroubleKind::kSpoolSyncFails, "spool_sync_fails", 40, 0, true, 0, -1},
    {TroubleKind::kSpoolSlow, "spool_slow", 40, kMostSpoolSlowSeconds, true, 0, -1},
    {TroubleKind::kReceiverSlow, "receiver_slow", 60, 0, false, 0, -1},
    {TroubleKind::kReceiverFails, "receiver_fails", 60, 0, false, 0, -1},
    {TroubleKind::kReceiverRefuses, "receiver_refuses", 60, 0, false, 0, -1},
    {TroubleKind::kReceiverLosesAnswer, "receiver_loses_answer", 30, 0, false, 0, -1},
    {TroubleKind::kReceiverHangs, "receiver_hangs", 60, 0, false, 0, -1},
};

constexpr uint64_t kMostTroubles = 10;
constexpr uint64_t kMostLocks = 300;

}  // namespace

absl::Span<const TroubleInfo> TroubleTable() { return kTable; }

const TroubleInfo& InfoOf(TroubleKind kind) {
  for (const TroubleInfo& info : kTable) {
    if (info.kind == kind) return info;
  }
  CHECK(false);
}

std::string ToText(const Trouble& trouble) {
  const TroubleInfo& info = InfoOf(trouble.kind);
  std::string text = info.name;
  if (info.hits_agent) absl::StrAppend(&text, " agent ", trouble.agent);
  if (trouble.length_ns > 0) {
    absl::StrAppendFormat(&text, " for %.1f s", static_cast<double>(trouble.length_ns) / kNanosPerSecond);
  }
  if (info.most_size > 0) absl::StrAppendFormat(&text, " size %.3f", trouble.size);
  if (trouble.locks > 0) absl::StrAppend(&text, " after ", trouble.locks, " locks");
  return text;
}

int64_t LongestUndisturbed(absl::Span<const Trouble> troubles, int64_t from_ns, int64_t to_ns) {
  int64_t longest_ns = 0;
  int64_t since_ns = from_ns;
  for (const Trouble& trouble : troubles) {  // by rising time
    const TroubleInfo& info = InfoOf(trouble.kind);
    if (info.blinds_seconds < 0) continue;
    longest_ns = std::max(longest_ns, std::min(trouble.at_ns, to_ns) - since_ns);
    const int64_t over_ns = std::max(trouble.length_ns, info.late_seconds * kNanosPerSecond);
    since_ns = std::max(since_ns, trouble.at_ns + over_ns + info.blinds_seconds * kNanosPerSecond);
  }
  return std::max(longest_ns, to_ns - since_ns);
}

std::vector<Trouble> DrawTroubles(Random& random, int32_t agents, int64_t from_ns, int64_t to_ns) {
  std::vector<const TroubleInfo*> kinds;
  for (const TroubleInfo& info : kTable) {
    if (random.Below(3) == 0) kinds.push_back(&info);
  }
  std::vector<Trouble> troubles;
  if (kinds.empty()) return troubles;
  const uint64_t count = 1 + random.Below(kMostTroubles);
  for (uint64_t i = 0; i < count; ++i) {
    const TroubleInfo& info = *kinds[random.Below(kinds.size())];
    Trouble trouble;
    trouble.kind = info.kind;
    trouble.at_ns = from_ns + static_cast<int64_t>(random.Below(static_cast<uint64_t>(to_ns - from_ns)));
    const int64_t longest_ns = info.longest_seconds * kNanosPerSecond;
    if (longest_ns > 0) trouble.length_ns = 1 + static_cast<int64_t>(random.Unit() * static_cast<double>(longest_ns));
    trouble.length_ns = std::min(trouble.length_ns, to_ns - trouble.at_ns);
    trouble.size = (random.Unit() - (info.goes_both_ways ? 0.5 : 0)) * info.most_size;
    if (info.hits_agent) trouble.agent = static_cast<int32_t>(random.Below(static_cast<uint64_t>(agents)));
    if (random.Below(2) == 0) trouble.locks = 1 + random.Below(kMostLocks);
    troubles.push_back(trouble);
  }
  std::stable_sort(troubles.begin(), troubles.end(), [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  return troubles;
}

}  // namespace lockstep::faults
