// What profiles have shown becomes evidence of incidents that are open, or opens one.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/ledger_share.h"
#include "collector/incident/profile_evidence.h"

namespace lockstep {
namespace {

std::string ProfiledText(const JobProfile& profile, int64_t pieces) {
  const size_t ranks = profile.ranks.size();
  return absl::StrCat(ranks, ranks == 1 ? " rank was profiled: " : " ranks were profiled: ",
                      pieces == 0   ? "nothing stands out that this would be owed to"
                      : pieces == 1 ? "one more piece of evidence"
                                    : absl::StrCat(pieces, " more pieces of evidence"));
}

}  // namespace

IncidentBook::Entry* IncidentBook::FindExplained(const Key& key, const wire::Verdict& found, uint64_t reason) {
  const auto same = entries_.find(key);
  if (same != entries_.end() && IsOpen(same->second.incident)) return &same->second;
  for (auto it = entries_.lower_bound({key.first, ""}); it != entries_.end() && it->first.first == key.first; ++it) {
    const wire::Verdict& known = it->second.incident.verdict();
    const bool both_of_job = known.culprits().empty() && found.culprits().empty() && !it->second.incident.suspected();
    if (IsOpen(it->second.incident) && (both_of_job || Covers(known, found))) return &it->second;
  }
  return found.scope() == Name(VerdictScope::kUnknown) ? FindOpen(key.first, reason) : nullptr;
}

void IncidentBook::OpenByProfile(const Key& key, const Verdict& finding, const wire::Verdict& found, int64_t wall_ns,
                                 std::map<Entry*, IncidentEvent::Kind>& opened) {
  Verdict now = finding;
  now.first_seen_ns = now.last_seen_ns = wall_ns;
  const std::optional<IncidentEvent> event = ApplyPresent(key, now, SeenLedger(), wall_ns);
  const auto entry = entries_.find(key);
  if (!event.has_value() || entry == entries_.end()) return;  // there is no room, or somebody has resolved it by hand
  *entry->second.incident.mutable_verdict()->mutable_evidence() = found.evidence();
  opened.emplace(&entry->second, event->kind);
}

std::vector<IncidentBook::ProfiledCost> IncidentBook::ProfiledCosts(const std::string& job) const {
  std::vector<ProfiledCost> costs;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    const wire::Incident& incident = it->second.incident;
    if (!IsOpen(incident) || !RestsOnProfiles(incident)) continue;
    costs.push_back({FindingOf(incident.verdict()), incident.verdict().cost().slowdown_fraction()});
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const ProfiledCost& a, const ProfiledCost& b) { return a.share > b.share; });
  return costs;
}

std::vector<IncidentEvent> IncidentBook::AddProfile(const std::string& job, const JobProfile& profile,
                                                    int64_t wall_ns) {
  std::map<Entry*, int64_t> pieces;  // of evidence that those have got
  if (Entry* const asked = FindOpen(job, profile.incident)) pieces[asked] = 0;
  std::map<Entry*, IncidentEvent::Kind> opened;
  for (const Verdict& finding : profile.findings) {
    const Key key{job, CauseKey(finding)};
    wire::Verdict found = Tell(job, finding);
    BecomeProfileEvidence(found);
    Entry* const entry = FindExplained(key, found, profile.incident);
    if (entry == nullptr && finding.type() == FindingType::kAccusation) {
      OpenByProfile(key, finding, found, wall_ns, opened);
    }
    if (entry == nullptr) continue;
    wire::Verdict& verdict = *entry->incident.mutable_verdict();
    const bool is_first = opened.count(entry) == 0 && pieces.try_emplace(entry, 0).first->second == 0;
    if (is_first) DropProfileEvidence(verdict);
    CopyProfileEvidence(found, verdict);
    if (opened.count(entry) == 0) pieces[entry] += found.evidence_size();
  }
  std::vector<IncidentEvent> events;
  for (const auto& [entry, kind] : opened) events.push_back(Publish(*entry, kind, wall_ns));
  for (const auto& [entry, count] : pieces) {
    AddTransition(entry->incident, "profiled", wall_ns, ProfiledText(profile, count));
    events.push_back(
        Publish(*entry, count == 0 ? IncidentEvent::Kind::kNoted : IncidentEvent::Kind::kUpdated, wall_ns));
  }
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    Entry& entry = it->second;
    const auto known = pieces.find(&entry);
    const bool is_confirmed = opened.count(&entry) > 0 || (known != pieces.end() && known->second > 0);
    if (is_confirmed || !IsOpen(entry.incident) || !WasProfiled(profile, entry.incident.verdict())) continue;
    if (RestsOnProfiles(entry.incident)) {
      events.push_back(
          Resolve(entry, wall_ns, wire::Incident::RESOLUTION_CAUSE_GONE, "a newer profile shows it no more"));
    } else if (DropProfileEvidence(*entry.incident.mutable_verdict())) {
      entry.has_news = true;
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const IncidentEvent& a, const IncidentEvent& b) { return a.incident.key() < b.incident.key(); });
  return events;
}

}  // namespace lockstep
