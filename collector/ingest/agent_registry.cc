#include "collector/ingest/agent_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace lockstep {

AgentRegistry::AgentRegistry(const AgentRegistryOptions& options, const Clock& clock)
    : options_(options), clock_(clock), silent_after_ns_(options.silent_after_ns) {}

int64_t AgentRegistry::LastReport(const Agent& agent) {
  return std::max(agent.former_report_wall_ns, agent.ledger->last_report_wall_ns());
}

std::shared_ptr<AgentLedger> AgentRegistry::Find(const std::string& host, uint64_t incarnation) const {
  MutexLock lock(mutex_);
  const auto found = agents_.find(host);
  if (found == agents_.end() || found->second.ledger->incarnation() != incarnation) return nullptr;
  return found->second.ledger;
}

absl::StatusOr<std::shared_ptr<AgentLedger>> AgentRegistry::Connect(const Hello& hello, uint64_t stored_sequence,
                                                                    const std::shared_ptr<AgentStream>& stream) {
  std::shared_ptr<AgentLedger> before;
  std::shared_ptr<AgentLedger> ledger;
  const uint64_t sender = hello.sender != 0 ? hello.sender : hello.incarnation;
  uint64_t sender_before = 0;
  {
    MutexLock lock(mutex_);
    if (!agents_.contains(hello.host) && !MakeRoomLocked()) {
      return absl::ResourceExhaustedError(absl::StrCat(options_.max_agents, " agents are connected already"));
    }
    Agent& agent = agents_[hello.host];
    before = agent.ledger;
    const int64_t now = clock_.WallNanos();
    if (before != nullptr) agent.former_report_wall_ns = LastReport(agent);
    if (before == nullptr || agent.former_report_wall_ns > agent.awaited_since_wall_ns) {
      agent.awaited_since_wall_ns = now;
    }
    if (before == nullptr || before->incarnation() != hello.incarnation) {
      agent.ledger = std::make_shared<AgentLedger>(hello.host, hello.incarnation, stored_sequence, hello.places);
    }
    agent.version = hello.version;
    agent.demands = hello.demands;
    sender_before = std::exchange(agent.sender, sender);
    agent.seen_wall_ns = now;
    ledger = agent.ledger;
  }
  std::shared_ptr<AgentStream> displaced = ledger->Attach(stream);
  if (displaced == nullptr && before != nullptr && before != ledger) {
    displaced = before->Attach(nullptr);
    if (displaced != nullptr && sender != sender_before) {
      NoteTakeover(hello.host, {sender, stream->peer()}, {sender_before, displaced->peer()});
    }
  }
  if (displaced != nullptr && displaced != stream) {
    displaced->Close(absl::AbortedError(absl::StrCat("host ", hello.host, " has connected again: incarnation ",
                                                     hello.incarnation, " from ", stream->peer())));
  }
  return ledger;
}

void AgentRegistry::NoteTakeover(const std::string& host, const Sender& winner, const Sender& loser) {
  {
    MutexLock lock(mutex_);
    const auto agent = agents_.find(host);
    if (agent == agents_.end()) return;
    HostTakeovers& takeovers = agent->second.takeovers;
    if (!takeovers.OnTakeover(winner.incarnation, loser.incarnation)) return;
    ++conflicts_;
    if (!takeovers.MayWarn(clock_.MonotonicNanos())) return;
  }
  Log(LogLevel::kWarning, "two agents say that they are the same host; they take turns",
      {{"host", host},
       {"incarnation", absl::StrCat(winner.incarnation)},
       {"peer", winner.peer},
       {"other_incarnation", absl::StrCat(loser.incarnation)},
       {"other_peer", loser.peer}});
}

uint64_t AgentRegistry::TakeConflicts() {
  MutexLock lock(mutex_);
  return std::exchange(conflicts_, 0);
}

bool AgentRegistry::MakeRoomLocked() {
  if (agents_.size() < options_.max_agents) return true;
  auto oldest = agents_.end();
  for (auto agent = agents_.begin(); agent != agents_.end(); ++agent) {
    if (agent->second.ledger->connected()) continue;
    if (oldest == agents_.end() || agent->second.seen_wall_ns < oldest->second.seen_wall_ns) oldest = agent;
  }
  if (oldest == agents_.end()) return false;
  agents_.erase(oldest);
  return true;
}

bool AgentRegistry::Send(const std::string& host, const wire::Command& command) const {
  std::shared_ptr<AgentLedger> ledger;
  {
    MutexLock lock(mutex_);
    const auto found = agents_.find(host);
    if (found == agents_.end()) return false;
    ledger = found->second.ledger;
  }
  return ledger->Send(command);
}

bool AgentRegistry::Offers(const std::string& host, absl::string_view kind) const {
  MutexLock lock(mutex_);
  const auto found = agents_.find(host);
  return found != agents_.end() && found->second.ledger->connected() &&
         found->second.demands.contains(std::string(kind));
}

int AgentRegistry::RewindLost() {
  std::vector<std::shared_ptr<AgentLedger>> ledgers;
  {
    MutexLock lock(mutex_);
    for (const auto& [host, agent] : agents_) ledgers.push_back(agent.ledger);
  }
  return static_cast<int>(
      std::count_if(ledgers.begin(), ledgers.end(), [](const auto& ledger) { return ledger->Rewind(); }));
}

void AgentRegistry::ForgetGone() {
  const int64_t now = clock_.WallNanos();
  MutexLock lock(mutex_);
  for (auto agent = agents_.begin(); agent != agents_.end();) {
    if (agent->second.ledger->connected()) agent->second.seen_wall_ns = now;
    if (now - agent->second.seen_wall_ns > options_.forget_after_ns) {
      agent = agents_.erase(agent);
    } else {
      ++agent;
    }
  }
}

std::vector<AgentView> AgentRegistry::agents() const {
  const int64_t now = clock_.WallNanos();
  MutexLock lock(mutex_);
  std::vector<AgentView> views;
  views.reserve(agents_.size());
  for (const auto& [host, agent] : agents_) {
    AgentView view;
    view.host = host;
    view.version = agent.version;
    view.connected = agent.ledger->connected();
    view.last_report_wall_ns = LastReport(agent);
    view.last_sequence = agent.ledger->accepted_sequence();
    view.silent = now - std::max(view.last_report_wall_ns, agent.awaited_since_wall_ns) > silent_after_ns_;
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace lockstep
