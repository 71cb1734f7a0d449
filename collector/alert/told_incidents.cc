#include "collector/alert/told_incidents.h"

#include <utility>

#include "collector/alert/change_role.h"
#include "collector/incident/incident_state.h"

namespace lockstep {

void ToldIncidents::Note(const IncidentEvent& event, int64_t now_ns, const std::string& thread) {
  const Told* before = Find(event.incident.id());
  Told told = {wire::Incident(), now_ns, thread, ChangeRoleOf(event.kind) != ChangeRole::kEnds,
               IsQuiet(event.incident)};
  if (told.is_open) told.incident = event.incident;
  if (thread.empty() && before != nullptr) told.thread = before->thread;
  Put(event.incident.id(), std::move(told));
}

void ToldIncidents::Inherit(const wire::Incident& incident, int64_t at_ns) {
  Put(incident.id(), {incident, at_ns, "", /*is_open=*/true, IsQuiet(incident)});
}

void ToldIncidents::InheritThread(uint64_t incident, const std::string& thread, int64_t at_ns) {
  const Told* before = Find(incident);
  Told told;
  if (before != nullptr) told = *before;
  if (before == nullptr) told.at_ns = at_ns;
  told.thread = thread;
  Put(incident, std::move(told));
}

void ToldIncidents::ForgetThread(uint64_t incident) {
  const auto found = told_.find(incident);
  if (found != told_.end()) found->second.thread.clear();
}

std::vector<std::pair<uint64_t, std::string>> ToldIncidents::Threads() const {
  std::vector<std::pair<uint64_t, std::string>> threads;
  for (const auto& [id, told] : told_) {
    if (!told.thread.empty()) threads.emplace_back(id, told.thread);
  }
  return threads;
}

void ToldIncidents::NoteQuiet(const wire::Incident& incident) {
  const Told* before = Find(incident.id());
  if (before == nullptr || before->is_quiet == IsQuiet(incident)) return;
  Told told = *before;
  told.is_quiet = !told.is_quiet;
  Put(incident.id(), std::move(told));
}

const ToldIncidents::Told* ToldIncidents::Find(uint64_t incident) const {
  const auto found = told_.find(incident);
  return found == told_.end() ? nullptr : &found->second;
}

std::optional<std::pair<int64_t, uint64_t>> ToldIncidents::OldestOpen() const {
  if (open_.empty()) return std::nullopt;
  return *open_.begin();
}

void ToldIncidents::Put(uint64_t id, Told told) {
  if (const Told* before = Find(id)) open_.erase({before->at_ns, id});
  if (told.is_open && !told.is_quiet) open_.insert({told.at_ns, id});
  told_[id] = std::move(told);
  if (told_.size() <= capacity_) return;
  open_.erase({told_.begin()->second.at_ns, told_.begin()->first});
  told_.erase(told_.begin());
}

}  // namespace lockstep
