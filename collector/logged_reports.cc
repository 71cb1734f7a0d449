#include "collector/logged_reports.h"

#include <algorithm>

namespace lockstep {

LoggedReports::Place LoggedReports::PlaceOf(const std::string& job, const AgentLedger::Ticket& ticket) {
  if (ticket.ledger == nullptr) return Place::kNext;
  const auto host = positions_.find({job, ticket.ledger->host()});
  if (host == positions_.end()) return Place::kNext;
  const auto position = host->second.find(ticket.ledger->incarnation());
  if (position == host->second.end()) return Place::kNext;
  if (ticket.sequence <= position->second.sequence) return Place::kLogged;
  if (!position->second.lacks_next) return Place::kNext;
  return ticket.ledger->IsBehindLoss(ticket) ? Place::kTooSoon : Place::kSentAgain;
}

void LoggedReports::NoteLogged(const std::string& job, const AgentLedger::Ticket& ticket, int64_t now_ns) {
  if (ticket.ledger == nullptr) return;
  Position& position = At(job, ticket.ledger->host(), ticket.ledger->incarnation(), now_ns);
  position.sequence = ticket.sequence;
  position.lacks_next = false;
}

void LoggedReports::NoteLost(const std::string& job, const AgentLedger::Ticket& ticket, int64_t now_ns) {
  if (ticket.ledger == nullptr) return;
  At(job, ticket.ledger->host(), ticket.ledger->incarnation(), now_ns).lacks_next = true;
}

void LoggedReports::Restore(const wire::CaptureInput& input, int64_t now_ns) {
  Position& position = At(input.job(), input.host(), input.incarnation(), now_ns);
  position.sequence = std::max(position.sequence, input.report().sequence());
}

void LoggedReports::Forget(int64_t now_ns) {
  for (auto& [key, incarnations] : positions_) {
    std::erase_if(incarnations, [&](const auto& entry) { return now_ns - entry.second.heard_ns > kKeptNanos; });
  }
  std::erase_if(positions_, [](const auto& entry) { return entry.second.empty(); });
}

LoggedReports::Position& LoggedReports::At(const std::string& job, const std::string& host, uint64_t incarnation,
                                           int64_t now_ns) {
  ByIncarnation& incarnations = positions_[{job, host}];
  if (incarnations.size() == kMaxIncarnations && !incarnations.contains(incarnation)) {
    incarnations.erase(std::min_element(incarnations.begin(), incarnations.end(), [](const auto& a, const auto& b) {
      return a.second.heard_ns < b.second.heard_ns;
    }));
  }
  Position& position = incarnations[incarnation];
  position.heard_ns = now_ns;
  return position;
}

}  // namespace lockstep
