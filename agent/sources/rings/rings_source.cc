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
  const RingTally tally = AppendRings(directory_.rings(), tick.monotonic_ns, archive_, report);
  total_.Add(tally);
  AppendDropped(tally, report);
  return status;
}

void RingsSource::Execute(const wire::Command& command, const Tick& tick, wire::AgentReport& report) const {
  wire::CommandResult& result = *report.add_command_results();
  result.set_id(command.id());
  result.set_job(command.job());
  result.set_outcome(wire::CommandResult::OUTCOME_DONE);
  if (command.has_pull_operations()) {
    archive_.Pull(command.job(), command.pull_operations(), tick.monotonic_ns, result);
  } else {
    result.set_outcome(wire::CommandResult::OUTCOME_REFUSED);
    result.set_error("this agent does not know the command");
  }
}

}  // namespace lockstep
