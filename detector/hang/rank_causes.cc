#include "detector/hang/rank_causes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "detector/hang/blocked_operation.h"
#include "detector/hang/stopped_calling.h"
#include "detector/hang/stuck_operation.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

class Finder {
 public:
  Finder(const Frontier& frontier, const WaitGraph& graph)
      : frontier_(frontier),
        trace_(frontier.trace()),
        graph_(graph),
        by_records_(frontier.watch() == nullptr && frontier.lost_share() > 0),
        cause_(trace_.ranks.size(), -1) {}

  RankCauses Run() {
    for (size_t s = 0; s < graph_.blocked_operations.size(); ++s) AddWaitedFor(s);
    for (const BlockedOperation& blocked : graph_.blocked_operations) AddLeftBehind(blocked);
    for (size_t rank = 0; rank < cause_.size(); ++rank) {
      if (cause_[rank] >= 0) causes_[static_cast<size_t>(cause_[rank])].ranks.push_back(static_cast<int32_t>(rank));
    }
    RankCauses found{.uncalled = std::move(uncalled_)};
    for (Hang& hang : causes_) {
      if (hang.ranks.empty()) continue;
      hang.stopped_calling = HasStopped(hang);
      found.hangs.push_back(std::move(hang));
    }
    return found;
  }

 private:
  bool HasNoWayOut(size_t rank) const { return graph_.edges[rank].empty() && graph_.place_lost[rank] == 0; }

  void Add(size_t rank, const BlockedOperation& blocked, HangKind kind, bool called) {
    causes_.push_back(HangAt(kind, trace_, blocked));
    causes_.back().called = called;
    cause_[rank] = static_cast<int32_t>(causes_.size()) - 1;
  }

  void AddWaitedFor(size_t s) {
    const BlockedOperation& blocked = graph_.blocked_operations[s];
    const std::vector<int32_t>& blockers = graph_.edges[cause_.size() + s];
    int32_t shared = -1;
    for (size_t i = 0; i < blockers.size(); ++i) {
      const auto rank = static_cast<size_t>(blockers[i]);
      if (!HasNoWayOut(rank)) continue;
      // Called behind what it alone does not finish: the operation says nothing new.
      if (graph_.member_states[s][i] == MemberState::kQueued) continue;
      const bool called = graph_.member_states[s][i] == MemberState::kNotBegun;
      // Its host has called other things that its GPU has not begun: the record of this call may be lost. Counters
      // of a watched job have it by then.
      if (by_records_ && !called && graph_.not_begun[rank] != 0) {
        uncalled_.push_back(HangAt(HangKind::kNotEntered, trace_, blocked));
        uncalled_.back().ranks = {blockers[i]};
        continue;
      }
      if (cause_[rank] < 0 && shared < 0) Add(rank, blocked, HangKind::kNotEntered, called);
      if (cause_[rank] < 0) cause_[rank] = shared;
      if (shared >= 0 && shared != cause_[rank]) std::replace(cause_.begin(), cause_.end(), shared, cause_[rank]);
      shared = cause_[rank];
      TellByLarger(blocked, called, &causes_[static_cast<size_t>(shared)]);
    }
  }

  void AddLeftBehind(const BlockedOperation& blocked) {
    if (!blocked.finished_by_some || !blocked.collective() || blocked.passing) return;
    const size_t members = trace_.communicators[static_cast<size_t>(blocked.communicator)].members.size();
    const bool few = 2 * blocked.at.size() <= members;
    int32_t shared = -1;
    for (const int32_t slot : blocked.at) {
      const auto rank = static_cast<size_t>(slot);
      if (cause_[rank] >= 0 || graph_.left_behind[rank] == 0 || frontier_.IsExcused(rank)) continue;
      if (shared < 0) {
        Add(rank, blocked, few ? HangKind::kNotFinished : HangKind::kTransfer, false);
        shared = cause_[rank];
        const bool proven = frontier_.LeftByRecord(blocked.communicator) >= static_cast<int64_t>(blocked.sequence);
        if (!few && !proven) DoubtTransfer(frontier_, blocked, &causes_.back());
      }
      cause_[rank] = shared;
    }
  }

  // Where several operations wait for one cause, most ranks know of that in which most of them wait. Names of
  // communicators must not decide.
  void TellByLarger(const BlockedOperation& blocked, bool called, Hang* hang) const {
    Hang told = HangAt(hang->kind, trace_, blocked);
    told.called = called;
    if (hang->kind != HangKind::kNotEntered || hang->called != called || !ToldBefore(told, *hang)) return;
    *hang = std::move(told);
  }

  // Whether it is no GPU that has not begun but the whole process. In a watched job that is known by itself.
  bool HasStopped(const Hang& hang) const {
    if (hang.kind != HangKind::kNotEntered || !hang.called || frontier_.watch() != nullptr) return false;
    return StoppedFarBehind(frontier_, hang.communicator) == hang.ranks;
  }

  const Frontier& frontier_;
  const Trace& trace_;
  const WaitGraph& graph_;
  const bool by_records_;       // and some of these are lost
  std::vector<int32_t> cause_;  // of each rank, an index into causes_; -1 = it is none
  std::vector<Hang> causes_;
  std::vector<Hang> uncalled_;
};

}  // namespace

RankCauses FindRankCauses(const Frontier& frontier, const WaitGraph& graph) { return Finder(frontier, graph).Run(); }

}  // namespace lockstep
