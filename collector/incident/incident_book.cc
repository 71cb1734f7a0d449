#include "collector/incident/incident_book.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "collector/incident/verdict_proto.h"

namespace lockstep {
namespace {

constexpr double kSecondsPerNano = 1e-9;

bool IsOpen(const wire::Incident& incident) { return incident.state() == wire::Incident::STATE_OPEN; }

void AddTransition(wire::Incident& incident, const char* what, int64_t wall_ns, const std::string& why) {
  auto& transitions = *incident.mutable_transitions();
  if (transitions.size() >= IncidentBook::kMaxTransitions) {
    transitions.DeleteSubrange(0, transitions.size() - IncidentBook::kMaxTransitions + 1);
  }
  wire::Incident::Transition& added = *transitions.Add();
  added.set_what(what);
  added.set_wall_ns(wall_ns);
  added.set_why(why);
}

// What an operator would read first: the head of the evidence chain, or else the class.
std::string Headline(const wire::Verdict& verdict) {
  return verdict.evidence().empty() ? verdict.class_() : verdict.evidence(0).text();
}

// In an order that does not depend on their confidence.
std::string Describe(const google::protobuf::RepeatedPtrField<wire::Culprit>& culprits) {
  std::vector<std::string> names;
  for (const wire::Culprit& culprit : culprits) {
    std::string& name = names.emplace_back(culprit.host().empty() ? "(no host)" : culprit.host());
    if (culprit.rank() >= 0) absl::StrAppend(&name, " rank ", culprit.rank());
    if (!culprit.device().empty()) absl::StrAppend(&name, " ", culprit.device());
    if (!culprit.peer_host().empty()) absl::StrAppend(&name, " to ", culprit.peer_host());
  }
  std::sort(names.begin(), names.end());
  return absl::StrJoin(names, ", ");
}

// Empty if `newer` says the same in other numbers.
std::string MaterialChange(const wire::Verdict& older, const wire::Verdict& newer) {
  if (older.class_() != newer.class_()) {
    return absl::StrCat("class changed from ", older.class_(), " to ", newer.class_(), ": ", Headline(newer));
  }
  if (older.scope() != newer.scope()) {
    return absl::StrCat("scope changed from ", older.scope(), " to ", newer.scope());
  }
  const std::string before = Describe(older.culprits());
  const std::string after = Describe(newer.culprits());
  return before == after ? "" : absl::StrCat("culprits changed from ", before, " to ", after);
}

// Whether one key names a rank and the other one its host, or a device of it, for a cause of the same family.
bool IsMoreExact(absl::string_view key, absl::string_view other) {
  const auto place_of = [](absl::string_view text) { return text.substr(0, text.find('/')); };
  return absl::StrContains(key, "/rank") && !absl::StrContains(other, "/rank") && place_of(key) == place_of(other);
}

// When it was seen moves with every evaluation, and is no news by itself.
bool SaysTheSame(wire::Verdict a, wire::Verdict b) {
  for (wire::Verdict* verdict : {&a, &b}) {
    verdict->clear_last_seen_ns();
    verdict->clear_first_step();
    verdict->clear_last_step();
  }
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

IncidentBook::IncidentBook(const IncidentBookOptions& options, std::function<uint64_t()> next_id)
    : options_(options), next_id_(std::move(next_id)) {
  CHECK(options_.max_incidents > 0);
}

void IncidentBook::Restore(const std::vector<wire::Incident>& incidents) {
  for (const wire::Incident& incident : incidents) {
    const Key key{incident.job(), incident.key()};
    auto found = entries_.find(key);
    if (found != entries_.end() && found->second.incident.id() >= incident.id()) continue;
    if (found == entries_.end() && !MakeRoom() && !IsOpen(incident)) continue;
    entries_[key] = Entry{.incident = incident, .inherited = true};
  }
}

std::vector<IncidentEvent> IncidentBook::Apply(const std::string& job, const JobEngine::Conclusion& conclusion,
                                               int64_t wall_ns) {
  std::map<std::string, const Verdict*> present;
  for (const Verdict& verdict : conclusion.verdicts) {
    // Nothing concluded is no cause that anybody could work on.
    if (verdict.type() != FindingType::kAbstention) present.emplace(CauseKey(verdict), &verdict);
  }

  for (const auto& [cause, verdict] : present) ContinueAs(job, cause, present);

  std::vector<IncidentEvent> events;
  const auto keep = [&events](std::optional<IncidentEvent> event) {
    if (event.has_value()) events.push_back(*std::move(event));
  };
  if (conclusion.can_conclude) {
    for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
      if (present.contains(it->first.second) || (it->second.inherited && !conclusion.has_judged)) continue;
      keep(ApplyAbsent(it->second, wall_ns));
    }
  }
  for (const auto& [cause, verdict] : present) keep(ApplyPresent({job, cause}, *verdict, wall_ns));
  std::stable_sort(events.begin(), events.end(),
                   [](const IncidentEvent& a, const IncidentEvent& b) { return a.incident.key() < b.incident.key(); });
  return events;
}

void IncidentBook::BeginAnew(const std::string& job) {
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    it->second.inherited = true;
    it->second.absent_since_ns.reset();
  }
}

absl::StatusOr<IncidentEvent> IncidentBook::Acknowledge(const std::string& job, uint64_t id,
                                                        const wire::Incident::Acknowledgement* by, int64_t wall_ns) {
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    Entry& entry = it->second;
    wire::Incident& incident = entry.incident;
    if (incident.id() != id) continue;
    if (!IsOpen(incident)) return absl::FailedPreconditionError(absl::StrCat("incident ", id, " is resolved"));
    if (by == nullptr) {
      if (!incident.has_acknowledgement()) {
        return absl::FailedPreconditionError(absl::StrCat("nobody has acknowledged incident ", id));
      }
      AddTransition(incident, "unacknowledged", wall_ns,
                    absl::StrCat("it was in the hands of ", incident.acknowledgement().by()));
      incident.clear_acknowledgement();
    } else {
      wire::Incident::Acknowledgement& kept = *incident.mutable_acknowledgement();
      kept = *by;
      kept.set_wall_ns(wall_ns);
      AddTransition(incident, "acknowledged", wall_ns,
                    absl::StrCat("by ", kept.by(), kept.note().empty() ? "" : ": ", kept.note()));
    }
    return IncidentEvent{IncidentEvent::Kind::kAcknowledged, incident};
  }
  return absl::NotFoundError(absl::StrCat("incident ", id, " is over for long"));
}

void IncidentBook::ContinueAs(const std::string& job, const std::string& cause,
                              const std::map<std::string, const Verdict*>& present) {
  if (entries_.contains({job, cause})) return;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    const std::string& less_exact = it->first.second;
    if (!IsMoreExact(cause, less_exact) || present.contains(less_exact) || !IsOpen(it->second.incident)) continue;
    auto entry = entries_.extract(it);
    entry.key() = {job, cause};
    entry.mapped().incident.set_key(cause);
    entries_.insert(std::move(entry));
    return;
  }
}

std::vector<IncidentEvent> IncidentBook::EndJob(const std::string& job, int64_t wall_ns, wire::Incident::Resolution how,
                                                const std::string& why) {
  std::vector<IncidentEvent> events;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    if (IsOpen(it->second.incident)) events.push_back(Resolve(it->second, wall_ns, how, why));
  }
  return events;
}

std::optional<IncidentEvent> IncidentBook::ApplyPresent(const Key& key, const Verdict& verdict, int64_t wall_ns) {
  auto found = entries_.find(key);
  if (found == entries_.end()) return Open(key, verdict, wall_ns);
  Entry& entry = found->second;
  // An engine that was given the log up to a loss concludes what an earlier one had seen go.
  if (!IsOpen(entry.incident) && verdict.last_seen_ns <= entry.incident.resolved_wall_ns()) return std::nullopt;
  entry.absent_since_ns.reset();
  entry.inherited = false;
  if (IsOpen(entry.incident)) return Update(entry, verdict, wall_ns);
  if (wall_ns - entry.incident.resolved_wall_ns() <= options_.reopen_within_ns) return Reopen(entry, verdict, wall_ns);
  entries_.erase(found);  // long over: the same cause is a new incident
  return Open(key, verdict, wall_ns);
}

std::optional<IncidentEvent> IncidentBook::ApplyAbsent(Entry& entry, int64_t wall_ns) {
  if (!IsOpen(entry.incident)) return std::nullopt;
  if (!entry.absent_since_ns.has_value()) entry.absent_since_ns = wall_ns;
  const int64_t absent_ns = wall_ns - *entry.absent_since_ns;
  if (absent_ns < options_.resolve_after_ns) return std::nullopt;
  return Resolve(entry, wall_ns, wire::Incident::RESOLUTION_CAUSE_GONE,
                 absl::StrCat("the cause has been absent for ", absent_ns * kSecondsPerNano, " s"));
}

std::optional<IncidentEvent> IncidentBook::Open(const Key& key, const Verdict& verdict, int64_t wall_ns) {
  if (!MakeRoom()) {
    ++refused_;
    return std::nullopt;
  }
  Entry& entry = entries_[key];
  wire::Incident& incident = entry.incident;
  incident.set_id(next_id_());
  incident.set_job(key.first);
  incident.set_key(key.second);
  incident.set_state(wire::Incident::STATE_OPEN);
  *incident.mutable_verdict() = ToProto(verdict);
  incident.set_opened_wall_ns(wall_ns);
  AddTransition(incident, "opened", wall_ns, Headline(incident.verdict()));
  return Publish(entry, IncidentEvent::Kind::kOpened, wall_ns);
}

std::optional<IncidentEvent> IncidentBook::Update(Entry& entry, const Verdict& verdict, int64_t wall_ns) {
  wire::Incident& incident = entry.incident;
  wire::Verdict newer = ToProto(verdict);
  const std::string change = MaterialChange(incident.verdict(), newer);
  if (!SaysTheSame(incident.verdict(), newer)) entry.has_news = true;
  *incident.mutable_verdict() = std::move(newer);
  const bool due = wall_ns - incident.updated_wall_ns() >= options_.update_every_ns;
  if (change.empty() && !(due && entry.has_news)) return std::nullopt;
  if (!change.empty()) AddTransition(incident, "updated", wall_ns, change);
  return Publish(entry, IncidentEvent::Kind::kUpdated, wall_ns);
}

IncidentEvent IncidentBook::Reopen(Entry& entry, const Verdict& verdict, int64_t wall_ns) {
  wire::Incident& incident = entry.incident;
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_resolved_wall_ns(0);
  incident.set_resolution(wire::Incident::RESOLUTION_UNSPECIFIED);
  incident.set_reopened(incident.reopened() + 1);
  incident.clear_acknowledgement();  // whoever had it in hand has seen it end
  *incident.mutable_verdict() = ToProto(verdict);
  AddTransition(incident, "reopened", wall_ns, Headline(incident.verdict()));
  return Publish(entry, IncidentEvent::Kind::kReopened, wall_ns);
}

IncidentEvent IncidentBook::Resolve(Entry& entry, int64_t wall_ns, wire::Incident::Resolution how,
                                    const std::string& why) {
  wire::Incident& incident = entry.incident;
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(wall_ns);
  incident.set_resolution(how);
  AddTransition(incident, "resolved", wall_ns, why);
  entry.absent_since_ns.reset();
  return Publish(entry, IncidentEvent::Kind::kResolved, wall_ns);
}

IncidentEvent IncidentBook::Publish(Entry& entry, IncidentEvent::Kind kind, int64_t wall_ns) {
  entry.incident.set_updated_wall_ns(wall_ns);
  entry.has_news = false;
  return IncidentEvent{kind, entry.incident};
}

// Makes sure that one more incident fits, forgetting the one that was resolved first. O(incidents), only when full.
bool IncidentBook::MakeRoom() {
  if (entries_.size() < static_cast<size_t>(options_.max_incidents)) return true;
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (IsOpen(it->second.incident)) continue;
    if (oldest == entries_.end() ||
        it->second.incident.resolved_wall_ns() < oldest->second.incident.resolved_wall_ns()) {
      oldest = it;
    }
  }
  if (oldest == entries_.end()) return false;
  entries_.erase(oldest);
  return true;
}

}  // namespace lockstep
