#include "agent/sources/rings/rings_source.h"

#include <utility>

namespace lockstep {
namespace {

void AppendDropped(const RingTally& tally, wire::AgentReport& report) {
  const std::pair<const char*, uint64_t> rows[] = {
      {"ring_operations_overwritten", tally.overwritten},
      {"ring_operations_over_budget", tally.over_budget},
      {"ring_operations_malformed", tally.malformed},
      {"ring_operations_without_communicator", tally.unknown_communicator},
  };
  for (const auto& [reason, count] : rows) {
    if (count == 0) continue;
    wire::Dropped* dropped = report.add_dropped();
    dropped->set_reason(reason);
    dropped->set_count(count);
  }
}

}  // namespace

absl::Status RingsSource::Collect(const Tick& tick, wire::AgentReport& report) {
  const absl::Status status = directory_.Poll(tick.monotonic_ns);
  const RingTally tally = AppendRings(directory_.rings(), tick.monotonic_ns, report);
  total_.Add(tally);
  AppendDropped(tally, report);
  return status;
}

}  // namespace lockstep
