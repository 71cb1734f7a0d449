#include "collector/alert/alert_backlog.h"

#include <utility>

#include "base/check.h"

namespace lockstep {

using Kind = IncidentEvent::Kind;

namespace {

void AddTo(AlertBacklog::Waiting& waiting, const ChangeId& id) {
  if (id.number != 0) waiting.numbers.push_back(id.number);
  if (id.ticket != 0) waiting.tickets.push_back(id.ticket);
}

}  // namespace

std::vector<uint64_t> AlertBacklog::Add(const IncidentEvent& event, int64_t now_ns, const ChangeId& id) {
  std::vector<uint64_t> dropped;
  if (Fold(event, id)) return dropped;
  Waiting own{event, now_ns, {}, {}};
  AddTo(own, id);
  const bool full = waiting_.size() >= capacity_;
  if (full && (event.kind == Kind::kUpdated || !DropOldestUpdate(&dropped))) {
    ++dropped_;
    return own.numbers;
  }
  waiting_.push_back(std::move(own));
  return dropped;
}

bool AlertBacklog::NoteWritten(uint64_t ticket, uint64_t number) {
  for (Waiting& waiting : waiting_) {
    if (std::erase(waiting.tickets, ticket) == 0) continue;
    waiting.numbers.push_back(number);
    return true;
  }
  return false;
}

AlertBacklog::Waiting AlertBacklog::BeginSending() {
  CHECK(!waiting_.empty() && !sending_first_);
  sending_first_ = true;
  return waiting_.front();
}

std::vector<uint64_t> AlertBacklog::EndSending(bool done) {
  CHECK(sending_first_);
  sending_first_ = false;
  std::vector<uint64_t> gone;
  if (!done) return gone;
  gone = std::move(waiting_.front().numbers);
  waiting_.pop_front();
  return gone;
}

// O(waiting events): the newest of the same incident decides.
bool AlertBacklog::Fold(const IncidentEvent& event, const ChangeId& id) {
  const size_t first = sending_first_ ? 1 : 0;
  for (size_t i = waiting_.size(); i-- > first;) {
    IncidentEvent& before = waiting_[i].event;
    if (before.incident.id() != event.incident.id()) continue;
    const bool refreshes = event.kind == Kind::kUpdated && before.kind != Kind::kResolved;
    const bool replaces = event.kind == Kind::kResolved && before.kind == Kind::kUpdated;
    if (!refreshes && !replaces) return false;
    before.incident = event.incident;
    if (replaces) before.kind = Kind::kResolved;
    AddTo(waiting_[i], id);
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
