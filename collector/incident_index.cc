#include "collector/incident_index.h"

#include <algorithm>

#include "collector/incident/incident_state.h"

namespace lockstep {

void IncidentIndex::Put(const wire::Incident& incident) {
  MutexLock lock(mutex_);
  incidents_[incident.id()] = incident;
  last_id_ = std::max(last_id_, incident.id());
  if (incidents_.size() <= max_incidents_) return;
  const auto oldest =
      std::find_if(incidents_.begin(), incidents_.end(), [](const auto& entry) { return !IsOpen(entry.second); });
  incidents_.erase(oldest != incidents_.end() ? oldest : incidents_.begin());
}

uint64_t IncidentIndex::NextId() {
  MutexLock lock(mutex_);
  return ++last_id_;
}

void IncidentIndex::UseUp(uint64_t id) {
  MutexLock lock(mutex_);
  last_id_ = std::max(last_id_, id);
}

uint64_t IncidentIndex::last_id() const {
  MutexLock lock(mutex_);
  return last_id_;
}

std::optional<wire::Incident> IncidentIndex::Find(uint64_t id) const {
  MutexLock lock(mutex_);
  const auto found = incidents_.find(id);
  if (found == incidents_.end()) return std::nullopt;
  return found->second;
}

void IncidentIndex::ForEach(bool open_only, const std::string& job,
                            const std::function<void(const wire::Incident&)>& visit) const {
  MutexLock lock(mutex_);
  for (auto entry = incidents_.rbegin(); entry != incidents_.rend(); ++entry) {
    if (open_only && !IsOpen(entry->second)) continue;
    if (!job.empty() && entry->second.job() != job) continue;
    visit(entry->second);
  }
}

size_t IncidentIndex::open_count() const {
  MutexLock lock(mutex_);
  return std::count_if(incidents_.begin(), incidents_.end(), [](const auto& entry) { return IsOpen(entry.second); });
}

std::map<CollectorMetrics::IncidentLabels, int> IncidentIndex::Counts() const {
  std::map<CollectorMetrics::IncidentLabels, int> counts;
  MutexLock lock(mutex_);
  for (const auto& [id, incident] : incidents_) {
    const wire::Verdict& verdict = incident.verdict();
    ++counts[{std::string(StateWord(incident)), verdict.class_(), verdict.scope()}];
  }
  return counts;
}

}  // namespace lockstep
