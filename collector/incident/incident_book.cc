#include "collector/incident/incident_book.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "collector/incident/ledger_share.h"
#include "collector/incident/verdict_proto.h"
#include "detector/verdict/job_state.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr double kSecondsPerNano = 1e-9;

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

// Whether a verdict names some of those whom an incident names, and no others.
bool IsAmong(const Verdict& verdict, const wire::Incident& incident) {
  const auto& among = incident.verdict().culprits();
  const auto is_named = [&among](const Culprit& culprit) {
    return std::any_of(among.begin(), among.end(), [&](const wire::Culprit& one) {
      return one.host() == culprit.host && one.rank() == culprit.rank && culprit.rank >= 0;
    });
  };
  return std::cmp_less(verdict.culprits.size(), among.size()) && !verdict.culprits.empty() &&
         std::all_of(verdict.culprits.begin(), verdict.culprits.end(), is_named);
}

// Whether a verdict that names no rank may be of the culprit of an incident, which is one.
bool MayBeOf(const Verdict& verdict, const wire::Incident& incident) {
  if (verdict.culprits.size() != 1 || incident.verdict().culprits_size() != 1) return false;
  const Culprit& culprit = verdict.culprits.front();
  const wire::Culprit& rank = incident.verdict().culprits(0);
  return culprit.host == rank.host() && (culprit.device.empty() || culprit.device == absl::StrCat("gpu", rank.gpu()));
}

// Whether its cause is that its host is not heard.
bool IsSilence(const wire::Incident& incident) {
  return incident.verdict().class_() == Name(VerdictClass::kMachineUnreachable);
}

bool IsHeardAgain(const wire::Incident& incident, const JobSight& sight) {
  const auto& culprits = incident.verdict().culprits();
  return IsSilence(incident) && sight.hears != nullptr &&
         std::all_of(culprits.begin(), culprits.end(),
                     [&](const auto& culprit) { return sight.hears(culprit.host()); });
}

// Whether nobody has to be called yet: nothing is proven, and the job goes on.
bool IsSuspicion(const Verdict& verdict) {
  return verdict.type() == FindingType::kObservation && !IsHang(verdict.verdict_class);
}

// Why it is told, or not yet told.
std::string ReasonToTell(const wire::Incident& incident, const Verdict& verdict) {
  const std::string headline = Headline(incident.verdict());
  if (incident.suspected() || !IsSuspicion(verdict)) return headline;
  return absl::StrCat("unproven, and told because its host was blamed in other jobs as well: ", headline);
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

IncidentBook::IncidentBook(const IncidentBookOptions& options, std::function<uint64_t()> next_id,
                           Maintenance maintenance, NameGpus name_gpus, IsLemon is_lemon)
    : options_(options),
      next_id_(std::move(next_id)),
      maintenance_(std::move(maintenance)),
      name_gpus_(std::move(name_gpus)),
      is_lemon_(std::move(is_lemon)) {
  CHECK(options_.max_incidents > 0);
}

void IncidentBook::Restore(const std::vector<wire::Incident>& incidents) {
  for (const wire::Incident& incident : incidents) {
    const Key key{incident.job(), incident.key()};
    auto found = entries_.find(key);
    if (found != entries_.end() && found->second.incident.id() >= incident.id()) continue;
    if (found == entries_.end() && !MakeRoom() && !IsOpen(incident)) continue;
    entries_[key] = Entry{.incident = incident, .began_ns = incident.opened_wall_ns(), .inherited = true};
  }
}

std::vector<IncidentEvent> IncidentBook::Apply(const std::string& job, const JobEngine::Conclusion& conclusion,
                                               int64_t wall_ns, const JobSight& sight, const SeenLedger& ledger) {
  std::map<std::string, const Verdict*> present;
  for (const Verdict& verdict : conclusion.verdicts) {
    // Nothing concluded is no cause that anybody could work on, but that a job is slow is known without its cause.
    if (verdict.type() == FindingType::kAbstention && !IsOftenSlowWithoutCause(verdict)) continue;
    present.emplace(CauseKey(verdict), &verdict);
  }

  for (const auto& [cause, verdict] : present) ContinueAs(job, cause, *verdict, present);
  const std::set<std::string> held = TakeLessExact(job, present);

  std::vector<IncidentEvent> events;
  const auto keep = [&events](std::optional<IncidentEvent> event) {
    if (event.has_value()) events.push_back(*std::move(event));
  };
  if (conclusion.can_conclude) {
    for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
      Entry& entry = it->second;
      const bool is_known = !entry.inherited || conclusion.has_judged || IsHeardAgain(entry.incident, sight);
      if (present.contains(it->first.second) || !is_known) continue;
      const bool is_hidden = sight.is_blind && IsHang(entry.incident.verdict().class_()) && !IsSilence(entry.incident);
      const bool holds =
          (RestsOnProfiles(entry.incident) && !sight.is_well) || is_hidden || held.contains(it->first.second);
      if (!holds) {
        keep(ApplyAbsent(entry, wall_ns, sight));
        continue;
      }
      entry.absent_since_ns.reset();
      const bool has_news = IsOpen(entry.incident) && TakeLedgerShare(ledger, entry.incident);
      if (has_news) events.push_back(Publish(entry, IncidentEvent::Kind::kNoted, wall_ns));
    }
  }
  for (const auto& [cause, verdict] : present) keep(ApplyPresent({job, cause}, *verdict, ledger, wall_ns));
  std::stable_sort(events.begin(), events.end(),
                   [](const IncidentEvent& a, const IncidentEvent& b) { return a.incident.key() < b.incident.key(); });
  return events;
}

std::set<std::string> IncidentBook::TakeLessExact(const std::string& job,
                                                  std::map<std::string, const Verdict*>& present) const {
  std::set<std::string> held;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    const std::string& exact = it->first.second;
    const wire::Incident& incident = it->second.incident;
    if (!IsOpen(incident) || present.contains(exact)) continue;
    const size_t taken = std::erase_if(present, [&](const auto& less_exact) {
      const auto own = entries_.find({job, less_exact.first});
      const bool has_own = own != entries_.end() && IsOpen(own->second.incident);
      return !has_own && IsMoreExact(exact, less_exact.first) && MayBeOf(*less_exact.second, incident);
    });
    if (taken > 0) held.insert(exact);
  }
  return held;
}

void IncidentBook::BeginAnew(const std::string& job) {
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    it->second.inherited = true;
    it->second.absent_since_ns.reset();
  }
}

absl::StatusOr<ActedIncident> IncidentBook::Act(const std::string& job, uint64_t id, const IncidentAction& action,
                                                int64_t wall_ns) {
  using What = IncidentAction::What;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    Entry& entry = it->second;
    if (entry.incident.id() != id) continue;
    ASSIGN_OR_RETURN(const bool changed, lockstep::Apply(action, wall_ns, entry.incident));
    if (!changed) return ActedIncident{entry.incident, std::nullopt};
    const auto publish = [&]() -> IncidentEvent {
      if (action.what == What::kUnsilence) return Wake(entry, wall_ns);
      if (action.what == What::kResolve) {
        return Resolve(entry, wall_ns, wire::Incident::RESOLUTION_BY_HAND,
                       absl::StrCat("by ", action.by, action.text.empty() ? "" : ": ", action.text));
      }
      const bool takes_it = action.what == What::kAcknowledge || action.what == What::kUnacknowledge;
      return {takes_it ? IncidentEvent::Kind::kAcknowledged : IncidentEvent::Kind::kNoted, entry.incident};
    };
    IncidentEvent event = publish();
    return ActedIncident{entry.incident, std::move(event)};
  }
  return absl::NotFoundError(absl::StrCat("incident ", id, " is over for long"));
}

void IncidentBook::ContinueAs(const std::string& job, const std::string& cause, const Verdict& verdict,
                              const std::map<std::string, const Verdict*>& present) {
  if (entries_.contains({job, cause})) return;
  for (auto it = entries_.lower_bound({job, ""}); it != entries_.end() && it->first.first == job; ++it) {
    const std::string& less_exact = it->first.second;
    if (present.contains(less_exact) || !IsOpen(it->second.incident)) continue;
    const bool is_one_of_several = IsHang(verdict.verdict_class) && IsHang(it->second.incident.verdict().class_()) &&
                                   IsAmong(verdict, it->second.incident);
    if (!IsMoreExact(cause, less_exact) && !is_one_of_several) continue;
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

std::optional<IncidentEvent> IncidentBook::ApplyPresent(const Key& key, const Verdict& verdict,
                                                        const SeenLedger& ledger, int64_t wall_ns) {
  auto found = entries_.find(key);
  if (found == entries_.end()) return Open(key, verdict, ledger, wall_ns);
  Entry& entry = found->second;
  // An engine that was given the log up to a loss concludes what an earlier one had seen go; and who has resolved it by
  // hand may need a while until it shows.
  const bool by_hand = entry.incident.resolution() == wire::Incident::RESOLUTION_BY_HAND;
  const int64_t news_after_ns = entry.incident.resolved_wall_ns() + (by_hand ? options_.by_hand_grace_ns : 0);
  if (!IsOpen(entry.incident) && verdict.last_seen_ns <= news_after_ns) return std::nullopt;
  entry.absent_since_ns.reset();
  entry.inherited = false;
  if (IsOpen(entry.incident)) return Update(entry, verdict, ledger, wall_ns);
  if (wall_ns - news_after_ns <= options_.reopen_within_ns) return Reopen(entry, verdict, ledger, wall_ns);
  entries_.erase(found);  // long over: the same cause is a new incident
  return Open(key, verdict, ledger, wall_ns);
}

int64_t IncidentBook::GoneAfter(const Entry& entry, const JobSight& sight) const {
  if (entry.incident.flapping()) return options_.flap_quiet_ns;
  if (RestsOnProfiles(entry.incident)) return options_.profile_quiet_ns;
  if (!entry.inherited || IsHang(entry.incident.verdict().class_())) return options_.resolve_after_ns;
  return options_.inherited_after_ns +
         static_cast<int64_t>(options_.inherited_steps * sight.step_seconds / kSecondsPerNano);
}

std::optional<IncidentEvent> IncidentBook::ApplyAbsent(Entry& entry, int64_t wall_ns, const JobSight& sight) {
  if (!IsOpen(entry.incident)) return std::nullopt;
  if (!entry.absent_since_ns.has_value()) entry.absent_since_ns = wall_ns;
  const int64_t absent_ns = wall_ns - *entry.absent_since_ns;
  if (absent_ns < GoneAfter(entry, sight)) return std::nullopt;
  return Resolve(entry, wall_ns, wire::Incident::RESOLUTION_CAUSE_GONE,
                 absl::StrCat("the cause has been absent for ", absent_ns * kSecondsPerNano, " s"));
}

wire::Verdict IncidentBook::Tell(const std::string& job, const Verdict& verdict) const {
  wire::Verdict told = ToProto(verdict);
  if (name_gpus_ != nullptr) name_gpus_(job, told);
  return told;
}

bool IncidentBook::IsToBeTold(const wire::Incident& incident, const Verdict& verdict, int64_t wall_ns) const {
  return !IsSuspicion(verdict) || (is_lemon_ != nullptr && is_lemon_(incident, wall_ns));
}

std::optional<IncidentEvent> IncidentBook::Open(const Key& key, const Verdict& verdict, const SeenLedger& ledger,
                                                int64_t wall_ns) {
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
  *incident.mutable_verdict() = Tell(incident.job(), verdict);
  TakeLedgerShare(ledger, incident);
  incident.set_opened_wall_ns(wall_ns);
  incident.set_suspected(!IsToBeTold(incident, verdict, wall_ns));
  AddTransition(incident, incident.suspected() ? "suspected" : "opened", wall_ns, ReasonToTell(incident, verdict));
  return Begin(entry, IncidentEvent::Kind::kOpened, wall_ns);
}

IncidentEvent IncidentBook::Begin(Entry& entry, IncidentEvent::Kind kind, int64_t wall_ns) {
  wire::Incident& incident = entry.incident;
  entry.began_ns = wall_ns;
  incident.set_maintenance(maintenance_ == nullptr ? 0 : maintenance_(incident, wall_ns));
  if (incident.maintenance() != 0) {
    AddTransition(incident, "maintenance_begins", wall_ns, absl::StrCat("window ", incident.maintenance()));
  }
  incident.set_folded_under(0);
  if (!IsQuiet(incident)) FoldIntoStorm(entry, wall_ns);
  incident.set_withheld(IsQuiet(incident));
  return Publish(entry, kind, wall_ns);
}

std::optional<IncidentEvent> IncidentBook::Update(Entry& entry, const Verdict& verdict, const SeenLedger& ledger,
                                                  int64_t wall_ns) {
  wire::Incident& incident = entry.incident;
  wire::Verdict newer = Tell(incident.job(), verdict);
  CopyProfileEvidence(incident.verdict(), newer);
  const std::string change = MaterialChange(incident.verdict(), newer);
  if (!SaysTheSame(incident.verdict(), newer)) entry.has_news = true;
  *incident.mutable_verdict() = std::move(newer);
  if (TakeLedgerShare(ledger, incident)) entry.has_news = true;
  const bool due = wall_ns - incident.updated_wall_ns() >= options_.update_every_ns;
  if (incident.suspected() && (due || !IsSuspicion(verdict)) && IsToBeTold(incident, verdict, wall_ns)) {
    incident.set_suspected(false);
    AddTransition(incident, "opened", wall_ns, ReasonToTell(incident, verdict));
    entry.began_ns = wall_ns;
    if (!IsQuiet(incident)) FoldIntoStorm(entry, wall_ns);
    return Wake(entry, wall_ns);
  }
  if (change.empty() && !(due && entry.has_news)) return std::nullopt;
  if (!change.empty()) AddTransition(incident, "updated", wall_ns, change);
  return Publish(entry, IncidentEvent::Kind::kUpdated, wall_ns);
}

IncidentEvent IncidentBook::Reopen(Entry& entry, const Verdict& verdict, const SeenLedger& ledger, int64_t wall_ns) {
  wire::Incident& incident = entry.incident;
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_resolved_wall_ns(0);
  incident.set_resolution(wire::Incident::RESOLUTION_UNSPECIFIED);
  incident.clear_resolved_by();
  incident.set_reopened(incident.reopened() + 1);
  incident.clear_acknowledgement();  // whoever had it in hand has seen it end
  incident.set_folds(0);
  wire::Verdict newer = Tell(incident.job(), verdict);
  CopyProfileEvidence(incident.verdict(), newer);
  *incident.mutable_verdict() = std::move(newer);
  incident.clear_ledger_share();  // of the last time
  TakeLedgerShare(ledger, incident);
  incident.set_suspected(incident.suspected() && !IsToBeTold(incident, verdict, wall_ns));
  AddTransition(incident, "reopened", wall_ns, Headline(incident.verdict()));
  NoteFlapping(incident, wall_ns);
  return Begin(entry, IncidentEvent::Kind::kReopened, wall_ns);
}

void IncidentBook::NoteFlapping(wire::Incident& incident, int64_t wall_ns) const {
  const auto& transitions = incident.transitions();
  const auto times = std::count_if(transitions.begin(), transitions.end(), [&](const auto& transition) {
    return transition.what() == "reopened" && wall_ns - transition.wall_ns() <= options_.flap_within_ns;
  });
  if (times < options_.flap_reopenings) return;
  incident.set_flapping(true);
  AddTransition(incident, "flapping", wall_ns,
                absl::StrCat("it came back ", times, " times within ", options_.flap_within_ns * kSecondsPerNano,
                             " s, and stays open until its cause is absent for ",
                             options_.flap_quiet_ns * kSecondsPerNano, " s"));
}

IncidentEvent IncidentBook::Resolve(Entry& entry, int64_t wall_ns, wire::Incident::Resolution how,
                                    const std::string& why) {
  wire::Incident& incident = entry.incident;
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(wall_ns);
  incident.set_resolution(how);
  incident.set_flapping(false);
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
