#include "agent/sources/rings/rings_source.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "proto/packed_pull.h"

namespace lockstep {
namespace {

void AppendDropped(const RingTally& tally, wire::AgentReport& report) {
  const std::pair<const char*, uint64_t> rows[] = {
      {"ring_operations_overwritten", tally.overwritten},
      {"ring_operations_over_budget", tally.over_budget},
      {"ring_operations_malformed", tally.malformed},
      {"ring_operations_without_communicator", tally.unknown_communicator},
      {"ring_operations_over_allowance", tally.over_allowance},
      {"ring_operations_without_job", tally.without_job},
      {"ring_communicators_left_out", tally.communicators_left_out},
      {"ring_transfers_left_out", tally.transfers_left_out},
      {"ring_in_flight_left_out", tally.in_flight_left_out},
  };
  for (const auto& [reason, count] : rows) {
    if (count == 0) continue;
    wire::Dropped* dropped = report.add_dropped();
    dropped->set_reason(reason);
    dropped->set_count(count);
  }
}

// All names that the collector knows ranks of the job by.
std::set<std::string> JobsOf(const wire::Command& command) {
  std::set<std::string> jobs = {command.job()};
  jobs.insert(command.further_jobs().begin(), command.further_jobs().end());
  return jobs;
}

void Refuse(const std::string& error, wire::CommandResult& result) {
  result.set_outcome(wire::CommandResult::OUTCOME_REFUSED);
  result.set_error(error);
}

}  // namespace

void RingsSource::Resume(absl::string_view position) {
  wire::RingPositions positions;
  if (positions.ParseFromArray(position.data(), static_cast<int>(position.size()))) directory_.Resume(positions);
}

absl::Status RingsSource::Collect(const Tick& tick, wire::AgentReport& report) {
  last_tick_ns_ = tick.monotonic_ns;
  place_.Keep();
  const absl::Status status = directory_.Poll(tick.monotonic_ns);
  directory_.FindGpus(*gpus_);
  // Ranks go on while an agent that is stopped, or has no CPU, stands still between its clock and their rings.
  const int64_t read_ns = std::max(tick.monotonic_ns, clock_.MonotonicNanos());
  const RingTally tally = AppendRings(directory_.rings(), {tick.monotonic_ns, read_ns}, archive_, report);
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
    archive_.Pull(JobsOf(command), command.pull_operations(), tick.monotonic_ns, result);
    if (command.pull_operations().may_pack()) PackPulled(result);
  } else if (command.has_watch_transfers()) {
    const absl::Status status = WatchTransfers(command, tick);
    if (!status.ok()) Refuse(std::string(status.message()), result);
  } else {
    Refuse("this agent does not know the command", result);
  }
}

absl::StatusOr<DemandedProcess> RingsSource::FindProcess(const wire::Command& command) const {
  const wire::Demand& demand = command.demand();
  const std::set<std::string> jobs = JobsOf(command);
  absl::Status why = absl::NotFoundError("the agent follows no such rank");
  for (const auto& [name, ring] : directory_.rings()) {
    if (jobs.count(ring.job) == 0 || ring.reader->header().rank != demand.rank()) continue;
    if (ring.gone_at_ns != 0 || !ring.process.has_value()) {
      why = absl::NotFoundError("the process has ended");
    } else if (ring.host_pid == 0 || ring.process->start_ticks == 0) {
      why = absl::NotFoundError("the agent does not see the process of this rank");
    } else if (demand.pid() != 0 && demand.pid() != ring.host_pid) {
      why = absl::NotFoundError("the rank is another process by now");
    } else {
      return DemandedProcess{.job = ring.job,
                             .rank = demand.rank(),
                             .pid = ring.host_pid,
                             .start_ticks = ring.process->start_ticks,
                             .uid = ring.owner};
    }
  }
  return why;
}

absl::Status RingsSource::WatchTransfers(const wire::Command& command, const Tick& tick) const {
  const wire::WatchTransfers& request = command.watch_transfers();
  if (request.duration_ns() <= 0) return absl::InvalidArgumentError("no duration");
  return directory_
      .RequestEvents(JobsOf(command), request.ranks(), kTransferEvents, tick.monotonic_ns,
                     std::min(request.duration_ns(), kMaxWatchNanos))
      .status();
}

}  // namespace lockstep
