#include "detector/hang/live_frontier.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"
#include "detector/hang/collective_counters.h"
#include "detector/hang/member_table.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// A rank must be heard, and be idle, for this share of the patience before its absence counts: reports are sent twice
// a second, and the patience is four seconds or more.
constexpr double kFreshShare = 0.6;

bool ComesFromGpu(TimingQuality quality) {
  return quality == TimingQuality::kGpuTimer || quality == TimingQuality::kKernelWindow;
}

// What it reports of itself can be believed to be what it does.
bool Speaks(const RankProcess& rank) { return !rank.finalized && !rank.disabled && !rank.dead(); }

// A recorder that loses records counts them when the next call begins: a call that nothing followed may be lost too.
double LostShareOf(const Roster& roster) {
  double called = 0, lost = 0;
  for (const RankProcess& rank : roster.ranks()) {
    called += static_cast<double>(rank.called);
    lost += static_cast<double>(rank.lost);
  }
  return lost > 0 ? std::min(1.0, lost / std::max(called, lost)) : 0;
}

class Reader {
 public:
  Reader(const Roster& roster, const LiveFrontierOptions& options)
      : roster_(roster), options_(options), trace_(std::make_unique<Trace>()) {}

  LiveFrontier Run(const std::vector<DeadProcess>& dead, const std::vector<SilentHost>& silent) {
    const size_t ranks = roster_.ranks().size();
    for (const Host& host : roster_.hosts()) trace_->hosts.push_back(host.name);
    found_.unseen.assign(ranks, 0);
    found_.cut_short.assign(ranks, 0);
    found_.tells_begun.assign(ranks, 0);
    found_.tells_called.assign(ranks, 0);
    AddCommunicators();
    const int64_t patience_ns = ShortestPatienceNs();
    found_.watch = Watch{.now_ns = options_.now_ns,
                         .patience_ns = patience_ns,
                         .freshness_ns = static_cast<int64_t>(kFreshShare * static_cast<double>(patience_ns)),
                         .longest_usual_step_seconds = options_.longest_usual_step_seconds,
                         .patience_of_ns = patience_of_ns_,
                         .tells_open = std::vector<char>(ranks, 1),
                         .sees_begins = std::vector<char>(ranks, 0),
                         .excused = std::vector<char>(ranks, 0),
                         .moving = std::vector<char>(ranks, 0),
                         .host_silent_ns = std::vector<int64_t>(roster_.hosts().size(), 0)};
    for (const SilentHost& host : silent) {
      found_.watch->host_silent_ns[static_cast<size_t>(host.host_slot)] = host.silent_ns;
      for (const int32_t slot : host.ranks) found_.unseen[static_cast<size_t>(slot)] = 1;
    }
    for (const DeadProcess& process : dead) found_.died.push_back(process.rank_slot);
    for (size_t slot = 0; slot < ranks; ++slot) AddRank(slot);
    found_.lost_share = LostShareOf(roster_);
    trace_->first_operation.push_back(trace_->operations.size());
    found_.first_open = trace_->first_operation;
    for (size_t i = 0; i < trace_->operations.size(); ++i) found_.open.push_back(i);
    MemberTable members(*trace_);
    NoteProgress(members);
    Frontier frontier(*trace_, std::move(members), std::move(found_));
    return {std::move(trace_), std::move(frontier)};
  }

 private:
  const Communicator& At(int32_t slot) const { return roster_.communicators()[static_cast<size_t>(slot)]; }
  const Member& MemberAt(const RankProcess::Membership& place) const {
    return At(place.communicator_slot).members[static_cast<size_t>(place.member)];
  }

  int64_t ShortestPatienceNs() const {
    const auto shortest = std::min_element(patience_of_ns_.begin(), patience_of_ns_.end());
    return shortest == patience_of_ns_.end() ? options_.patience_ns : *shortest;
  }

  void AddCommunicators() {
    index_of_.assign(roster_.communicators().size(), -1);
    for (size_t slot = 0; slot < index_of_.size(); ++slot) {
      const Communicator& communicator = roster_.communicators()[slot];
      const bool used = std::any_of(communicator.members.begin(), communicator.members.end(),
                                    [](const Member& member) { return member.in_flight.has_value(); });
      if (!used) continue;
      index_of_[slot] = static_cast<int32_t>(slots_.size());
      slots_.push_back(static_cast<int32_t>(slot));
      patience_of_ns_.push_back(options_.patience_of_ns.empty() ? options_.patience_ns : options_.patience_of_ns[slot]);
      TraceCommunicator& added = trace_->communicators.emplace_back();
      added.name = absl::StrFormat("0x%x", communicator.id);
      added.hint = communicator.name;
      for (const Member& member : communicator.members) added.members.push_back(member.rank_slot);
    }
  }

  struct Called {
    int64_t at_ns = 0;
    TraceOperation operation;
  };

  void AddRank(size_t slot) {
    const RankProcess& rank = roster_.ranks()[slot];
    trace_->ranks.push_back({.rank = rank.rank,
                             .host = rank.host_slot,
                             .gpu = rank.gpu,
                             .pid = rank.pid,
                             .process_state = rank.state,
                             .last_seen_ns = rank.received_ns});
    trace_->first_operation.push_back(trace_->operations.size());
    found_.watch->excused[slot] = rank.finalized || rank.disabled || rank.unsized ? 1 : 0;
    found_.cut_short[slot] = IsCutShort(slot) ? 1 : 0;
    found_.tells_called[slot] = rank.tells_calls ? 1 : 0;
    // As of its newest record: a recorder that has to save time leaves begins out from then on.
    found_.watch->sees_begins[slot] = rank.tells_calls && ComesFromGpu(rank.newest_quality) ? 1 : 0;
    std::vector<Called> called;
    bool idle = true;
    bool inside = false;
    for (const RankProcess::Membership& place : rank.memberships) {
      const Member& member = MemberAt(place);
      idle = idle && member.idle_ns >= found_.watch->freshness_ns;
      if (!member.in_flight.has_value()) continue;
      inside = true;
      const bool all_told = member.further_in_flight.has_value() && member.further_in_flight->left_out == 0;
      if (!all_told) found_.watch->tells_open[slot] = 0;
      if (!Speaks(rank) || found_.unseen[slot] != 0 || found_.cut_short[slot] != 0) continue;
      AddOpen(rank, place, *member.in_flight, &called);
      if (!member.further_in_flight.has_value()) continue;
      found_.left_out += member.further_in_flight->left_out;
      for (const InFlightOperation& one : member.further_in_flight->operations) AddOpen(rank, place, one, &called);
    }
    std::stable_sort(called.begin(), called.end(), [](const Called& a, const Called& b) { return a.at_ns < b.at_ns; });
    for (const Called& one : called) {
      trace_->operations.push_back(one.operation);
      found_.watch->called_ns.push_back(one.at_ns);
    }
    // Whoever stands somewhere for long leads on to those it waits for, moving or not.
    found_.watch->moving[slot] = !rank.dead() && found_.unseen[slot] == 0 && (inside || !idle) ? 1 : 0;
  }

  // Its recorder tells no more.
  bool IsCutShort(size_t slot) const {
    const RankProcess& rank = roster_.ranks()[slot];
    if (!Speaks(rank) || found_.unseen[slot] != 0 || found_.watch->excused[slot] != 0) return false;
    return CountersStopped(rank, roster_.communicators(), found_.watch->freshness_ns);
  }

  void AddOpen(const RankProcess& rank, const RankProcess::Membership& place, const InFlightOperation& flight,
               std::vector<Called>* called) {
    const Member& member = MemberAt(place);
    // Collectives are counted: one that the counters say is over is none.
    if (!IsPointToPoint(flight.kind) && flight.sequence <= member.finished) return;
    if (ShowsBegin(flight)) found_.tells_begun[trace_->ranks.size() - 1] = 1;
    TraceOperation& open = called->emplace_back(Called{.at_ns = rank.received_ns - flight.age_ns}).operation;
    open.enqueue_ns = rank.received_ns - member.InsideNs(flight, rank.received_ns);
    open.start_ns = flight.started ? open.enqueue_ns : kNoTime;
    open.sequence = flight.sequence;
    open.bytes = flight.bytes;
    open.communicator = index_of_[static_cast<size_t>(place.communicator_slot)];
    open.peer = flight.peer;
    open.kind = flight.kind;
    open.quality = flight.timing_quality;
    open.tuning = flight.tuning;
  }

  void NoteProgress(const MemberTable& members) {
    found_.collectives.assign(members.size(), Frontier::Progress{});
    found_.entered_by_all.assign(slots_.size(), -1);
    for (size_t c = 0; c < slots_.size(); ++c) {
      const Communicator& communicator = At(slots_[c]);
      for (int32_t m = 0; m < communicator.size; ++m) {
        const Member& member = communicator.members[static_cast<size_t>(m)];
        if (member.rank_slot < 0) continue;
        Frontier::Progress& progress = found_.collectives[members.IndexOf(static_cast<int32_t>(c), m)];
        progress.entered = static_cast<int64_t>(member.enqueued);
        progress.finished = static_cast<int64_t>(member.finished);
      }
      found_.entered_by_all[c] = CountedEnteredByAll(communicator, roster_.ranks(), found_.watch->freshness_ns);
    }
    for (size_t slot = 0; slot < trace_->ranks.size(); ++slot) {
      for (const TraceOperation& open : trace_->OperationsOf(slot)) NoteTransfer(members, slot, open);
    }
  }

  void NoteTransfer(const MemberTable& members, size_t slot, const TraceOperation& open) {
    if (!IsPointToPoint(open.kind)) return;
    const int32_t member = members.MemberOf(slot, open.communicator);
    const bool sends = open.kind == OperationKind::kSend;
    const Frontier::PairKey pair = sends ? Frontier::PairKey{open.communicator, member, open.peer}
                                         : Frontier::PairKey{open.communicator, open.peer, member};
    Frontier::Progress& side = sends ? found_.pairs[pair].send : found_.pairs[pair].receive;
    const auto sequence = static_cast<int64_t>(open.sequence);
    const bool first = side.entered < 0;
    side.entered = std::max(side.entered, sequence);
    side.finished = first ? sequence - 1 : std::min(side.finished, sequence - 1);
  }

  const Roster& roster_;
  const LiveFrontierOptions& options_;
  std::unique_ptr<Trace> trace_;
  Frontier::Content found_;
  std::vector<int32_t> index_of_;        // by communicator slot; -1 = nothing is in flight there
  std::vector<int32_t> slots_;           // by communicator of the trace
  std::vector<int64_t> patience_of_ns_;  // by communicator of the trace
};

}  // namespace

bool ShowsBegin(const InFlightOperation& operation) {
  if (!operation.started) return false;
  return operation.timing_quality == TimingQuality::kUnknown || ComesFromGpu(operation.timing_quality);
}

LiveFrontier ReadRoster(const Roster& roster, const std::vector<DeadProcess>& dead,
                        const std::vector<SilentHost>& silent, const LiveFrontierOptions& options) {
  return Reader(roster, options).Run(dead, silent);
}

}  // namespace lockstep
