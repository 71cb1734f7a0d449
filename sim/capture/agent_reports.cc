#include "sim/capture/agent_reports.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "sim/capture/operation_batch.h"

namespace lockstep {
namespace {

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
constexpr uint64_t kProcessStartTicks = 360'000;
constexpr size_t kMaxPulledBytes = 2 << 20;   // of one answer; as an agent's
constexpr size_t kPulledOperationBytes = 24;  // on the wire, about

}  // namespace

AgentReports::AgentReports(const Episode& episode)
    : episode_(episode),
      trace_(episode.evidence.trace),
      host_ranks_(trace_.hosts.size()),
      states_(trace_.ranks.size()),
      silent_from_ns_(trace_.hosts.size(), kForEver),
      host_series_(trace_.hosts.size()) {
  for (size_t r = 0; r < trace_.ranks.size(); ++r) host_ranks_[trace_.ranks[r].host].push_back(r);
  for (const TraceCommunicator& communicator : trace_.communicators) {
    uint64_t id = 0;
    CHECK(absl::SimpleHexAtoi(communicator.name, &id));
    communicator_ids_.push_back(id);
  }
  for (const TrueCause& cause : episode.truth.causes) {
    if (cause.kind != FaultKind::kMachineUnreachable) continue;
    for (const Culprit& culprit : cause.culprits) {
      const auto host = std::find(trace_.hosts.begin(), trace_.hosts.end(), culprit.host) - trace_.hosts.begin();
      silent_from_ns_[host] = episode.truth.hang_ns;
    }
  }
  int64_t last_ns = 0;
  for (const TraceOperation& op : trace_.operations) last_ns = std::max({last_ns, op.enqueue_ns, op.end_ns});
  const MetricTable& metrics = episode.evidence.metrics;
  for (size_t s = 0; s < metrics.series.size(); ++s) host_series_[metrics.series[s].host].emplace_back(s, 0);
  ticks_ = static_cast<int32_t>(last_ns / kReportIntervalNanos) + 1;
  if (episode.truth.state == JobState::kHung) ticks_ += kTicksAfterHang;
}

bool AgentReports::Make(int32_t tick, size_t host, wire::AgentReport& report) {
  const int64_t now_ns = tick * kReportIntervalNanos;
  if (now_ns >= silent_from_ns_[host]) return false;
  report.set_sequence(tick);
  report.set_monotonic_ns(now_ns + kBootNanos);
  for (const size_t r : host_ranks_[host]) {
    Advance(r, now_ns);
    AppendProcess(r, now_ns, report);
  }
  AppendSamples(host, now_ns - kReportIntervalNanos, now_ns, report);
  AppendEvents(host, now_ns - kReportIntervalNanos, now_ns, report);
  return true;
}

// Brings the state of a rank up to `now_ns`.
void AgentReports::Advance(size_t rank_index, int64_t now_ns) {
  RankState& state = states_[rank_index];
  const absl::Span<const TraceOperation> operations = trace_.OperationsOf(rank_index);
  while (state.next < operations.size() && operations[state.next].enqueue_ns <= now_ns) {
    state.open.push_back(&operations[state.next++]);
  }
  for (auto& [communicator, progress] : state.communicators) {
    progress.oldest = nullptr;
    progress.finished_now.clear();
  }
  std::vector<const TraceOperation*> still_open;
  for (const TraceOperation* op : state.open) {
    Progress& progress = state.communicators[op->communicator];
    if (progress.rank < 0) progress.rank = RankIn(op->communicator, rank_index);
    const bool started = op->started() && op->start_ns <= now_ns;
    const bool finished = op->finished() && op->end_ns <= now_ns;
    const int64_t changed_ns = finished ? op->end_ns : started ? op->start_ns : op->enqueue_ns;
    progress.changed_ns = std::max(progress.changed_ns, changed_ns);
    if (op->peer < 0) {
      progress.enqueued = std::max(progress.enqueued, op->sequence);
      if (started) progress.started = std::max(progress.started, op->sequence);
      if (finished) progress.finished = std::max(progress.finished, op->sequence);
    }
    if (finished) {
      progress.finished_now.push_back(op);
      ++state.finished;
    } else {
      if (progress.oldest == nullptr) progress.oldest = op;
      still_open.push_back(op);
    }
  }
  state.open = std::move(still_open);
}

void AgentReports::AppendProcess(size_t rank_index, int64_t now_ns, wire::AgentReport& report) const {
  const TraceRank& rank = trace_.ranks[rank_index];
  const RankState& state = states_[rank_index];
  wire::ProcessReport& process = *report.add_processes();
  process.set_job(trace_.job);
  process.set_rank(rank.rank);
  process.set_world_size(static_cast<int32_t>(trace_.ranks.size() + trace_.missing_ranks.size()));
  process.set_local_rank(rank.gpu);
  process.set_pid(rank.pid);
  process.set_process_start_ticks(kProcessStartTicks + rank.gpu);
  process.set_gpu_index(rank.gpu);
  process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
  const bool gone = rank.process_state == ProcessState::kGone && now_ns >= episode_.truth.hang_ns;
  process.set_state(gone ? wire::PROCESS_STATE_GONE : wire::PROCESS_STATE_RUNNING);
  process.set_recorder_state(wire::RECORDER_STATE_ACTIVE);
  process.set_cpu_ns(now_ns);
  process.set_operations_enqueued(state.next);
  process.set_operations_finished(state.finished);
  for (const auto& [communicator, progress] : state.communicators) {
    AppendCommunicator(communicator, progress, now_ns, process);
  }
}

int32_t AgentReports::RankIn(int32_t communicator, size_t rank_index) const {
  const std::vector<int32_t>& members = trace_.communicators[communicator].members;
  const auto member = std::find(members.begin(), members.end(), static_cast<int32_t>(rank_index));
  return static_cast<int32_t>(member - members.begin());
}

void AgentReports::AppendCommunicator(int32_t communicator, const Progress& progress, int64_t now_ns,
                                      wire::ProcessReport& process) const {
  const TraceCommunicator& known = trace_.communicators[communicator];
  wire::CommunicatorReport& to = *process.add_communicators();
  to.set_id(communicator_ids_[communicator]);
  to.set_name(known.hint);
  to.set_size(static_cast<int32_t>(known.members.size()));
  to.set_rank(progress.rank);
  to.set_enqueued(progress.enqueued);
  to.set_started(progress.started);
  to.set_finished(progress.finished);
  to.set_idle_ns(std::max<int64_t>(0, now_ns - progress.changed_ns));
  if (progress.oldest != nullptr) {
    const TraceOperation& op = *progress.oldest;
    wire::InFlight& in_flight = *to.mutable_oldest_in_flight();
    in_flight.set_kind(static_cast<wire::OperationKind>(op.kind));
    in_flight.set_sequence(op.sequence);
    in_flight.set_started(op.started() && op.start_ns <= now_ns);
    in_flight.set_age_ns(now_ns - op.enqueue_ns);
    in_flight.set_bytes(op.bytes);
    in_flight.set_peer(op.peer);
  }
  if (!progress.finished_now.empty()) AppendToBatch(progress.finished_now, *to.mutable_operations());
}

void AgentReports::Answer(size_t host, const wire::Command& command, int32_t tick, wire::CommandResult& result) const {
  result.set_id(command.id());
  result.set_job(command.job());
  if (!command.has_pull_operations() || command.job() != trace_.job) {
    result.set_outcome(wire::CommandResult::OUTCOME_REFUSED);
    result.set_error("a simulated host can only be asked for operations");
    return;
  }
  result.set_outcome(wire::CommandResult::OUTCOME_DONE);
  const wire::PullOperations& pull = command.pull_operations();
  size_t bytes_left = pull.max_bytes() > 0 ? std::min<size_t>(pull.max_bytes(), kMaxPulledBytes) : kMaxPulledBytes;
  for (const size_t r : host_ranks_[host]) {
    const bool asked = pull.ranks().empty() ||
                       std::find(pull.ranks().begin(), pull.ranks().end(), trace_.ranks[r].rank) != pull.ranks().end();
    if (asked) PullRank(r, pull, tick * kReportIntervalNanos, bytes_left, result);
  }
}

void AgentReports::PullRank(size_t rank_index, const wire::PullOperations& pull, int64_t now_ns, size_t& bytes_left,
                            wire::CommandResult& result) const {
  std::map<int32_t, std::vector<const TraceOperation*>> found;
  for (const TraceOperation& op : trace_.OperationsOf(rank_index)) {
    if (op.enqueue_ns > now_ns) break;
    if (!op.finished() || op.end_ns > now_ns || op.end_ns < now_ns - pull.newest_ns()) continue;
    const uint64_t id = communicator_ids_[op.communicator];
    const bool asked =
        pull.communicators().empty() ||
        std::find(pull.communicators().begin(), pull.communicators().end(), id) != pull.communicators().end();
    if (!asked) continue;
    if (bytes_left < kPulledOperationBytes) {
      result.set_left_out(result.left_out() + 1);
      continue;
    }
    bytes_left -= kPulledOperationBytes;
    found[op.communicator].push_back(&op);
  }
  for (const auto& [communicator, operations] : found) {
    wire::PulledOperations& pulled = *result.add_pulled();
    pulled.set_rank(trace_.ranks[rank_index].rank);
    pulled.set_process_start_ticks(kProcessStartTicks + trace_.ranks[rank_index].gpu);
    pulled.set_communicator(communicator_ids_[communicator]);
    AppendToBatch(operations, *pulled.mutable_operations());
  }
}

void AgentReports::AppendSamples(size_t host, int64_t from_ns, int64_t to_ns, wire::AgentReport& report) {
  std::map<std::pair<std::string, int64_t>, wire::MetricBlock*> blocks;  // by device and time
  for (auto& [index, next] : host_series_[host]) {
    const MetricSeries& series = episode_.evidence.metrics.series[index];
    for (; next < series.time_ms.size() && series.time_ms[next] * 1'000'000 <= to_ns; ++next) {
      const int64_t sampled_ns = series.time_ms[next] * 1'000'000;
      if (sampled_ns <= from_ns - kReportIntervalNanos) continue;
      wire::MetricBlock*& block = blocks[{series.device, sampled_ns}];
      if (block == nullptr) {
        block = report.add_metrics();
        block->set_device(series.device);
        block->set_monotonic_ns(sampled_ns + kBootNanos);
      }
      block->add_metrics(static_cast<uint32_t>(series.metric));
      block->add_values(series.value[next]);
    }
  }
}

void AgentReports::AppendEvents(size_t host, int64_t from_ns, int64_t to_ns, wire::AgentReport& report) const {
  for (const HostEvent& event : episode_.evidence.events) {
    if (event.host != trace_.hosts[host] || event.event.host_ns <= from_ns || event.event.host_ns > to_ns) continue;
    wire::KernelEvent& to = *report.add_kernel_events();
    to.set_kind(static_cast<wire::KernelEvent::Kind>(event.event.kind));
    to.set_code(event.event.code);
    to.set_device(event.event.device);
    to.set_pid(event.event.pid);
    to.set_text(event.event.text);
    to.set_monotonic_ns(event.event.host_ns + kBootNanos);
  }
}

}  // namespace lockstep
