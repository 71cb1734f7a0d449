#include "detector/model/rank_rivals.h"

#include <algorithm>

namespace lockstep {

void RankRivals::Note(const Roster& roster, const HostReport& report, const RankView& view) {
  const ProcessKey key(report.host, view.pid, view.process_start_ticks);
  if (since_ns_.size() >= capacity_ && !since_ns_.contains(key)) Forget();
  if (communicators_.size() >= capacity_) communicators_.clear();  // they are in every report
  for (const CommunicatorView& communicator : view.communicators) communicators_.insert(communicator.id);
  const int64_t since_ns = since_ns_.try_emplace(key, report.due_ns()).first->second;
  const int32_t slot = roster.SlotOfRank(view.rank);
  const RankProcess& kept = roster.ranks()[static_cast<size_t>(slot)];
  if (kept.alive_ns - since_ns < silent_ns_ || report.due_ns() - since_ns < silent_ns_) return;
  ++conflicts_;
  newest_ = {view.rank, roster.HostName(slot), kept.pid, report.host, view.pid, report.due_ns()};
}

bool RankRivals::IsOfOthers(const RankView& view, const Roster& roster) const {
  if (communicators_.empty()) return false;
  const auto is_ours = [&](const CommunicatorView& c) { return roster.SlotOfCommunicator(c.id) >= 0; };
  const auto is_theirs = [&](const CommunicatorView& c) { return communicators_.contains(c.id); };
  return std::any_of(view.communicators.begin(), view.communicators.end(), is_theirs) &&
         std::none_of(view.communicators.begin(), view.communicators.end(), is_ours);
}

void RankRivals::Forget() {
  since_ns_.clear();
  communicators_.clear();
  newest_.reset();
}

}  // namespace lockstep
