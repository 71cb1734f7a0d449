#include "collector/alert/alert_backlog.h"

#include "base/check.h"

namespace lockstep {

using Kind = IncidentEvent::Kind;

void AlertBacklog::Add(const IncidentEvent& event, int64_t now_ns) {
  if (Fold(event)) return;
  const bool full = waiting_.size() >= capacity_;
  if (full && (event.kind == Kind::kUpdated || !DropOldestUpdate())) {
    ++dropped_;
    return;
  }
  waiting_.push_back({event, now_ns});
}

AlertBacklog::Waiting AlertBacklog::BeginSending() {
  CHECK(!waiting_.empty() && !sending_first_);
  sending_first_ = true;
  return waiting_.front();
}

void AlertBacklog::EndSending(bool done) {
  CHECK(sending_first_);
  sending_first_ = false;
  if (done) waiting_.pop_front();
}

// O(waiting events): the newest of the same incident decides.
bool AlertBacklog::Fold(const IncidentEvent& event) {
  const size_t first = sending_first_ ? 1 : 0;
  for (size_t i = waiting_.size(); i-- > first;) {
    IncidentEvent& before = waiting_[i].event;
    if (before.incident.id() != event.incident.id()) continue;
    const bool refreshes = event.kind == Kind::kUpdated && before.kind != Kind::kResolved;
    const bool replaces = event.kind == Kind::kResolved && before.kind == Kind::kUpdated;
    if (!refreshes && !replaces) return false;
    before.incident = event.incident;
    if (replaces) before.kind = Kind::kResolved;
    return true;
  }
  return false;
}

bool AlertBacklog::DropOldestUpdate() {
  for (size_t i = sending_first_ ? 1 : 0; i < waiting_.size(); ++i) {
    if (waiting_[i].event.kind != Kind::kUpdated) continue;
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    ++dropped_;
    return true;
  }
  return false;
}

}  // namespace lockstep
