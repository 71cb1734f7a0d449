#include "detector/hang/live_frontier.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"
#include "detector/hang/member_table.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

// A rank must be heard, and be idle, for this share of the patience before its absence counts: reports are sent twice
// a second, and the patience is four seconds or more.
constexpr double kFreshShare = 0.6;

class Reader {
 public:
  Reader(const Roster& roster, const LiveFrontierOptions& options)
      : roster_(roster), options_(options), trace_(std::make_unique<Trace>()) {}

  LiveFrontier Run(const std::vector<DeadProcess>& dead, const std::vector<SilentHost>& silent) {
    const size_t ranks = roster_.ranks().size();
    for (const Host& host : roster_.hosts()) trace_->hosts.push_back(host.name);
    found_.unseen.assign(ranks, 0);
    found_.tells_begun.assign(ranks, 0);  // what is in flight tells it only beside what others have begun
    found_.watch = Watch{.now_ns = options_.now_ns,
                         .patience_ns = options_.patience_ns,
                         .freshness_ns = FreshnessNs(),
                         .longest_usual_step_seconds = options_.longest_usual_step_seconds,
                         .excused = std::vector<char>(ranks, 0),
                         .moving = std::vector<char>(ranks, 0),
                         .host_silent_ns = std::vector<int64_t>(roster_.hosts().size(), 0)};
    for (const SilentHost& host : silent) {
      found_.watch->host_silent_ns[static_cast<size_t>(host.host_slot)] = host.silent_ns;
      for (const int32_t slot : host.ranks) found_.unseen[static_cast<size_t>(slot)] = 1;
    }
    for (const DeadProcess& process : dead) found_.died.push_back(process.rank_slot);
    AddCommunicators();
    for (size_t slot = 0; slot < ranks; ++slot) AddRank(slot);
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

  int64_t FreshnessNs() const { return static_cast<int64_t>(kFreshShare * static_cast<double>(options_.patience_ns)); }

  // What it reports of itself can be believed to be what it does.
  static bool Speaks(const RankProcess& rank) { return !rank.finalized && !rank.disabled && !rank.dead(); }

  void AddCommunicators() {
    index_of_.assign(roster_.communicators().size(), -1);
    for (size_t slot = 0; slot < index_of_.size(); ++slot) {
      const Communicator& communicator = roster_.communicators()[slot];
      const bool used = std::any_of(communicator.members.begin(), communicator.members.end(),
                                    [](const Member& member) { return member.in_flight.has_value(); });
      if (!used) continue;
      index_of_[slot] = static_cast<int32_t>(slots_.size());
      slots_.push_back(static_cast<int32_t>(slot));
      TraceCommunicator& added = trace_->communicators.emplace_back();
      added.name = absl::StrFormat("0x%x", communicator.id);
      added.hint = communicator.name;
      for (const Member& member : communicator.members) added.members.push_back(member.rank_slot);
    }
  }

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
    const size_t first = trace_->operations.size();
    bool idle = true;
    bool inside = false;
    for (const RankProcess::Membership& place : rank.memberships) {
      const Member& member = MemberAt(place);
      idle = idle && member.idle_ns >= found_.watch->freshness_ns;
      if (!member.in_flight.has_value()) continue;
      inside = true;
      if (Speaks(rank) && found_.unseen[slot] == 0) AddOpen(rank, place, *member.in_flight, member.finished);
    }
    std::sort(trace_->operations.begin() + static_cast<std::ptrdiff_t>(first), trace_->operations.end(),
              [](const TraceOperation& a, const TraceOperation& b) { return a.enqueue_ns < b.enqueue_ns; });
    // Whoever stands somewhere for long leads on to those it waits for, moving or not.
    found_.watch->moving[slot] = !rank.dead() && found_.unseen[slot] == 0 && (inside || !idle) ? 1 : 0;
  }

  void AddOpen(const RankProcess& rank, const RankProcess::Membership& place, const InFlightOperation& flight,
               uint64_t finished) {
    // Collectives are counted: one that the counters say is over is none.
    if (flight.kind != OperationKind::kSend && flight.kind != OperationKind::kRecv && flight.sequence <= finished)
      return;
    TraceOperation& open = trace_->operations.emplace_back();
    open.enqueue_ns = rank.received_ns - flight.age_ns;
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
      found_.entered_by_all[c] = LeftLongAgo(communicator);
    }
    for (size_t slot = 0; slot < trace_->ranks.size(); ++slot) {
      for (const TraceOperation& open : trace_->OperationsOf(slot)) NoteTransfer(members, slot, open);
    }
  }

  // The highest operation that some member had left before those that are inside of it, or of an earlier one, were
  // heard last, and that nobody leaves before all have entered.
  int64_t LeftLongAgo(const Communicator& communicator) const {
    int64_t heard_ns = INT64_MAX;
    for (const Member& member : communicator.members) {
      if (!member.in_flight.has_value()) continue;
      if (!IsSynchronous(member.in_flight->kind)) return -1;
      heard_ns = std::min(heard_ns, roster_.ranks()[static_cast<size_t>(member.rank_slot)].received_ns);
    }
    int64_t left = -1;
    for (const Member& member : communicator.members) {
      if (member.rank_slot < 0) continue;
      const int64_t left_ns = roster_.ranks()[static_cast<size_t>(member.rank_slot)].received_ns - member.idle_ns;
      if (heard_ns - left_ns < found_.watch->freshness_ns) continue;
      left = std::max(left, static_cast<int64_t>(member.finished));
    }
    return left;
  }

  void NoteTransfer(const MemberTable& members, size_t slot, const TraceOperation& open) {
    if (!IsPointToPoint(open.kind)) return;
    const int32_t member = members.MemberOf(slot, open.communicator);
    const bool sends = open.kind == OperationKind::kSend;
    const Frontier::PairKey pair = sends ? Frontier::PairKey{open.communicator, member, open.peer}
                                         : Frontier::PairKey{open.communicator, open.peer, member};
    Frontier::Progress& side = sends ? found_.pairs[pair].send : found_.pairs[pair].receive;
    side.entered = static_cast<int64_t>(open.sequence);
    side.finished = side.entered - 1;
  }

  const Roster& roster_;
  const LiveFrontierOptions& options_;
  std::unique_ptr<Trace> trace_;
  Frontier::Content found_;
  std::vector<int32_t> index_of_;  // by communicator slot; -1 = nothing is in flight there
  std::vector<int32_t> slots_;     // by communicator of the trace
};

}  // namespace

LiveFrontier ReadRoster(const Roster& roster, const std::vector<DeadProcess>& dead,
                        const std::vector<SilentHost>& silent, const LiveFrontierOptions& options) {
  return Reader(roster, options).Run(dead, silent);
}

}  // namespace lockstep
