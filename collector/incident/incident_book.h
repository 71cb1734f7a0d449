// From conclusions to incidents: one incident per cause, which opens, is updated, resolves, and may reopen.
//
// An observation begins as a suspicion, and is open from the first accusation of the same cause on. One that stops the
// job is open at once: somebody has to be called, whoever is to blame. So is one about a host that other jobs blamed:
// it stays an observation, and blames the host no further. What comes and goes too often stays open until it is quiet
// for longer. When many open in one job within a short time, one of them stands for the others: it says how many they
// are, and nobody hears of these until it ends; then the oldest of those that are still open takes its place. What
// stops a job is never folded under what does not.
//
// Pure: time comes with the calls. Not thread-safe: one book belongs to one shard. What does not fit is
// counted.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/incident/incident_action.h"
#include "collector/incident/incident_state.h"
#include "collector/incident/profile_evidence.h"
#include "detector/engine/job_engine.h"
#include "detector/verdict/job_report.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct IncidentBookOptions {
  int64_t resolve_after_ns = 3'000'000'000;  // a cause must be gone this long, with data to judge by
  // In its place for what an earlier engine has found slow and this one has not: it may be in no hurry (a rank that has
  // to log is given 20 s and eight steps), and `inherited_steps` of the job more.
  int64_t inherited_after_ns = 30'000'000'000;
  double inherited_steps = 10;
  int64_t reopen_within_ns = 600'000'000'000;  // the same cause within this time is the same incident
  int64_t update_every_ns = 5'000'000'000;     // newer evidence is published at most this often
  int max_incidents = 10'000;                  // in memory; the oldest resolved ones are forgotten first
  int64_t by_hand_grace_ns = 300'000'000'000;  // what somebody resolved reopens by evidence from so much later on
  int flap_reopenings = 3;                     // so many within flap_within_ns, and it is flapping
  int64_t flap_within_ns = 1'800'000'000'000;
  int64_t flap_quiet_ns = 600'000'000'000;  // in place of resolve_after_ns while it is flapping
  int storm_incidents = 8;  // so many opened in one job within storm_within_ns, and further ones are folded
  int64_t storm_within_ns = 60'000'000'000;
  int64_t profile_quiet_ns = 60'000'000'000;  // in place of resolve_after_ns for what rests on profiles
};

// What happened to an incident; the incident is already in its new state.
struct IncidentEvent {
  // kOpened: also when what was quiet is not so any more. kNoted: somebody said something of it, or it became quiet.
  enum class Kind { kOpened, kUpdated, kResolved, kReopened, kAcknowledged, kNoted };
  Kind kind;
  wire::Incident incident;

  // By the table of kinds (event_kinds.h). Nobody is called a second time because somebody has answered: receivers read
  // of it with the next change.
  bool is_for_receivers() const;
};

// An incident after something was said of it; no event if that says nothing new.
struct ActedIncident {
  wire::Incident incident;
  std::optional<IncidentEvent> event;
};

// What is known of a job besides its verdicts.
struct JobSight {
  // Its steps take no longer than they ought to. What rests on profiles ends by that, or by a newer profile: the
  // engine, which sees none, does not miss it.
  bool is_well = false;
  // It stands still, and some of its hosts are not heard: what has stopped it may hold, whatever else is found.
  bool is_blind = false;
  double step_seconds = 0;  // 0 = not known
  // Whether that host is heard: who is, is not unreachable, whatever an engine could judge so far. Nothing: nobody is.
  std::function<bool(const std::string& host)> hears = nullptr;
};

class IncidentBook {
 public:
  // The window of maintenance in which an open incident is at a time; 0 = none.
  using Maintenance = std::function<uint64_t(const wire::Incident& incident, int64_t wall_ns)>;

  // Gives the culprits of a verdict about a job all names of their GPUs.
  using NameGpus = std::function<void(const std::string& job, wire::Verdict& verdict)>;

  // Whether the host that an incident names first has a history that lends weight to what is not proven.
  using IsLemon = std::function<bool(const wire::Incident& incident, int64_t wall_ns)>;

  // `next_id` hands out ids that were never used before. No `maintenance`: there are no windows. No `name_gpus`:
  // nothing is known of GPUs but what verdicts say. No `is_lemon`: all hosts are equal.
  IncidentBook(const IncidentBookOptions& options, std::function<uint64_t()> next_id, Maintenance maintenance = nullptr,
               NameGpus name_gpus = nullptr, IsLemon is_lemon = nullptr);

  // Takes over incidents of an earlier life of the collector. Open ones stay open until an engine that has judged all
  // of the job misses their cause; the same cause seen again continues them, without a second "opened". Of several with
  // one job and cause the one with the highest id counts.
  void Restore(const std::vector<wire::Incident>& incidents);

  // Applies all that the detector concluded about `job` at `wall_ns`. Verdicts given hold. Those missing no longer hold
  // only if the detector could conclude: missing data neither opens nor resolves. Evidence from before an incident was
  // resolved does not reopen it. Events in order of cause.
  //
  // A change of class or of culprits within one cause is published at once and becomes a transition; newer numbers are
  // published every `update_every_ns`.
  //
  // A verdict about a host or a GPU, and no rank of it, opens nothing where an incident of the same family names a rank
  // there: that holds as long as it is missing, and says more.
  //
  // `ledger`: of the job. Incidents keep what it says of their findings; that alone is news when it is the first time.
  std::vector<IncidentEvent> Apply(const std::string& job, const JobEngine::Conclusion& conclusion, int64_t wall_ns,
                                   const JobSight& sight = {}, const SeenLedger& ledger = {});

  // Ranks of `job` were profiled. A finding joins the open incident that names its culprits, or has its cause, or else
  // is of the whole job as the finding is; an observation joins the incident because of which profiles were taken. An
  // accusation that no incident takes opens one. What an earlier profile of the same ranks has shown is forgotten, and
  // what rests on that alone is resolved. O(incidents of the job) for each finding.
  std::vector<IncidentEvent> AddProfile(const std::string& job, const JobProfile& profile, int64_t wall_ns);

  // What a finding that rests on profiles alone takes of a step.
  struct ProfiledCost {
    std::string finding;  // as in the ledger
    double share = 0;     // of the time of a step
  };
  // Of the open incidents of `job`, the costliest first. O(incidents of the job).
  std::vector<ProfiledCost> ProfiledCosts(const std::string& job) const;

  // Somebody says something of an incident of `job`. NOT_FOUND for one that the book does not hold, else the errors of
  // Apply (incident_action.h). Who has it in hand is forgotten when it opens anew, a silence when its time is over.
  absl::StatusOr<ActedIncident> Act(const std::string& job, uint64_t id, const IncidentAction& action, int64_t wall_ns);

  // What time alone changes: silences and windows of maintenance begin and end, and what was folded under an incident
  // that is over is so no more. To be called about twice a second. O(incidents).
  std::vector<IncidentEvent> Tick(int64_t wall_ns);

  // Other limits and times from here on. REQUIRES: max_incidents > 0.
  void SetOptions(const IncidentBookOptions& options) { options_ = options; }

  // The engine of the job knows nothing any more: what is open stays so as after Restore.
  void BeginAnew(const std::string& job);

  // The job is over, and nobody has seen the causes go: resolves what is open, saying so.
  std::vector<IncidentEvent> EndJob(const std::string& job, int64_t wall_ns, wire::Incident::Resolution how,
                                    const std::string& why);

  size_t size() const { return entries_.size(); }

  // Causes that could not become incidents because `max_incidents` are open, counted once per Apply.
  uint64_t refused() const { return refused_; }

 private:
  struct Entry {
    wire::Incident incident;
    std::optional<int64_t> absent_since_ns;  // empty = the cause holds, as far as is known
    int64_t began_ns = 0;                    // when it was opened, or reopened, last
    bool has_news = false;                   // the verdict changed since the newest event
    bool inherited = false;                  // found by an earlier engine, and not yet by this one
  };
  using Key = std::pair<std::string, std::string>;  // job, cause

  // A cause that is named more exactly than before ("node-1", then a rank of it; ranks that hang, then one of them)
  // goes on as the same incident.
  void ContinueAs(const std::string& job, const std::string& cause, const Verdict& verdict,
                  const std::map<std::string, const Verdict*>& present);
  // Leaves out of `present` what an open incident names more exactly, and gives the causes of those.
  std::set<std::string> TakeLessExact(const std::string& job, std::map<std::string, const Verdict*>& present) const;
  std::optional<IncidentEvent> ApplyPresent(const Key& key, const Verdict& verdict, const SeenLedger& ledger,
                                            int64_t wall_ns);
  std::optional<IncidentEvent> ApplyAbsent(Entry& entry, int64_t wall_ns, const JobSight& sight);
  // How long its cause must be gone.
  int64_t GoneAfter(const Entry& entry, const JobSight& sight) const;
  // A verdict about `job` as it is told.
  wire::Verdict Tell(const std::string& job, const Verdict& verdict) const;
  // Whether somebody has to hear of it although it may be no more than an observation.
  bool IsToBeTold(const wire::Incident& incident, const Verdict& verdict, int64_t wall_ns) const;
  std::optional<IncidentEvent> Open(const Key& key, const Verdict& verdict, const SeenLedger& ledger, int64_t wall_ns);
  std::optional<IncidentEvent> Update(Entry& entry, const Verdict& verdict, const SeenLedger& ledger, int64_t wall_ns);
  IncidentEvent Reopen(Entry& entry, const Verdict& verdict, const SeenLedger& ledger, int64_t wall_ns);
  // Tells of an incident that has just opened, unless it is quiet from the beginning.
  IncidentEvent Begin(Entry& entry, IncidentEvent::Kind kind, int64_t wall_ns);
  void NoteFlapping(wire::Incident& incident, int64_t wall_ns) const;
  void FoldIntoStorm(Entry& entry, int64_t wall_ns);
  Entry* FindOpen(const std::string& job, uint64_t id);  // nullptr = there is none
  // The one that a profile's verdict of this cause says more of; `reason` is the id of that because of which it was
  // taken. nullptr = there is none.
  Entry* FindExplained(const Key& key, const wire::Verdict& found, uint64_t reason);
  // Opens it, or reopens it, and keeps in `opened` which. `found` is `finding` as it is told.
  void OpenByProfile(const Key& key, const Verdict& finding, const wire::Verdict& found, int64_t wall_ns,
                     std::map<Entry*, IncidentEvent::Kind>& opened);
  // After something that made it quiet has ended: calls somebody, unless something else does.
  static IncidentEvent Wake(Entry& entry, int64_t wall_ns);
  void TickOne(Entry& entry, int64_t wall_ns, std::vector<IncidentEvent>& events);
  // Puts the oldest of those that were folded under `leader` in its place.
  void FollowUp(const std::string& job, uint64_t leader, int64_t wall_ns, std::vector<IncidentEvent>& events);
  static IncidentEvent Resolve(Entry& entry, int64_t wall_ns, wire::Incident::Resolution how, const std::string& why);
  static IncidentEvent Publish(Entry& entry, IncidentEvent::Kind kind, int64_t wall_ns);
  bool MakeRoom();

  IncidentBookOptions options_;
  std::function<uint64_t()> next_id_;
  Maintenance maintenance_;
  NameGpus name_gpus_;
  IsLemon is_lemon_;
  std::map<Key, Entry> entries_;  // at most max_incidents, and what Restore brought
  uint64_t refused_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
