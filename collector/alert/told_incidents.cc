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

void ToldIncidents::NoteRefused(const IncidentEvent& event, int64_t now_ns) {
  const Told* before = Find(event.incident.id());
  Told told;
  if (before != nullptr) told = *before;
  told.at_ns = now_ns;
  if (ChangeRoleOf(event.kind) == ChangeRole::kEnds) {
    told.is_open = false;
    told.incident.Clear();
  }
  Put(event.incident.id(), std::move(told));
}

void ToldIncidents::Inherit(const wire::Incident& incident, int64_t at_ns) {
  Put(incident.id(), {incident, at_ns, "", /*is_open=*/true, IsQuiet(incident), /*is_guess=*/true});
}

void ToldIncidents::InheritLast(const Last& last) {
  const Told* before = Find(last.incident);
  Told told;
  if (before != nullptr) told = *before;
  told.at_ns = last.at_ns;
  told.thread = last.thread;
  told.is_guess = !last.is_open;
  Put(last.incident, std::move(told));
}

void ToldIncidents::ForgetThread(uint64_t incident) {
  const auto found = told_.find(incident);
  if (found != told_.end()) found->second.thread.clear();
}

std::vector<ToldIncidents::Last> ToldIncidents::AllLast() const {
  std::vector<Last> all;
  for (const auto& [id, told] : told_) all.push_back({id, told.thread, told.at_ns, told.is_open && !told.is_guess});
  return all;
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

std::optional<std::pair<int64_t, uint64_t>> ToldIncidents::OldestOpen(const std::set<uint64_t>& except) const {
  for (const auto& told : open_) {
    if (!except.contains(told.second)) return told;
  }
  return std::nullopt;
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
