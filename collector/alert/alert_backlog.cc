#include "collector/alert/alert_backlog.h"

#include <utility>

#include "base/check.h"

namespace lockstep {

using Kind = IncidentEvent::Kind;

std::vector<uint64_t> AlertBacklog::Add(const IncidentEvent& event, int64_t now_ns, uint64_t number) {
  std::vector<uint64_t> dropped;
  if (Fold(event, number)) return dropped;
  const std::vector<uint64_t> own = number == 0 ? std::vector<uint64_t>() : std::vector<uint64_t>{number};
  const bool full = waiting_.size() >= capacity_;
  if (full && (event.kind == Kind::kUpdated || !DropOldestUpdate(&dropped))) {
    ++dropped_;
    return own;
  }
  waiting_.push_back({event, now_ns, own});
  return dropped;
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
bool AlertBacklog::Fold(const IncidentEvent& event, uint64_t number) {
  const size_t first = sending_first_ ? 1 : 0;
  for (size_t i = waiting_.size(); i-- > first;) {
    IncidentEvent& before = waiting_[i].event;
    if (before.incident.id() != event.incident.id()) continue;
    const bool refreshes = event.kind == Kind::kUpdated && before.kind != Kind::kResolved;
    const bool replaces = event.kind == Kind::kResolved && before.kind == Kind::kUpdated;
    if (!refreshes && !replaces) return false;
    before.incident = event.incident;
    if (replaces) before.kind = Kind::kResolved;
    if (number != 0) waiting_[i].numbers.push_back(number);
    return true;
  }
  return false;
}

bool AlertBacklog::DropOldestUpdate(std::vector<uint64_t>* dropped) {
  for (size_t i = sending_first_ ? 1 : 0; i < waiting_.size(); ++i) {
    if (waiting_[i].event.kind != Kind::kUpdated) continue;
    *dropped = std::move(waiting_[i].numbers);
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    ++dropped_;
    return true;
  }
  return false;
}

}  // namespace lockstep
