#include "eval/live/live_agents.h"

#include <utility>

#include "detector/model/input.h"

namespace lockstep {
namespace {

void ForgetBegin(wire::InFlight& operation) {
  operation.set_started(false);
  operation.set_inside_ns(0);
  operation.set_timing_quality(static_cast<uint32_t>(TimingQuality::kHostEnqueue));
}

// What a recorder knows that sees neither kernels nor network: not whether an operation in flight has begun.
void ForgetBegins(wire::ProcessReport& process) {
  for (wire::CommunicatorReport& communicator : *process.mutable_communicators()) {
    communicator.set_started(communicator.finished());
    if (communicator.has_oldest_in_flight()) ForgetBegin(*communicator.mutable_oldest_in_flight());
    if (!communicator.has_further_in_flight()) continue;
    for (wire::InFlight& one : *communicator.mutable_further_in_flight()->mutable_operations()) ForgetBegin(one);
  }
}

}  // namespace

LiveAgents::LiveAgents(const LiveJob& job)
    : job_(job), reports_(job.playback), next_tick_(reports_.hosts(), 1), waiting_(reports_.hosts()) {
  const Trace& trace = job.playback.evidence->trace;
  for (size_t h = 0; h < reports_.hosts(); ++h) host_of_name_.emplace(job.playback.hosts[h].name, h);
  for (size_t r = 0; r < trace.ranks.size(); ++r) index_of_rank_.emplace(trace.ranks[r].rank, r);
}

void LiveAgents::MakeUntil(int64_t true_ns, const std::function<void(MadeReport)>& take) {
  for (size_t host = 0; host < next_tick_.size(); ++host) {
    while (true) {
      const int32_t tick = next_tick_[host];
      MadeReport made{.host = host, .made_ns = tick * kReportIntervalNanos - job_.clock_ahead_ns[host]};
      if (made.made_ns > true_ns) break;
      ++next_tick_[host];
      if (!reports_.Make(tick, host, made.report)) continue;
      ForgetUnknownBegins(made.report);
      Answer(host, made);
      take(std::move(made));
    }
  }
}

void LiveAgents::ForgetUnknownBegins(wire::AgentReport& report) const {
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    if (job_.enqueue_only[index_of_rank_.at(process.rank())]) ForgetBegins(process);
  }
}

void LiveAgents::Answer(size_t host, MadeReport& made) {
  const int32_t tick = next_tick_[host] - 1;
  for (const wire::Command& command : waiting_[host]) {
    wire::CommandResult& result = *made.report.add_command_results();
    reports_.Answer(host, command, tick, result);
    if (!command.has_pull_operations()) continue;
    pulled_bytes_ += result.ByteSizeLong();
    ++pulls_;
  }
  waiting_[host].clear();
}

void LiveAgents::Ask(const std::string& host, wire::Command command) {
  const auto found = host_of_name_.find(host);
  if (found == host_of_name_.end() || waiting_[found->second].size() >= kMaxWaitingCommands) {
    ++forgotten_commands_;
    return;
  }
  waiting_[found->second].push_back(std::move(command));
}

}  // namespace lockstep
