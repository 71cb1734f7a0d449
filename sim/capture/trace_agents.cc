#include "sim/capture/trace_agents.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "proto/ingest.pb.h"
#include "proto/packed_pull.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/operation_batch.h"

namespace lockstep {
namespace {

constexpr uint64_t kStartTicks = 1;
constexpr size_t kBatchBytes = 32;             // that an agent's limit counts per batch, besides its operations
constexpr uint64_t kMaxAnswerBytes = 2 << 20;  // as an agent's

Operation ToOperation(const TraceOperation& from) {
  Operation to;
  to.kind = from.kind;
  to.sequence = from.sequence;
  to.enqueue_ns = from.enqueue_ns;
  to.start_ns = from.start_ns;
  to.end_ns = from.end_ns;
  to.bytes = from.bytes;
  to.peer = from.peer;
  to.quality = from.quality;
  return to;
}

template <typename T>
bool IsAmong(const std::vector<T>& list, T value) {
  return list.empty() || std::binary_search(list.begin(), list.end(), value);
}

}  // namespace

TraceAgents::TraceAgents(const Trace& trace) : trace_(trace), host_ranks_(trace.hosts.size()) {
  for (size_t host = 0; host < trace.hosts.size(); ++host) host_of_name_.emplace(trace.hosts[host], host);
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    if (trace.ranks[r].host >= 0) host_ranks_[static_cast<size_t>(trace.ranks[r].host)].push_back(r);
  }
}

Roster TraceAgents::MakeRoster(int64_t received_ns) const {
  Roster roster({});
  std::vector<std::map<int32_t, uint64_t>> finished(trace_.ranks.size());  // collectives, by communicator
  for (size_t r = 0; r < trace_.ranks.size(); ++r) {
    const TraceRank& rank = trace_.ranks[r];
    if (rank.host < 0 || trace_.OperationsOf(r).empty()) continue;
    RankView view;
    view.rank = rank.rank;
    view.world_size = static_cast<int32_t>(trace_.ranks.size());
    view.process_start_ticks = kStartTicks;
    view.pid = rank.pid;
    view.gpu = rank.gpu;
    view.process_state = rank.process_state;
    int64_t begin_ns = trace_.OperationsOf(r).front().enqueue_ns;
    int64_t end_ns = begin_ns;
    for (const TraceOperation& operation : trace_.OperationsOf(r)) {
      if (!operation.finished()) continue;
      end_ns = std::max(end_ns, operation.end_ns);
      uint64_t& highest = finished[r][operation.communicator];
      if (operation.peer < 0) highest = std::max(highest, operation.sequence);
    }
    const int32_t host = roster.TouchHost(trace_.hosts[static_cast<size_t>(rank.host)], received_ns);
    roster.Update(host, view, received_ns, begin_ns);
    view.operations_finished = trace_.OperationsOf(r).size();
    roster.Update(host, view, received_ns, end_ns);
  }
  for (size_t c = 0; c < trace_.communicators.size(); ++c) {
    const TraceCommunicator& communicator = trace_.communicators[c];
    for (size_t member = 0; member < communicator.members.size(); ++member) {
      const int32_t r = communicator.members[member];
      if (r < 0) continue;
      const int32_t slot = roster.SlotOfRank(trace_.ranks[static_cast<size_t>(r)].rank);
      if (slot < 0) continue;
      CommunicatorView view;
      view.id = IdOf(static_cast<int32_t>(c));
      view.name = communicator.hint;
      view.size = static_cast<int32_t>(communicator.members.size());
      view.communicator_rank = static_cast<int32_t>(member);
      view.enqueued = view.started = view.finished = finished[static_cast<size_t>(r)][static_cast<int32_t>(c)];
      roster.Join(slot, view);
    }
  }
  return roster;
}

PullAnswer TraceAgents::Answer(const PullRequest& request, double share, uint64_t* bytes) const {
  PullAnswer answer{.request = request.id, .done = true};
  std::vector<Held> held;
  for (const size_t r : host_ranks_[host_of_name_.at(request.host)]) {
    for (const TraceOperation& operation : trace_.OperationsOf(r)) {
      if (operation.finished()) held.push_back({operation.end_ns, static_cast<int32_t>(r), &operation});
    }
  }
  std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
    return std::tuple(a.end_ns, a.rank, a.operation) < std::tuple(b.end_ns, b.rank, b.operation);
  });
  held.resize(static_cast<size_t>(share * static_cast<double>(held.size())));
  if (held.empty()) return answer;
  const int64_t now_ns = held.back().end_ns;
  // By second, newest first; then rank and communicator.
  std::map<std::tuple<int64_t, int32_t, int32_t>, std::vector<const TraceOperation*>> chunks;
  for (const Held& one : held) {
    const bool asked = one.end_ns >= now_ns - request.newest_ns &&
                       IsAmong(request.ranks, trace_.ranks[static_cast<size_t>(one.rank)].rank) &&
                       IsAmong(request.communicators, IdOf(one.operation->communicator));
    if (!asked) continue;
    const int64_t age = (now_ns - one.end_ns) / kNanosPerSecond;
    chunks[{age, one.rank, one.operation->communicator}].push_back(one.operation);
  }
  const uint64_t limit = request.max_bytes == 0 ? kMaxAnswerBytes : std::min(request.max_bytes, kMaxAnswerBytes);
  uint64_t taken = 0;
  wire::CommandResult result;
  for (const auto& [key, operations] : chunks) {
    wire::PulledOperations pulled;
    AppendToBatch(operations, *pulled.mutable_operations());
    taken += pulled.operations().ByteSizeLong() + kBatchBytes;
    if (taken > limit) {
      answer.left_out += operations.size();
      continue;
    }
    const auto [age, rank, communicator] = key;
    pulled.set_rank(trace_.ranks[static_cast<size_t>(rank)].rank);
    pulled.set_process_start_ticks(kStartTicks);
    pulled.set_communicator(IdOf(communicator));
    *result.add_pulled() = std::move(pulled);
    PulledOperations& batch = answer.pulled.emplace_back();
    batch.rank = trace_.ranks[static_cast<size_t>(rank)].rank;
    batch.process_start_ticks = kStartTicks;
    batch.communicator = IdOf(communicator);
    for (const TraceOperation* operation : operations) batch.operations.push_back(ToOperation(*operation));
  }
  result.set_id(request.id);
  result.set_job(trace_.job);
  result.set_outcome(wire::CommandResult::OUTCOME_DONE);
  result.set_left_out(answer.left_out);
  PackPulled(result);
  *bytes += result.ByteSizeLong();
  return answer;
}

}  // namespace lockstep
