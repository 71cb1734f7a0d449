#include "detector/model/roster.h"

#include <algorithm>

namespace lockstep {
namespace {

// A dead or orderly ended process never takes a rank over from a living one.
bool Over(const RankView& view) {
  return view.finalized || view.process_state == ProcessState::kGone || view.process_state == ProcessState::kZombie;
}

bool IsCounted(const InFlightOperation& operation) {
  return operation.kind != OperationKind::kSend && operation.kind != OperationKind::kRecv;
}

// Hosts call operations seconds before their GPUs come to them: an operation is the oldest since the one before it
// ended. `member` is as it was in the report before.
int64_t OldestSinceNs(const Member& member, bool known, const CommunicatorView& view, int64_t received_ns) {
  if (!view.oldest_in_flight.has_value()) return 0;
  const InFlightOperation& now = *view.oldest_in_flight;
  if (known && !member.in_flight.has_value()) return received_ns - now.age_ns;
  if (known && member.in_flight->kind == now.kind && member.in_flight->sequence == now.sequence &&
      member.in_flight->peer == now.peer) {
    return member.oldest_since_ns;
  }
  // Another one ended, at the latest when the counters changed last; transfers between two ranks are not counted.
  if (IsCounted(now)) return received_ns - std::min(now.age_ns, view.idle_ns);
  return known ? received_ns : received_ns - now.age_ns;
}

// Of each member: everybody connects (as hang_timeout.cc's start-up).
constexpr uint64_t kFirstStays = 3;

void NoteRecords(const RankView& view, RankProcess* process) {
  for (const CommunicatorView& communicator : view.communicators) {
    for (const Operation& operation : communicator.operations) {
      process->tells_calls |= TellsCall(operation.quality, operation.enqueue_ns, operation.start_ns);
      if (operation.end_ns < process->newest_end_ns) continue;
      process->newest_end_ns = operation.end_ns;
      process->newest_quality = operation.quality;
    }
  }
}

void NoteEnds(const CommunicatorView& view, int32_t slot, RankProcess* process, Communicator* communicator) {
  for (const Operation& operation : view.operations) {
    if (operation.end_ns >= process->last.end_ns) {
      process->last = {slot, operation.kind, operation.sequence, operation.end_ns};
    }
    if (operation.quality == TimingQuality::kHostEnqueue) continue;  // its end may not have been seen
    const bool together = operation.kind != OperationKind::kUnknown && IsSynchronous(operation.kind);
    if (together && operation.sequence > communicator->entered_by_all) {
      communicator->entered_by_all = operation.sequence;
      communicator->entered_by_all_since_ns = process->received_ns;
    }
    Stays& stays = communicator->StaysOf(operation.kind);
    if (++stays.known <= kFirstStays * static_cast<uint64_t>(communicator->size)) continue;
    stays.longest_ns = std::max(stays.longest_ns, operation.end_ns - operation.start_ns);
  }
}

// A report that knows more than an earlier one about the same end changes what is known, not the moment.
void NoteDeath(const RankView& view, int64_t received_ns, int64_t host_ns, int64_t waited_ns, RankProcess* process) {
  const bool is_news = process->gone_since_ns == 0;
  if (is_news) {
    process->gone_since_ns = received_ns;
    const int64_t alive_ns = process->received_ns == 0 ? received_ns : process->received_ns;
    process->end = view.end.value_or(ProcessEnd{.uncertain_ns = received_ns - alive_ns});
    process->ended_ns = received_ns - waited_ns - process->end.age_ns;
    process->ended_host_ns = host_ns - process->end.age_ns;
  } else if (view.end.has_value() && view.end->known() && !process->end.known()) {
    process->end.source = view.end->source;
    process->end.code = view.end->code;
    process->end.signal = view.end->signal;
    process->end.core_dumped = view.end->core_dumped;
  }
}

}  // namespace

int32_t Roster::SlotOfRank(int32_t rank) const {
  if (rank < 0 || static_cast<size_t>(rank) >= slot_of_rank_.size()) return -1;
  return slot_of_rank_[static_cast<size_t>(rank)];
}

int32_t Roster::SlotOfCommunicator(CommunicatorId id) const {
  const auto found = slot_of_communicator_.find(id);
  return found == slot_of_communicator_.end() ? -1 : found->second;
}

const std::string& Roster::HostName(int32_t rank_slot) const {
  return hosts_[static_cast<size_t>(ranks_[static_cast<size_t>(rank_slot)].host_slot)].name;
}

Roster::Admission Roster::Admit(const HostReport& report, const RankView& view) const {
  const bool is_retired =
      !retired_.empty() && retired_.contains(ProcessKey(report.host, view.pid, view.process_start_ticks));
  const int32_t slot = SlotOfRank(view.rank);
  if (slot < 0) return is_retired ? Admission::kIgnored : Admission::kAccepted;
  const RankProcess& known = ranks_[static_cast<size_t>(slot)];
  const bool same_host = HostName(slot) == report.host;
  if (same_host && known.pid == view.pid && known.process_start_ticks == view.process_start_ticks) {
    const bool is_older = !known.cpu.empty() && report.host_ns < known.cpu.back().host_ns;
    return is_older ? Admission::kIgnored : Admission::kAccepted;
  }
  const bool known_is_over = known.finalized || known.dead();
  if (!Over(view) && !known_is_over && Lives(known, report)) return Admission::kContested;
  if (is_retired || (same_host && view.process_start_ticks < known.process_start_ticks)) return Admission::kIgnored;
  if (Over(view) && !known_is_over) return Admission::kIgnored;
  return Admission::kNewIncarnation;
}

// Agents tell of the end of a process for a while, and then leave it out.
bool Roster::Lives(const RankProcess& known, const HostReport& report) const {
  const Host& host = hosts_[static_cast<size_t>(known.host_slot)];
  if (host.name != report.host) {
    return host.reported_ns == known.received_ns && report.due_ns() - known.alive_ns < limits_.host_silent_ns;
  }
  return limits_.host_silent_ns > 0 && std::any_of(report.ranks.begin(), report.ranks.end(), [&](const RankView& view) {
           return view.pid == known.pid && view.process_start_ticks == known.process_start_ticks && !Over(view);
         });
}

int32_t Roster::TouchHost(const std::string& host, int64_t received_ns) {
  const auto [it, inserted] = slot_of_host_.try_emplace(host, static_cast<int32_t>(hosts_.size()));
  if (inserted) {
    if (hosts_.size() >= static_cast<size_t>(limits_.max_ranks)) {
      slot_of_host_.erase(it);
      ++refused_;
      return -1;
    }
    hosts_.push_back({.name = host});
  }
  const int32_t slot = it->second;
  hosts_[static_cast<size_t>(slot)].received_ns = received_ns;
  hosts_[static_cast<size_t>(slot)].reported_ns = received_ns;
  return slot;
}

void Roster::ForgiveSilence(int64_t now_ns) {
  for (Host& host : hosts_) host.received_ns = std::max(host.received_ns, now_ns);
  for (RankProcess& process : ranks_) process.alive_ns = std::max(process.alive_ns, now_ns);
}

RankProcess* Roster::Update(int32_t host_slot, const RankView& view, int64_t received_ns, int64_t host_ns,
                            int64_t waited_ns) {
  if (view.rank < 0 || view.rank >= limits_.max_ranks || host_slot < 0) {
    ++refused_;
    return nullptr;
  }
  const auto rank = static_cast<size_t>(view.rank);
  if (rank >= slot_of_rank_.size()) slot_of_rank_.resize(rank + 1, -1);
  if (slot_of_rank_[rank] < 0) {
    slot_of_rank_[rank] = static_cast<int32_t>(ranks_.size());
    ranks_.emplace_back();
  }
  RankProcess& process = ranks_[static_cast<size_t>(slot_of_rank_[rank])];
  process.rank = view.rank;
  process.host_slot = host_slot;
  process.pid = view.pid;
  process.process_start_ticks = view.process_start_ticks;
  process.local_rank = view.local_rank;
  process.gpu = view.gpu;
  process.gpu_uuid = view.gpu_uuid;
  process.gpu_pci_address = view.gpu_pci_address;
  process.pod = view.pod;
  process.state = view.process_state;
  process.finalized = process.finalized || view.finalized;
  process.disabled = view.disabled;
  process.unsized = false;
  process.can_watch_transfers = view.can_watch_transfers;
  process.called = view.operations_enqueued;
  process.lost = view.operations_lost;
  NoteRecords(view, &process);
  if (process.dead()) NoteDeath(view, received_ns, host_ns, waited_ns, &process);
  if (!process.dead()) process.gone_since_ns = 0;
  process.received_ns = received_ns;
  process.alive_ns = std::max(process.alive_ns, received_ns - waited_ns);
  if (view.process_state != ProcessState::kStopped) process.stopped_since_ns = 0;
  if (view.process_state == ProcessState::kStopped && process.stopped_since_ns == 0) {
    process.stopped_since_ns = received_ns;
  }
  if (process.cpu.size() >= RankProcess::kCpuSamples) process.cpu.erase(process.cpu.begin());
  process.cpu.push_back({.host_ns = host_ns,
                         .cpu_ns = view.cpu_ns,
                         .operations_finished = view.operations_finished,
                         .uninterruptible = view.process_state == ProcessState::kUninterruptible});
  world_size_ = std::max(world_size_, std::min(view.world_size, limits_.max_ranks));
  return &process;
}

Roster::Place Roster::Join(int32_t rank_slot, const CommunicatorView& view, int32_t size) {
  if (size < 1 || view.communicator_rank < 0 || view.communicator_rank >= size) {
    ++refused_;
    return {};
  }
  auto it = slot_of_communicator_.find(view.id);
  if (it == slot_of_communicator_.end()) {
    if (communicators_.size() >= static_cast<size_t>(limits_.max_communicators) ||
        memberships_ + size > limits_.max_memberships) {
      ++refused_;
      return {};
    }
    memberships_ += size;
    it = slot_of_communicator_.emplace(view.id, static_cast<int32_t>(communicators_.size())).first;
    Communicator& added = communicators_.emplace_back();
    added.id = view.id;
    added.name = view.name;
    added.size = size;
    added.members.resize(static_cast<size_t>(size));
  }
  Communicator& communicator = communicators_[static_cast<size_t>(it->second)];
  const bool contradicts = communicator.size != size;
  Member* const member = contradicts ? nullptr : &communicator.members[static_cast<size_t>(view.communicator_rank)];
  if (member == nullptr || (member->rank_slot >= 0 && member->rank_slot != rank_slot)) {
    ++refused_;
    return {};
  }
  const bool known = member->rank_slot >= 0;
  if (!known) {
    member->rank_slot = rank_slot;
    ++communicator.reported;
    ranks_[static_cast<size_t>(rank_slot)].memberships.push_back({it->second, view.communicator_rank});
  }
  if (communicator.name.empty()) communicator.name = view.name;
  member->freed = view.freed;
  member->enqueued = view.enqueued;
  member->started = view.started;
  member->finished = view.finished;
  member->idle_ns = view.idle_ns;
  member->oldest_since_ns = OldestSinceNs(*member, known, view, ranks_[static_cast<size_t>(rank_slot)].received_ns);
  member->in_flight = view.oldest_in_flight;
  member->further_in_flight = view.further_in_flight;
  NoteEnds(view, it->second, &ranks_[static_cast<size_t>(rank_slot)], &communicator);
  return {it->second, view.communicator_rank};
}

void Roster::Abandon(CommunicatorId id) {
  const int32_t slot = SlotOfCommunicator(id);
  if (slot < 0) return;
  for (Member& member : communicator(slot).members) {
    member.in_flight.reset();
    member.further_in_flight.reset();
    member.idle_ns = 0;
    member.freed = true;
  }
}

void Roster::Retire() {
  // Of the incarnations before the last, nobody reports any more: the set stays as large as one job.
  retired_.clear();
  for (const RankProcess& process : ranks_) {
    retired_.emplace(hosts_[static_cast<size_t>(process.host_slot)].name, process.pid, process.process_start_ticks);
  }
  ranks_.clear();
  slot_of_rank_.clear();
  communicators_.clear();
  slot_of_communicator_.clear();
  world_size_ = -1;
  memberships_ = 0;
}

}  // namespace lockstep
