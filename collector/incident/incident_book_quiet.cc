// What keeps incidents quiet, and what ends that: storms, silences and windows of maintenance.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/incident/incident_action.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/incident_state.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// O(incidents of the job), for each that opens.
void IncidentBook::FoldIntoStorm(Entry& entry, int64_t wall_ns) {
  const std::string& job = entry.incident.job();
  const bool stops = IsHang(entry.incident.verdict().class_());
  int others = 0;
  Entry* leader = nullptr;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    Entry& other = it->second;
    const bool counts = &other != &entry && wall_ns - other.began_ns <= options_.storm_within_ns &&
                        IsHang(other.incident.verdict().class_()) == stops;
    if (!counts) continue;
    if (other.incident.folded_under() != 0 || !IsQuiet(other.incident)) ++others;
    if (!IsOpen(other.incident)) continue;
    // The one that stands for others goes on doing so, else the oldest.
    if (const uint64_t under = other.incident.folded_under(); under != 0) {
      Entry* const standing = FindOpen(job, under);
      if (standing != nullptr && standing->incident.maintenance() == 0) leader = standing;
    } else if (!IsQuiet(other.incident)) {
      const bool is_older = leader == nullptr || other.incident.id() < leader->incident.id();
      if (is_older && (leader == nullptr || leader->incident.folds() == 0)) leader = &other;
    }
  }
  if (others < options_.storm_incidents || leader == nullptr) return;
  leader->incident.set_folds(leader->incident.folds() + 1);
  leader->has_news = true;
  entry.incident.set_folded_under(leader->incident.id());
  AddTransition(
      entry.incident, "folded", wall_ns,
      absl::StrCat("under incident ", leader->incident.id(), ", one of many that opened in this job at once"));
}

IncidentBook::Entry* IncidentBook::FindOpen(const std::string& job, uint64_t id) {
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    if (it->second.incident.id() == id && IsOpen(it->second.incident)) return &it->second;
  }
  return nullptr;
}

IncidentEvent IncidentBook::Wake(Entry& entry, int64_t wall_ns) {
  wire::Incident& incident = entry.incident;
  if (!IsOpen(incident) || IsQuiet(incident)) return {IncidentEvent::Kind::kNoted, incident};
  incident.set_withheld(false);
  return Publish(entry, IncidentEvent::Kind::kOpened, wall_ns);
}

std::vector<IncidentEvent> IncidentBook::Tick(int64_t wall_ns) {
  std::vector<IncidentEvent> events;
  std::set<uint64_t> open;                             // that may stand for others
  std::set<std::pair<std::string, uint64_t>> leaders;  // of what is folded, by job
  for (auto& [key, entry] : entries_) {
    TickOne(entry, wall_ns, events);
    if (!IsOpen(entry.incident)) continue;
    const wire::Incident& incident = entry.incident;
    if (incident.folded_under() != 0) leaders.emplace(key.first, incident.folded_under());
    // Others that are not worked on are none of those who work on this one.
    if (incident.folded_under() == 0 && incident.maintenance() == 0) open.insert(incident.id());
  }
  for (const auto& [job, leader] : leaders) {
    if (!open.contains(leader)) FollowUp(job, leader, wall_ns, events);
  }
  return events;
}

void IncidentBook::TickOne(Entry& entry, int64_t wall_ns, std::vector<IncidentEvent>& events) {
  wire::Incident& incident = entry.incident;
  if (incident.has_silence() && incident.silence().until_wall_ns() <= wall_ns) {
    incident.clear_silence();
    AddTransition(incident, "unsilenced", wall_ns, "its time is over");
    events.push_back(Wake(entry, wall_ns));
  }
  if (!IsOpen(incident) || maintenance_ == nullptr) return;
  const uint64_t window = maintenance_(incident, wall_ns);
  const uint64_t before = incident.maintenance();
  if (window == before) return;
  incident.set_maintenance(window);
  const bool begins = window != 0;
  AddTransition(incident, begins ? "maintenance_begins" : "maintenance_ends", wall_ns,
                absl::StrCat("window ", begins ? window : before));
  events.push_back(Wake(entry, wall_ns));
}

void IncidentBook::FollowUp(const std::string& job, uint64_t leader, int64_t wall_ns,
                            std::vector<IncidentEvent>& events) {
  std::vector<Entry*> followers;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    Entry& entry = it->second;
    if (!IsOpen(entry.incident) || entry.incident.folded_under() != leader) continue;
    entry.incident.set_folded_under(0);  // so that IsQuiet says whether anything else keeps it quiet
    followers.push_back(&entry);
  }
  const auto first = std::min_element(followers.begin(), followers.end(), [](const Entry* a, const Entry* b) {
    return std::make_pair(IsQuiet(a->incident), a->incident.id()) <
           std::make_pair(IsQuiet(b->incident), b->incident.id());
  });
  if (first == followers.end()) return;
  if (IsQuiet((*first)->incident)) {  // and so are all others: nobody has to stand for them
    for (const Entry* const follower : followers) events.push_back({IncidentEvent::Kind::kNoted, follower->incident});
    return;
  }
  Entry& next = **first;
  next.incident.set_folds(static_cast<uint32_t>(followers.size() - 1));
  AddTransition(next.incident, "unfolded", wall_ns,
                absl::StrCat("incident ", leader, " does not stand for it any more"));
  events.push_back(Wake(next, wall_ns));
  for (Entry* const follower : followers) {
    if (follower == &next) continue;
    follower->incident.set_folded_under(next.incident.id());
    events.push_back({IncidentEvent::Kind::kNoted, follower->incident});
  }
}

}  // namespace lockstep
