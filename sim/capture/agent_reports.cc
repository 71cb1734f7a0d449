#include "sim/capture/agent_reports.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "detector/model/place_table.h"
#include "proto/packed_pull.h"
#include "proto/place.pb.h"
#include "sim/capture/lost_calls.h"
#include "sim/capture/operation_batch.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr uint64_t kProcessStartTicks = 360'000;
constexpr size_t kMaxPulledBytes = 2 << 20;   // of one answer; as an agent's
constexpr size_t kPulledOperationBytes = 24;  // on the wire, about
// A collector takes messages of 4 MiB, 4,096 communicators per process and 8,192 blocks of samples.
constexpr size_t kMaxOperationsPerReport = 100'000;
// As agents do: see agent/sources/rings/ring_report.h.
constexpr int64_t kStandsNanos = 1'000'000'000;
constexpr size_t kMaxFurtherInFlight = 15;
constexpr int kMaxCommunicatorsPerProcess = 4'096;
constexpr int kMaxBlocksPerReport = 4'096;

constexpr wire::PlaceKind kWirePlaces[kPlaceKinds] = {wire::PLACE_KIND_RACK, wire::PLACE_KIND_LEAF,
                                                      wire::PLACE_KIND_POWER, wire::PLACE_KIND_IMAGE};

bool HasEnded(const TraceOperation& operation, int64_t now_ns) {
  return operation.finished() && operation.end_ns <= now_ns;
}

bool HasStarted(const TraceOperation& operation, int64_t now_ns) {
  return operation.started() && operation.start_ns <= now_ns;
}

void FillInFlight(const TraceOperation& op, const WireNumbers& numbers, int64_t now_ns, wire::InFlight& in_flight) {
  in_flight.set_kind(static_cast<wire::OperationKind>(op.kind));
  in_flight.set_sequence(numbers.SequenceOf(op));
  in_flight.set_started(HasStarted(op, now_ns));
  in_flight.set_age_ns(now_ns - op.enqueue_ns);
  if (HasStarted(op, now_ns)) in_flight.set_inside_ns(now_ns - op.start_ns);
  in_flight.set_bytes(op.bytes);
  in_flight.set_peer(op.peer);
}

void AppendFurther(const std::vector<const TraceOperation*>& in_flight, const WireNumbers& numbers, int64_t now_ns,
                   wire::InFlightRest& rest) {
  const size_t kept = std::min(in_flight.size() - 1, kMaxFurtherInFlight);
  for (size_t i = 1; i <= kept; ++i) FillInFlight(*in_flight[i], numbers, now_ns, *rest.add_operations());
  rest.set_left_out(in_flight.size() - 1 - kept);
}

}  // namespace

AgentReports::AgentReports(Playback playback)
    : plan_(std::move(playback)),
      trace_(plan_.evidence->trace),
      lost_calls_(FindLostCalls(plan_)),
      states_(trace_.ranks.size()) {
  for (const PlayedHost& host : plan_.hosts) next_sample_.emplace_back(host.series.size(), 0);
}

WireNumbers AgentReports::NumbersOf(const PlayedHost& host) const {
  return {host.boot_ns - host.zero_ns, plan_.collective_shift, plan_.transfer_shift};
}

wire::AgentHello AgentReports::Hello(size_t host, uint64_t incarnation) const {
  wire::AgentHello hello;
  hello.set_host(plan_.hosts[host].name);
  hello.set_incarnation(incarnation);
  hello.set_version("simulated");
  hello.set_protocol_version(1);
  const auto places = plan_.evidence->places.of_host.find(plan_.hosts[host].name);
  if (places == plan_.evidence->places.of_host.end()) return hello;
  for (size_t kind = 0; kind < kPlaceKinds; ++kind) {
    if (places->second[kind].empty()) continue;
    wire::Place& place = *hello.add_places();
    place.set_kind(kWirePlaces[kind]);
    place.set_name(places->second[kind]);
  }
  return hello;
}

bool AgentReports::Make(int32_t tick, size_t host, wire::AgentReport& report) {
  const PlayedHost& played = plan_.hosts[host];
  const int64_t since_ns = tick * kReportIntervalNanos;
  if (since_ns >= played.silent_from_ns) return false;
  report.set_sequence(static_cast<uint64_t>(tick));
  report.set_monotonic_ns(since_ns + played.boot_ns);
  for (const size_t r : played.ranks) Advance(r, since_ns + played.zero_ns);
  const uint32_t stride = StrideOf(played);
  for (const size_t r : played.ranks) AppendProcess(tick, played, r, stride, report);
  AppendSamples(host, since_ns, report);
  AppendEvents(played, since_ns - kReportIntervalNanos, since_ns, report);
  return true;
}

// Brings the state of a rank up to `now_ns` of its host's clock.
void AgentReports::Advance(size_t rank_index, int64_t now_ns) {
  RankState& state = states_[rank_index];
  const absl::Span<const TraceOperation> operations = trace_.OperationsOf(rank_index);
  while (state.next < operations.size() && operations[state.next].enqueue_ns <= now_ns) {
    state.open.push_back(&operations[state.next++]);
  }
  const std::vector<LostCall>& lost_calls = lost_calls_[rank_index];
  for (; state.next_lost < lost_calls.size(); ++state.next_lost, ++state.lost) {
    const LostCall& call = lost_calls[state.next_lost];
    if (call.called_ns > now_ns) break;
    Progress& progress = ProgressIn(call.communicator, rank_index);
    progress.enqueued = std::max(progress.enqueued, call.sequence + plan_.collective_shift);
    progress.changed_ns = std::max(progress.changed_ns, call.called_ns);
  }
  for (auto& [communicator, progress] : state.communicators) {
    progress.in_flight.clear();
    progress.finished_now.clear();
  }
  for (const TraceOperation* op : state.open) {
    NoteProgress(*op, now_ns, ProgressIn(op->communicator, rank_index));
  }
  std::vector<const TraceOperation*> still_open;
  for (const TraceOperation* op : state.open) {
    Progress& progress = state.communicators[op->communicator];
    if (HasEnded(*op, now_ns)) {
      progress.finished_now.push_back(op);
      ++state.finished;
    } else if (!op->finished() && IsLost(*op, progress)) {
      ++state.lost;
    } else {
      progress.in_flight.push_back(op);
      still_open.push_back(op);
    }
  }
  state.open = std::move(still_open);
}

AgentReports::Progress& AgentReports::ProgressIn(int32_t communicator, size_t rank_index) {
  const auto [known, added] = states_[rank_index].communicators.try_emplace(communicator);
  if (added) known->second.rank = RankIn(communicator, rank_index);
  return known->second;
}

void AgentReports::NoteProgress(const TraceOperation& operation, int64_t now_ns, Progress& progress) const {
  const bool started = HasStarted(operation, now_ns);
  const bool ended = HasEnded(operation, now_ns);
  const int64_t changed_ns = ended ? operation.end_ns : started ? operation.start_ns : operation.enqueue_ns;
  progress.changed_ns = std::max(progress.changed_ns, changed_ns);
  const uint64_t sequence = operation.sequence + plan_.collective_shift;
  if (IsTransfer(operation)) {
    if (!ended) return;
    uint64_t& newest = progress.transfers_finished[{operation.kind, operation.peer}];
    newest = std::max(newest, operation.sequence);
    return;
  }
  progress.enqueued = std::max(progress.enqueued, sequence);
  if (started) progress.started = std::max(progress.started, sequence);
  if (ended) progress.finished = std::max(progress.finished, sequence);
}

// As agents see it: in something that began long ago, or has called something long ago and begun nothing.
bool AgentReports::Stands(const RankState& state, int64_t now_ns) const {
  int64_t first_start_ns = kNoTime;
  for (const TraceOperation* op : state.open) {
    if (!HasStarted(*op, now_ns)) continue;
    first_start_ns = first_start_ns == kNoTime ? op->start_ns : std::min(first_start_ns, op->start_ns);
  }
  if (first_start_ns == kNoTime && !state.open.empty()) first_start_ns = state.open.front()->enqueue_ns;
  return first_start_ns != kNoTime && now_ns - first_start_ns >= kStandsNanos;
}

bool AgentReports::IsLost(const TraceOperation& operation, const Progress& progress) const {
  if (!IsTransfer(operation)) return operation.sequence + plan_.collective_shift < progress.finished;
  const auto newest = progress.transfers_finished.find({operation.kind, operation.peer});
  return newest != progress.transfers_finished.end() && operation.sequence < newest->second;
}

// Of how many operations one is reported, so that the report of this tick fits: a power of two, as agents thin.
uint32_t AgentReports::StrideOf(const PlayedHost& host) const {
  size_t finished = 0;
  for (const size_t r : host.ranks) {
    for (const auto& [communicator, progress] : states_[r].communicators) finished += progress.finished_now.size();
  }
  uint32_t stride = 1;
  while (finished / stride > kMaxOperationsPerReport) stride *= 2;
  return stride;
}

void AgentReports::AppendProcess(int32_t tick, const PlayedHost& host, size_t rank_index, uint32_t stride,
                                 wire::AgentReport& report) const {
  const TraceRank& rank = trace_.ranks[rank_index];
  const RankState& state = states_[rank_index];
  const PlayedProcess& played = plan_.processes[rank_index];
  const int64_t since_ns = tick * kReportIntervalNanos;
  wire::ProcessReport& process = *report.add_processes();
  process.set_job(plan_.job);
  process.set_rank(rank.rank);
  process.set_world_size(plan_.world_size);
  process.set_local_rank(std::max(rank.gpu, -1));
  process.set_pid(std::max(rank.pid, 0));
  process.set_process_start_ticks(kProcessStartTicks + static_cast<uint64_t>(std::max(rank.gpu, 0)));
  process.set_gpu_index(std::max(rank.gpu, -1));
  process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
  process.set_state(static_cast<wire::ProcessState>(since_ns >= played.from_ns ? played.after : played.before));
  const bool through = plan_.ends_in_order && tick == plan_.ticks;
  process.set_recorder_state(through ? wire::RECORDER_STATE_FINALIZED : wire::RECORDER_STATE_ACTIVE);
  process.set_operations_enqueued(state.next + state.next_lost);
  process.set_operations_finished(state.finished);
  process.set_operations_lost(state.lost);
  const WireNumbers numbers = NumbersOf(host);
  const int64_t now_ns = since_ns + host.zero_ns;
  const bool stands = Stands(state, now_ns);
  for (const auto& [communicator, progress] : state.communicators) {
    if (process.communicators_size() == kMaxCommunicatorsPerProcess) break;
    wire::CommunicatorReport& added = *process.add_communicators();
    AppendCommunicator(communicator, progress, numbers, now_ns, stride, added);
    if (stands && !progress.in_flight.empty()) {
      AppendFurther(progress.in_flight, numbers, now_ns, *added.mutable_further_in_flight());
    }
  }
}

int32_t AgentReports::RankIn(int32_t communicator, size_t rank_index) const {
  const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(communicator)].members;
  const auto member = std::find(members.begin(), members.end(), static_cast<int32_t>(rank_index));
  return member == members.end() ? -1 : static_cast<int32_t>(member - members.begin());
}

void AgentReports::AppendCommunicator(int32_t communicator, const Progress& progress, const WireNumbers& numbers,
                                      int64_t now_ns, uint32_t stride, wire::CommunicatorReport& to) const {
  const TraceCommunicator& known = trace_.communicators[static_cast<size_t>(communicator)];
  to.set_id(plan_.communicator_ids[static_cast<size_t>(communicator)]);
  to.set_name(known.hint);
  to.set_size(static_cast<int32_t>(known.members.size()));
  to.set_rank(progress.rank);
  to.set_enqueued(progress.enqueued);
  to.set_started(progress.started);
  to.set_finished(progress.finished);
  to.set_idle_ns(std::max<int64_t>(0, now_ns - progress.changed_ns));
  if (!progress.in_flight.empty()) {
    FillInFlight(*progress.in_flight.front(), numbers, now_ns, *to.mutable_oldest_in_flight());
  }
  if (!progress.finished_now.empty()) AppendToBatch(progress.finished_now, *to.mutable_operations(), numbers, stride);
}

void AgentReports::Answer(size_t host, const wire::Command& command, int32_t tick, wire::CommandResult& result) const {
  result.set_id(command.id());
  result.set_job(command.job());
  if (!command.has_pull_operations() || command.job() != plan_.job) {
    result.set_outcome(wire::CommandResult::OUTCOME_REFUSED);
    result.set_error("a simulated host can only be asked for operations");
    return;
  }
  result.set_outcome(wire::CommandResult::OUTCOME_DONE);
  const wire::PullOperations& pull = command.pull_operations();
  const PlayedHost& played = plan_.hosts[host];
  std::vector<std::pair<const TraceOperation*, size_t>> found;  // with the rank index
  for (const size_t r : played.ranks) {
    const bool asked = pull.ranks().empty() ||
                       std::find(pull.ranks().begin(), pull.ranks().end(), trace_.ranks[r].rank) != pull.ranks().end();
    if (asked) FindPulled(r, pull, tick * kReportIntervalNanos + played.zero_ns, found);
  }
  const size_t most = (pull.max_bytes() > 0 ? std::min<size_t>(pull.max_bytes(), kMaxPulledBytes) : kMaxPulledBytes) /
                      kPulledOperationBytes;
  if (found.size() > most) {
    const auto newer = [](const auto& a, const auto& b) {
      return std::tie(b.first->end_ns, b.second, b.first) < std::tie(a.first->end_ns, a.second, a.first);
    };
    std::sort(found.begin(), found.end(), newer);
    result.set_left_out(found.size() - most);
    found.resize(most);
  }
  // Operations of a trace lie rank after rank, each rank's by enqueue time.
  std::sort(found.begin(), found.end());
  std::map<std::pair<size_t, int32_t>, std::vector<const TraceOperation*>> batches;  // by rank and communicator
  for (const auto& [operation, r] : found) batches[{r, operation->communicator}].push_back(operation);
  for (const auto& [key, operations] : batches) {
    wire::PulledOperations& pulled = *result.add_pulled();
    const TraceRank& rank = trace_.ranks[key.first];
    pulled.set_rank(rank.rank);
    pulled.set_process_start_ticks(kProcessStartTicks + static_cast<uint64_t>(std::max(rank.gpu, 0)));
    pulled.set_communicator(plan_.communicator_ids[static_cast<size_t>(key.second)]);
    AppendToBatch(operations, *pulled.mutable_operations(), NumbersOf(played));
  }
  if (pull.may_pack()) PackPulled(result);
}

void AgentReports::FindPulled(size_t rank_index, const wire::PullOperations& pull, int64_t now_ns,
                              std::vector<std::pair<const TraceOperation*, size_t>>& found) const {
  for (const TraceOperation& op : trace_.OperationsOf(rank_index)) {
    if (op.enqueue_ns > now_ns) break;
    if (!HasEnded(op, now_ns) || op.end_ns < now_ns - pull.newest_ns()) continue;
    const uint64_t id = plan_.communicator_ids[static_cast<size_t>(op.communicator)];
    const bool asked =
        pull.communicators().empty() ||
        std::find(pull.communicators().begin(), pull.communicators().end(), id) != pull.communicators().end();
    if (asked) found.emplace_back(&op, rank_index);
  }
}

void AgentReports::AppendSamples(size_t host, int64_t to_ns, wire::AgentReport& report) {
  const PlayedHost& played = plan_.hosts[host];
  std::map<std::pair<std::string, int64_t>, wire::MetricBlock*> blocks;  // by device and time
  for (size_t i = 0; i < played.series.size(); ++i) {
    const MetricSeries& series = plan_.evidence->metrics.series[played.series[i]];
    if (series.metric == Metric::kUnspecified) continue;  // on the wire a metric is a number of the catalogue
    for (size_t& next = next_sample_[host][i]; next < series.time_ms.size(); ++next) {
      const int64_t since_ns = series.time_ms[next] * kNanosPerMilli - played.metrics_zero_ns;
      if (since_ns > to_ns) break;
      if (since_ns <= -kReportIntervalNanos || !std::isfinite(series.value[next])) continue;
      wire::MetricBlock*& block = blocks[{series.device, since_ns}];
      if (block == nullptr) {
        if (report.metrics_size() == kMaxBlocksPerReport) break;  // the rest goes with the next report
        block = report.add_metrics();
        block->set_device(series.device);
        block->set_monotonic_ns(since_ns + played.boot_ns);
      }
      block->add_metrics(static_cast<uint32_t>(series.metric));
      block->add_values(series.value[next]);
    }
  }
}

void AgentReports::AppendEvents(const PlayedHost& host, int64_t from_ns, int64_t to_ns,
                                wire::AgentReport& report) const {
  for (const HostEvent& event : plan_.evidence->events) {
    const int64_t since_ns = event.event.host_ns - host.zero_ns;
    const bool first = from_ns == 0 && since_ns == 0;
    if (event.host != host.name || (since_ns <= from_ns && !first) || since_ns > to_ns) continue;
    wire::KernelEvent& to = *report.add_kernel_events();
    to.set_kind(static_cast<wire::KernelEvent::Kind>(event.event.kind));
    to.set_code(event.event.code);
    to.set_device(event.event.device);
    to.set_pid(event.event.pid);
    to.set_text(event.event.text);
    to.set_monotonic_ns(since_ns + host.boot_ns);
  }
}

}  // namespace lockstep
