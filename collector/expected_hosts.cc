#include "collector/expected_hosts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// `agents` are by host.
const AgentView* FindAgent(const std::vector<AgentView>& agents, const std::string& host) {
  const auto agent = std::lower_bound(agents.begin(), agents.end(), host,
                                      [](const AgentView& view, const std::string& name) { return view.host < name; });
  return agent == agents.end() || agent->host != host ? nullptr : &*agent;
}

}  // namespace

void ExpectedHosts::Restore(const std::vector<SeenHost>& hosts) {
  MutexLock lock(mutex_);
  for (const SeenHost& host : hosts) {
    if (seen_.size() >= kMaxHosts) {
      ++refused_;
      continue;
    }
    seen_[host.name] = {host.last_report_wall_ns, host.last_report_wall_ns};
  }
}

void ExpectedHosts::SetInventory(const std::set<std::string>& names) {
  MutexLock lock(mutex_);
  inventory_ = names;
}

std::vector<SeenHost> ExpectedHosts::Note(const std::vector<AgentView>& agents) {
  std::vector<SeenHost> to_store;
  std::map<std::string, int64_t> forgotten;
  MutexLock lock(mutex_);
  for (const AgentView& agent : agents) {
    if (agent.last_report_wall_ns == 0) continue;
    const auto left = forgotten_.find(agent.host);
    if (left != forgotten_.end() && agent.last_report_wall_ns <= left->second) {
      forgotten.insert(*left);
      continue;
    }
    auto known = seen_.find(agent.host);
    if (known == seen_.end()) {
      if (seen_.size() >= kMaxHosts) {
        ++refused_;
        continue;
      }
      known = seen_.emplace(agent.host, Seen()).first;
    }
    Seen& seen = known->second;
    seen.last_report_wall_ns = std::max(seen.last_report_wall_ns, agent.last_report_wall_ns);
    if (seen.stored_wall_ns != 0 && seen.last_report_wall_ns - seen.stored_wall_ns < kRefreshNanos) continue;
    seen.stored_wall_ns = seen.last_report_wall_ns;
    to_store.push_back({agent.host, seen.last_report_wall_ns});
  }
  forgotten_ = std::move(forgotten);
  return to_store;
}

void ExpectedHosts::NotStored(const std::vector<SeenHost>& hosts) {
  MutexLock lock(mutex_);
  for (const SeenHost& host : hosts) {
    const auto known = seen_.find(host.name);
    if (known != seen_.end()) known->second.stored_wall_ns = 0;
  }
}

std::vector<MissingHost> ExpectedHosts::Missing(const std::vector<AgentView>& agents, int64_t now_wall_ns) const {
  MutexLock lock(mutex_);
  std::map<std::string, int64_t> expected;  // last reports
  for (const auto& [name, seen] : seen_) expected.emplace(name, seen.last_report_wall_ns);
  for (const std::string& name : inventory_) expected.emplace(name, 0);
  std::vector<MissingHost> missing;
  for (const auto& [name, last_report_wall_ns] : expected) {
    const AgentView* const agent = FindAgent(agents, name);
    const bool is_silent = agent == nullptr
                               ? now_wall_ns - std::max(last_report_wall_ns, started_wall_ns_) > silent_after_ns_
                               : agent->silent;
    if (is_silent) missing.push_back({name, last_report_wall_ns, inventory_.contains(name)});
  }
  return missing;
}

absl::Status ExpectedHosts::CheckForget(const std::string& name, const std::vector<AgentView>& agents) const {
  const AgentView* const agent = FindAgent(agents, name);
  if (agent != nullptr && !agent->silent) {
    return absl::FailedPreconditionError(absl::StrCat("host \"", name, "\" reports: stop its agent first"));
  }
  MutexLock lock(mutex_);
  if (inventory_.contains(name)) {
    return absl::FailedPreconditionError(absl::StrCat("host \"", name, "\" is in the inventory: remove it there"));
  }
  return seen_.contains(name) ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("no host \"", name, "\""));
}

void ExpectedHosts::Forget(const std::string& name) {
  MutexLock lock(mutex_);
  const auto known = seen_.find(name);
  if (known == seen_.end()) return;
  forgotten_[name] = known->second.last_report_wall_ns;
  seen_.erase(known);
}

uint64_t ExpectedHosts::TakeRefused() {
  MutexLock lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace lockstep
