#include "detector/testing/counter_hangs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace lockstep::old {
namespace {

// A member's report must show, this share of the timeout after the waiting one entered, that it has not entered.
constexpr double kFreshShare = 0.6;

// Ranks inside one operation for too long: one entry per operation, told by the rank that entered it first.
struct Wait {
  int32_t communicator_slot = -1;
  int32_t member = -1;
  InFlightOperation operation;
  int64_t entered_ns = 0;  // collector's clock, as far as reports tell
  int32_t ranks = 0;
  std::vector<int32_t> first_ranks;  // at most kMaxVictims
  int32_t node = -1;                 // of the search
  bool mismatch = false;
};

bool PointToPoint(OperationKind kind) { return kind == OperationKind::kSend || kind == OperationKind::kRecv; }

// Kinds whose payload must be the same on all members.
bool SameBytesNeeded(OperationKind kind) {
  return kind == OperationKind::kAllReduce || kind == OperationKind::kBroadcast || kind == OperationKind::kReduce;
}

// Something to sort by.
using TuningKey = std::tuple<CollectiveAlgorithm, CollectiveProtocol, uint16_t>;
TuningKey KeyOf(const Tuning& tuning) { return {tuning.algorithm, tuning.protocol, tuning.channels}; }
Tuning TuningOf(const TuningKey& key) { return {std::get<0>(key), std::get<1>(key), std::get<2>(key)}; }

class Search {
 public:
  Search(const Roster& roster, const HangSearchOptions& options) : roster_(roster), options_(options) {}

  HangSearch Run() {
    CollectWaits();
    std::vector<int32_t> stuck;
    for (size_t rank = 0; rank < waits_.size(); ++rank) {
      if (!waits_[rank].empty()) stuck.push_back(static_cast<int32_t>(rank));
    }
    found_.stuck_ranks = static_cast<int32_t>(stuck.size());
    std::sort(stuck.begin(), stuck.end(), [this](int32_t a, int32_t b) { return Rank(a).rank < Rank(b).rank; });
    for (auto& [key, wait] : operations_) {
      NoteMismatch(&wait);
      wait.node = static_cast<int32_t>(waits_.size() + wait_of_node_.size());
      wait_of_node_.push_back(&wait);
    }
    color_.assign(waits_.size() + wait_of_node_.size(), kNew);
    for (const int32_t rank : stuck) Follow(rank);
    for (auto& [key, hang] : hangs_) {
      std::sort(hang.culprits.begin(), hang.culprits.end(),
                [this](int32_t a, int32_t b) { return Rank(a).rank < Rank(b).rank; });
      found_.hangs.push_back(std::move(hang));
    }
    return std::move(found_);
  }

 private:
  enum Color : char { kNew, kOpen, kDone };
  using Key = std::pair<int, std::vector<int32_t>>;
  using OperationKey = std::tuple<int32_t, int32_t, uint64_t>;  // communicator, member + 1 or 0 = all, sequence

  const RankProcess& Rank(int32_t slot) const { return roster_.ranks()[static_cast<size_t>(slot)]; }
  const Communicator& At(int32_t slot) const { return roster_.communicators()[static_cast<size_t>(slot)]; }
  bool Excused(int32_t slot) const { return Rank(slot).finalized || Rank(slot).disabled || Rank(slot).unsized; }

  void CollectWaits() {
    waits_.resize(roster_.ranks().size());
    bool all_outside = !roster_.ranks().empty();
    int64_t shortest_idle_ns = INT64_MAX;
    for (size_t slot = 0; slot < waits_.size(); ++slot) {
      const RankProcess& rank = Rank(static_cast<int32_t>(slot));
      if (rank.finalized || rank.disabled || rank.dead()) {
        all_outside = all_outside && !rank.disabled;
        continue;
      }
      for (const RankProcess::Membership& place : rank.memberships) {
        const Member& member = At(place.communicator_slot).members[static_cast<size_t>(place.member)];
        shortest_idle_ns = std::min(shortest_idle_ns, member.idle_ns);
        if (!member.in_flight.has_value()) continue;
        all_outside = false;
        if (member.in_flight->age_ns < options_.timeout_ns) continue;
        waits_[slot].push_back(AddWait(static_cast<int32_t>(slot), place, *member.in_flight));
        found_.longest_wait_ns = std::max(found_.longest_wait_ns, member.in_flight->age_ns);
      }
    }
    found_.all_outside = all_outside && shortest_idle_ns != INT64_MAX && shortest_idle_ns >= options_.timeout_ns;
    found_.shortest_idle_ns = found_.all_outside ? shortest_idle_ns : 0;
  }

  Wait* AddWait(int32_t rank_slot, const RankProcess::Membership& place, const InFlightOperation& operation) {
    // Sends and receives count per pair and direction, so that each is an operation of its own.
    const bool alone = PointToPoint(operation.kind);
    const OperationKey key{place.communicator_slot, alone ? place.member + 1 : 0, operation.sequence};
    Wait& wait = operations_[key];
    ++wait.ranks;
    if (wait.first_ranks.size() < kMaxVictims) wait.first_ranks.push_back(rank_slot);
    const int64_t entered_ns = Rank(rank_slot).received_ns - operation.age_ns;
    const bool earlier = wait.ranks == 1 || entered_ns < wait.entered_ns ||
                         (entered_ns == wait.entered_ns && place.member < wait.member);
    if (!earlier) return &wait;
    wait.communicator_slot = place.communicator_slot;
    wait.member = place.member;
    wait.operation = operation;
    wait.entered_ns = entered_ns;
    return &wait;
  }

  // Whether the newest report of the member is recent enough to say that it let the waiting one wait.
  bool Fresh(const RankProcess& member, const Wait& wait) const {
    if (member.dead()) return true;
    return static_cast<double>(member.received_ns - wait.entered_ns) >=
           kFreshShare * static_cast<double>(options_.timeout_ns);
  }

  // Whether the rank itself has done nothing for long. One that has just been released is on its way, not the cause.
  bool StandsStill(const RankProcess& rank) const {
    if (rank.dead()) return true;
    return std::all_of(rank.memberships.begin(), rank.memberships.end(), [&](const RankProcess::Membership& place) {
      const Member& member = At(place.communicator_slot).members[static_cast<size_t>(place.member)];
      return static_cast<double>(member.idle_ns) >= kFreshShare * static_cast<double>(options_.timeout_ns);
    });
  }

  // The members that the wait is for: those that have not entered. `unknown` = some member cannot be judged.
  std::vector<int32_t> Blockers(const Wait& wait, bool* unknown) const {
    std::vector<int32_t> blockers;
    const Communicator& communicator = At(wait.communicator_slot);
    *unknown = false;
    if (PointToPoint(wait.operation.kind)) {
      const int32_t peer = wait.operation.peer;
      if (peer < 0 || peer >= communicator.size || communicator.members[static_cast<size_t>(peer)].rank_slot < 0) {
        *unknown = true;
        return blockers;
      }
      const Member& other = communicator.members[static_cast<size_t>(peer)];
      const bool meets = other.in_flight.has_value() && PointToPoint(other.in_flight->kind) &&
                         other.in_flight->kind != wait.operation.kind && other.in_flight->peer == wait.member;
      if (!meets) blockers.push_back(other.rank_slot);
      return blockers;
    }
    for (const Member& member : communicator.members) {
      if (member.rank_slot < 0) {
        *unknown = true;
      } else if (member.enqueued < wait.operation.sequence) {
        if (Excused(member.rank_slot) || !Fresh(Rank(member.rank_slot), wait)) {
          *unknown = true;
        } else {
          blockers.push_back(member.rank_slot);
        }
      }
    }
    return blockers;
  }

  // Follows the waits of a rank to their roots, depth first. Nodes are ranks and the operations they wait in: a rank
  // leads to its operations, an operation to the members that have not entered it. An operation that many ranks wait
  // in is looked at once, and still every cycle through any of them is met. A stack instead of recursion.
  void Follow(int32_t start) {
    std::vector<int32_t> stack = {start};
    std::vector<int32_t> path;
    while (!stack.empty()) {
      const int32_t node = stack.back();
      Color& color = color_[static_cast<size_t>(node)];
      if (color != kNew) {
        if (color == kOpen && !path.empty() && path.back() == node) {
          color = kDone;
          path.pop_back();
        }
        stack.pop_back();
        continue;
      }
      color = kOpen;
      path.push_back(node);
      if (IsOperation(node)) {
        Expand(WaitOf(node), path, &stack);
        continue;
      }
      for (const Wait* const wait : waits_[static_cast<size_t>(node)]) Visit(wait->node, *wait, path, &stack);
    }
  }

  bool IsOperation(int32_t node) const { return static_cast<size_t>(node) >= waits_.size(); }
  const Wait& WaitOf(int32_t node) const { return *wait_of_node_[static_cast<size_t>(node) - waits_.size()]; }

  void Visit(int32_t node, const Wait& wait, const std::vector<int32_t>& path, std::vector<int32_t>* stack) {
    const Color color = color_[static_cast<size_t>(node)];
    if (color == kNew) stack->push_back(node);
    if (color == kOpen) AddDeadlock(wait, path, node);
  }

  void Expand(const Wait& wait, const std::vector<int32_t>& path, std::vector<int32_t>* stack) {
    bool unknown = false;
    const std::vector<int32_t> blockers = Blockers(wait, &unknown);
    if (blockers.empty() && !unknown) {
      if (!wait.mismatch) AddInCommunication(wait);
      return;
    }
    for (const int32_t blocker : blockers) {
      if (IsInside(blocker)) {
        Visit(blocker, wait, path, stack);
      } else if (StandsStill(Rank(blocker))) {
        // Each rank that is waited for and waits for nobody is a cause of its own.
        AddHang(HangKind::kNotEntered, {blocker}, wait);
      }
    }
  }

  // Inside any operation, whether for too long or not: then it is not the root.
  bool IsInside(int32_t slot) const {
    if (Rank(slot).dead()) return false;
    if (!waits_[static_cast<size_t>(slot)].empty()) return true;
    for (const RankProcess::Membership& place : Rank(slot).memberships) {
      if (At(place.communicator_slot).members[static_cast<size_t>(place.member)].in_flight.has_value()) return true;
    }
    return false;
  }

  Hang& AddHang(HangKind kind, std::vector<int32_t> culprits, const Wait& wait) {
    Hang& hang = hangs_[{static_cast<int>(kind), culprits}];
    if (hang.culprits.empty() || wait.operation.age_ns > hang.longest_wait_ns) {
      hang.kind = kind;
      hang.culprits = std::move(culprits);
      hang.communicator_slot = wait.communicator_slot;
      hang.sequence = wait.operation.sequence;
      hang.operation = wait.operation.kind;
      hang.tuning = wait.operation.tuning;
      hang.longest_wait_ns = wait.operation.age_ns;
    }
    hang.waiting += wait.ranks;
    for (const int32_t victim : wait.first_ranks) {
      if (hang.victims.size() < kMaxVictims) hang.victims.push_back(victim);
    }
    return hang;
  }

  // All have entered. Those that cannot move (stopped, dead, waiting for a device) are the cause; otherwise those that
  // are still inside while others have left; otherwise nobody can be told apart.
  void AddInCommunication(const Wait& wait) {
    std::vector<int32_t> halted, inside, members;
    for (const Member& member : At(wait.communicator_slot).members) {
      if (member.rank_slot < 0) continue;
      const RankProcess& rank = Rank(member.rank_slot);
      members.push_back(member.rank_slot);
      if (rank.finalized) continue;
      if (rank.dead() || rank.state == ProcessState::kStopped || rank.state == ProcessState::kUninterruptible) {
        halted.push_back(member.rank_slot);
      }
      if (member.finished < wait.operation.sequence) inside.push_back(member.rank_slot);
    }
    if (PointToPoint(wait.operation.kind)) {
      const Communicator& communicator = At(wait.communicator_slot);
      members = {communicator.members[static_cast<size_t>(wait.member)].rank_slot,
                 communicator.members[static_cast<size_t>(wait.operation.peer)].rank_slot};
      inside = members;
      std::erase_if(halted,
                    [&](int32_t slot) { return std::find(members.begin(), members.end(), slot) == members.end(); });
    }
    if (!halted.empty()) {
      for (const int32_t slot : halted) AddHang(HangKind::kInCommunication, {slot}, wait);
      return;
    }
    if (std::any_of(members.begin(), members.end(), [this](int32_t slot) { return Rank(slot).unsized; })) return;
    if (AddQueued(wait, members)) return;
    if (inside.empty()) return;  // progress counters and operations contradict each other: nobody is stuck for sure
    const bool some_left = inside.size() * 2 <= members.size();
    std::vector<int32_t> suspects = some_left ? inside : members;
    std::sort(suspects.begin(), suspects.end());
    AddHang(HangKind::kInCommunication, suspects, wait).certain = some_left && suspects.size() == 1;
  }

  // Hosts call ahead of their GPUs: who has called and not begun is held up by what its GPU does before. That is
  // another operation, which is followed on its own, or else the GPU itself. True if the operation is no stuck
  // transfer.
  bool AddQueued(const Wait& wait, const std::vector<int32_t>& members) {
    std::vector<int32_t> queued;
    bool held_up = false;
    bool begun = false;
    for (const int32_t slot : members) {
      const InFlightOperation* const own = InFlightIn(slot, wait.communicator_slot);
      if (own == nullptr) continue;
      if (!PointToPoint(own->kind) && own->sequence != wait.operation.sequence) continue;
      begun = begun || own->started;
      if (own->started) continue;
      const bool elsewhere = HasBegunAny(slot);
      held_up = held_up || elsewhere;
      if (!elsewhere) queued.push_back(slot);
    }
    if (held_up) return true;
    // Where nobody is seen to begin, the recorder cannot tell.
    if (!begun || queued.empty()) return false;
    for (const int32_t slot : queued) AddHang(HangKind::kInCommunication, {slot}, wait);
    return true;
  }

  // nullptr = nothing is in flight there.
  const InFlightOperation* InFlightIn(int32_t rank_slot, int32_t communicator_slot) const {
    for (const RankProcess::Membership& place : Rank(rank_slot).memberships) {
      if (place.communicator_slot != communicator_slot) continue;
      const Member& member = At(communicator_slot).members[static_cast<size_t>(place.member)];
      return member.in_flight.has_value() ? &*member.in_flight : nullptr;
    }
    return nullptr;
  }

  bool HasBegunAny(int32_t rank_slot) const {
    const std::vector<RankProcess::Membership>& places = Rank(rank_slot).memberships;
    return std::any_of(places.begin(), places.end(), [this](const RankProcess::Membership& place) {
      const auto& own = At(place.communicator_slot).members[static_cast<size_t>(place.member)].in_flight;
      return own.has_value() && own->started;
    });
  }

  void AddDeadlock(const Wait& wait, const std::vector<int32_t>& path, int32_t closes_at) {
    std::vector<int32_t> cycle;
    for (auto it = std::find(path.begin(), path.end(), closes_at); it != path.end(); ++it) {
      if (!IsOperation(*it)) cycle.push_back(*it);
    }
    std::sort(cycle.begin(), cycle.end());
    AddHang(HangKind::kDeadlock, std::move(cycle), wait);
  }

  // Members inside the same operation by number that is not the same operation: the smaller party differs.
  void NoteMismatch(Wait* noted) {
    const Wait& wait = *noted;
    if (PointToPoint(wait.operation.kind)) return;
    std::map<std::pair<int, uint64_t>, std::vector<int32_t>> parties;
    for (const Member& member : At(wait.communicator_slot).members) {
      if (member.rank_slot < 0 || !member.in_flight.has_value()) continue;
      const InFlightOperation& other = *member.in_flight;
      if (other.sequence != wait.operation.sequence || PointToPoint(other.kind)) continue;
      const uint64_t bytes = SameBytesNeeded(other.kind) ? other.bytes : 0;
      parties[{static_cast<int>(other.kind), bytes}].push_back(member.rank_slot);
    }
    if (parties.size() < 2) return NoteTuningMismatch(noted);
    noted->mismatch = true;
    auto largest = parties.begin();
    for (auto it = parties.begin(); it != parties.end(); ++it) {
      if (it->second.size() > largest->second.size()) largest = it;
    }
    std::vector<int32_t> differing;
    for (auto it = parties.begin(); it != parties.end(); ++it) {
      if (it != largest) differing.insert(differing.end(), it->second.begin(), it->second.end());
    }
    std::sort(differing.begin(), differing.end());
    AddHang(HangKind::kMismatch, std::move(differing), wait);
  }

  // Members inside the same operation that carry it out differently (environments that differ between hosts): they
  // never meet. What a recorder does not know differs from nothing; kernels on symmetric memory and copy engines choose
  // their channels for themselves.
  void NoteTuningMismatch(Wait* noted) {
    const Wait& wait = *noted;
    std::map<TuningKey, std::vector<int32_t>> parties;
    for (const Member& member : At(wait.communicator_slot).members) {
      if (member.rank_slot < 0 || !member.in_flight.has_value()) continue;
      const InFlightOperation& other = *member.in_flight;
      if (other.sequence != wait.operation.sequence || PointToPoint(other.kind)) continue;
      if (other.tuning.algorithm >= CollectiveAlgorithm::kSymmetric) return;
      if (other.tuning != Tuning{}) parties[KeyOf(other.tuning)].push_back(member.rank_slot);
    }
    if (parties.size() < 2) return;
    const auto largest = std::max_element(
        parties.begin(), parties.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    std::vector<int32_t> differing;
    std::optional<Tuning> other_tuning;
    bool certain = true;
    for (const auto& [key, ranks] : parties) {
      if (!Contradict(TuningOf(key), TuningOf(largest->first))) continue;
      if (!other_tuning.has_value()) other_tuning = TuningOf(key);
      differing.insert(differing.end(), ranks.begin(), ranks.end());
      // Two parties of one size: nobody can say which of them is wrong.
      certain = certain && ranks.size() < largest->second.size();
    }
    if (differing.empty()) return;
    if (!certain) differing.insert(differing.end(), largest->second.begin(), largest->second.end());
    std::sort(differing.begin(), differing.end());
    noted->mismatch = true;
    Hang& hang = AddHang(HangKind::kMismatch, std::move(differing), wait);
    hang.tuning = TuningOf(largest->first);
    hang.other_tuning = other_tuning;
    hang.certain = certain;
  }

  const Roster& roster_;
  const HangSearchOptions& options_;
  std::map<OperationKey, Wait> operations_;
  std::vector<std::vector<Wait*>> waits_;  // by rank slot
  std::vector<const Wait*> wait_of_node_;  // by node, after those of the ranks
  std::vector<Color> color_;               // by node: rank slots, then operations
  std::map<Key, Hang> hangs_;              // by kind and culprits: one each
  HangSearch found_;
};

}  // namespace

HangSearch SearchHangs(const Roster& roster, const HangSearchOptions& options) { return Search(roster, options).Run(); }

}  // namespace lockstep::old
