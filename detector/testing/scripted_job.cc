#include "detector/testing/scripted_job.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace lockstep {
namespace {

constexpr int64_t kIssueNs = 20'000;
constexpr int64_t kTransferNs = 300'000;
constexpr int64_t kNever = -1;

bool PointToPoint(OperationKind kind) { return kind == OperationKind::kSend || kind == OperationKind::kRecv; }

struct Times {
  int64_t issued = kNever;
  int64_t begun = kNever;
  int64_t ended = kNever;
};

class Machine {
 public:
  explicit Machine(const ScriptedJob& job) : job_(job) {
    const size_t ranks = job.programs.size();
    at_.assign(ranks, 0);
    times_.resize(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) times_[rank].resize(job.programs[rank].size());
    Number();
  }

  void Run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t rank = 0; rank < at_.size(); ++rank) moved = Advance(rank) || moved;
    }
    for (size_t rank = 0; rank < at_.size(); ++rank) Issue(rank);
  }

  bool Finished(size_t rank) const { return at_[rank] == job_.programs[rank].size(); }
  const Times& TimesOf(size_t rank, size_t call) const { return times_[rank][call]; }
  uint64_t Sequence(size_t rank, size_t call) const { return sequences_[rank][call]; }

 private:
  using Stream = std::tuple<int32_t, int32_t, int32_t>;  // communicator, source, destination

  int32_t MemberOf(size_t rank, int32_t communicator) const {
    const std::vector<int32_t>& members = job_.communicators[static_cast<size_t>(communicator)];
    return static_cast<int32_t>(std::find(members.begin(), members.end(), static_cast<int32_t>(rank)) -
                                members.begin());
  }

  Stream StreamOf(size_t rank, const ScriptedCall& call) const {
    const int32_t me = MemberOf(rank, call.communicator);
    if (call.kind == OperationKind::kSend) return {call.communicator, me, call.peer};
    if (call.kind == OperationKind::kRecv) return {call.communicator, call.peer, me};
    return {call.communicator, -1, -1};
  }

  void Number() {
    sequences_.resize(at_.size());
    for (size_t rank = 0; rank < at_.size(); ++rank) {
      std::map<Stream, uint64_t> next;
      for (const ScriptedCall& call : job_.programs[rank]) {
        sequences_[rank].push_back(next[StreamOf(rank, call)]++);
      }
    }
  }

  // The host issues what its lead allows.
  void Issue(size_t rank) {
    std::vector<Times>& times = times_[rank];
    const size_t stop = std::min(times.size(), job_.host_stops_at[rank]);
    for (size_t call = 0; call < std::min(stop, at_[rank] + job_.host_lead); ++call) {
      if (times[call].issued != kNever) continue;
      const int64_t before = call == 0 ? 0 : times[call - 1].issued;
      const int64_t room = call < job_.host_lead ? 0 : times[call - job_.host_lead].ended;
      times[call].issued = std::max(before, room) + kIssueNs;
    }
  }

  bool Advance(size_t rank) {
    Issue(rank);
    const size_t call = at_[rank];
    if (Finished(rank) || times_[rank][call].issued == kNever || job_.gpu_stops_at[rank] <= call) return false;
    const int64_t free = call == 0 ? 0 : times_[rank][call - 1].ended;
    const ScriptedCall& what = job_.programs[rank][call];
    times_[rank][call].begun = std::max(free + what.compute_ns, times_[rank][call].issued + kIssueNs);
    return TryEnd(what, StreamOf(rank, what), sequences_[rank][call]);
  }

  // Ends the operation on all its members if all stand in it and call the same.
  bool TryEnd(const ScriptedCall& what, const Stream& stream, uint64_t sequence) {
    std::vector<size_t> ranks;
    const std::vector<int32_t>& members = job_.communicators[static_cast<size_t>(what.communicator)];
    int64_t last = 0;
    for (size_t m = 0; m < members.size(); ++m) {
      const auto member = static_cast<int32_t>(m);
      if (PointToPoint(what.kind) && member != std::get<1>(stream) && member != std::get<2>(stream)) continue;
      const auto rank = static_cast<size_t>(members[m]);
      if (Finished(rank)) return false;
      const size_t call = at_[rank];
      const ScriptedCall& other = job_.programs[rank][call];
      if (times_[rank][call].begun == kNever || other.never_ends || StreamOf(rank, other) != stream ||
          sequences_[rank][call] != sequence) {
        return false;
      }
      if (!PointToPoint(what.kind) && (other.kind != what.kind || other.bytes != what.bytes)) return false;
      last = std::max(last, times_[rank][call].begun);
      ranks.push_back(rank);
    }
    for (const size_t rank : ranks) times_[rank][at_[rank]++].ended = last + kTransferNs;
    return true;
  }

  const ScriptedJob& job_;
  std::vector<size_t> at_;  // by rank: the call at which its GPU is
  std::vector<std::vector<Times>> times_;
  std::vector<std::vector<uint64_t>> sequences_;
};

void AppendRank(const ScriptedJob& job, const Machine& machine, size_t rank, ScriptedRecords records, int64_t offset_ns,
                int64_t cut_ns, Trace* trace) {
  const auto seen = [&](int64_t ns) { return ns != kNever && ns <= cut_ns; };
  for (size_t call = 0; call < job.programs[rank].size(); ++call) {
    const Times& times = machine.TimesOf(rank, call);
    if (!seen(times.issued)) break;
    if (records == ScriptedRecords::kActiveOnly && seen(times.ended)) continue;
    const ScriptedCall& what = job.programs[rank][call];
    TraceOperation operation{.enqueue_ns = times.issued + offset_ns,
                             .sequence = machine.Sequence(rank, call),
                             .bytes = what.bytes,
                             .communicator = what.communicator,
                             .peer = what.peer,
                             .kind = what.kind};
    if (records == ScriptedRecords::kOneTime) operation.start_ns = operation.enqueue_ns;
    if (records == ScriptedRecords::kFull && seen(times.begun)) operation.start_ns = times.begun + offset_ns;
    if (records != ScriptedRecords::kActiveOnly && seen(times.ended)) operation.end_ns = times.ended + offset_ns;
    trace->operations.push_back(operation);
  }
}

ScriptedCall Call(int32_t communicator, OperationKind kind, Random& random, int32_t peer = -1) {
  return {.communicator = communicator,
          .kind = kind,
          .peer = peer,
          .compute_ns = 950'000 + static_cast<int64_t>(random.Below(100'000))};
}

}  // namespace

ScriptedJob RandomJob(int32_t tensor, int32_t data, int32_t pipeline, int32_t steps, Random& random) {
  ScriptedJob job;
  const int32_t ranks = tensor * data * pipeline;
  const auto rank_of = [&](int32_t t, int32_t d, int32_t p) { return t + tensor * (d + data * p); };
  job.programs.resize(static_cast<size_t>(ranks));
  job.host_stops_at.assign(static_cast<size_t>(ranks), ScriptedJob::kNever);
  job.gpu_stops_at = job.host_stops_at;
  std::vector<int32_t> world;
  for (int32_t r = 0; r < ranks; ++r) world.push_back(r);
  job.communicators.push_back(world);
  std::map<std::tuple<int, int32_t, int32_t>, int32_t> group;  // dimension and the two other coordinates
  const auto add = [&](int dimension, int32_t a, int32_t b, std::vector<int32_t> members) {
    group[{dimension, a, b}] = static_cast<int32_t>(job.communicators.size());
    job.communicators.push_back(std::move(members));
  };
  for (int32_t p = 0; p < pipeline; ++p) {
    for (int32_t d = 0; d < data; ++d) {
      std::vector<int32_t> members;
      for (int32_t t = 0; t < tensor; ++t) members.push_back(rank_of(t, d, p));
      if (tensor > 1) add(0, d, p, members);
    }
    for (int32_t t = 0; t < tensor; ++t) {
      std::vector<int32_t> members;
      for (int32_t d = 0; d < data; ++d) members.push_back(rank_of(t, d, p));
      if (data > 1) add(1, t, p, members);
    }
  }
  for (int32_t d = 0; d < data; ++d) {
    for (int32_t t = 0; t < tensor; ++t) {
      std::vector<int32_t> members;
      for (int32_t p = 0; p < pipeline; ++p) members.push_back(rank_of(t, d, p));
      if (pipeline > 1) add(2, t, d, members);
    }
  }
  const auto everywhere = [&](int dimension, OperationKind kind) {
    for (const auto& [key, communicator] : group) {
      if (std::get<0>(key) != dimension) continue;
      for (const int32_t rank : job.communicators[static_cast<size_t>(communicator)]) {
        job.programs[static_cast<size_t>(rank)].push_back(Call(communicator, kind, random));
      }
    }
  };
  for (int32_t step = 0; step < steps; ++step) {
    const auto microbatches = static_cast<int32_t>(1 + random.Below(2));
    for (int32_t m = 0; m < microbatches; ++m) {
      everywhere(0, OperationKind::kAllReduce);
      for (int32_t p = 0; p + 1 < pipeline; ++p) {
        for (const auto& [key, communicator] : group) {
          if (std::get<0>(key) != 2) continue;
          const std::vector<int32_t>& members = job.communicators[static_cast<size_t>(communicator)];
          job.programs[static_cast<size_t>(members[static_cast<size_t>(p)])].push_back(
              Call(communicator, OperationKind::kSend, random, p + 1));
          job.programs[static_cast<size_t>(members[static_cast<size_t>(p) + 1])].push_back(
              Call(communicator, OperationKind::kRecv, random, p));
        }
      }
    }
    everywhere(1, OperationKind::kReduceScatter);
    everywhere(1, OperationKind::kAllGather);
    for (int32_t r = 0; r < ranks; ++r) {
      job.programs[static_cast<size_t>(r)].push_back(Call(0, OperationKind::kAllReduce, random));
    }
  }
  return job;
}

ScriptedRun RunScript(const ScriptedJob& job, ScriptedRecords records, Random& random, int64_t cut_ns) {
  Machine machine(job);
  machine.Run();
  ScriptedRun run;
  run.finished = true;
  Trace& trace = run.trace;
  trace.job = "scripted";
  const int64_t until = cut_ns >= 0 ? cut_ns : INT64_MAX;
  int64_t offset_ns = 0;
  for (size_t rank = 0; rank < job.programs.size(); ++rank) {
    const auto host = static_cast<int32_t>(rank) / job.gpus_per_host;
    if (static_cast<size_t>(host) == trace.hosts.size()) {
      trace.hosts.push_back("h" + std::to_string(host));
      offset_ns = static_cast<int64_t>(random.Below(1'000'000'000'000));
    }
    trace.ranks.push_back({.rank = static_cast<int32_t>(rank), .host = host});
    trace.first_operation.push_back(trace.operations.size());
    AppendRank(job, machine, rank, records, offset_ns, until, &trace);
    run.finished = run.finished && machine.Finished(rank);
    const bool told = job.host_stops_at[rank] != ScriptedJob::kNever || job.gpu_stops_at[rank] != ScriptedJob::kNever;
    if (!machine.Finished(rank) && !told) ++run.blocked;
    for (size_t call = 0; call < job.programs[rank].size(); ++call) {
      run.end_ns = std::max(run.end_ns, machine.TimesOf(rank, call).ended);
    }
  }
  trace.first_operation.push_back(trace.operations.size());
  for (size_t c = 0; c < job.communicators.size(); ++c) {
    trace.communicators.push_back({.name = "c" + std::to_string(c), .members = job.communicators[c]});
  }
  return run;
}

}  // namespace lockstep
