#include "collector/job_log.h"

#include <cstddef>
#include <utility>

#include "collector/convert/detector_options.h"
#include "collector/convert/fleet_sight.h"

namespace lockstep {
namespace {

// Entries without samples are small; what matters for the limits of the log is that they are not free.
constexpr size_t kSmallEntryBytes = 64;

}  // namespace

bool JobLog::AppendReset(const std::string& job, int64_t wall_ns, const std::string& why, int64_t warmed_from_ns,
                         const JobEngineOptions& options) {
  LogItem item;
  item.bytes = kSmallEntryBytes;
  wire::CaptureReset& reset = *item.entry.mutable_reset();
  reset.set_job(job);
  reset.set_wall_ns(wall_ns);
  reset.set_why(why);
  reset.set_warmed_from_wall_ns(warmed_from_ns);
  *reset.mutable_options() = ToWire(options);
  return log_.Append(std::move(item));
}

bool JobLog::AppendSlice(JobSlice slice) {
  const std::string job = slice.input.job();
  const int64_t received_ns = slice.input.received_wall_ns();
  const AgentLedger::Ticket ticket = slice.ticket;
  LogItem item;
  *item.entry.mutable_input() = std::move(slice.input);
  item.ticket = std::move(slice.ticket);
  item.bytes = slice.bytes + kSmallEntryBytes;
  const bool taken = log_.Append(std::move(item));
  if (taken) {
    reports_.NoteLogged(job, ticket, received_ns);
  } else {
    reports_.NoteLost(job, ticket, received_ns);
  }
  return taken;
}

void JobLog::PassOver(JobSlice slice) { log_.Append({.ticket = std::move(slice.ticket)}); }

bool JobLog::AppendWatermark(const std::string& job, int64_t wall_ns, const FleetSight& fleet) {
  LogItem item;
  item.bytes = kSmallEntryBytes;
  item.entry.mutable_watermark()->set_job(job);
  item.entry.mutable_watermark()->set_wall_ns(wall_ns);
  FillFleetSight(fleet, *item.entry.mutable_watermark());
  return log_.Append(std::move(item));
}

bool JobLog::AppendConclusion(const std::string& job, int64_t wall_ns, bool can_conclude,
                              const std::vector<std::string>& verdicts) {
  LogItem item;
  wire::CaptureConclusion& conclusion = *item.entry.mutable_conclusion();
  conclusion.set_job(job);
  conclusion.set_wall_ns(wall_ns);
  conclusion.set_can_conclude(can_conclude);
  for (const std::string& verdict : verdicts) conclusion.add_verdicts(verdict);
  item.bytes = conclusion.ByteSizeLong() + kSmallEntryBytes;
  return log_.Append(std::move(item));
}

}  // namespace lockstep
