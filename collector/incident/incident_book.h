// From conclusions to incidents: one incident per cause, which opens, is updated, resolves, and may reopen.
//
// Pure: time comes with the calls. Not thread-safe: one book belongs to one shard. What does not fit is
// counted.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "detector/engine/job_engine.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct IncidentBookOptions {
  int64_t resolve_after_ns = 3'000'000'000;    // a cause must be gone this long, with data to judge by
  int64_t reopen_within_ns = 600'000'000'000;  // the same cause within this time is the same incident
  int64_t update_every_ns = 5'000'000'000;     // newer evidence is published at most this often
  int max_incidents = 10'000;                  // in memory; the oldest resolved ones are forgotten first
};

// What happened to an incident; the incident is already in its new state.
struct IncidentEvent {
  enum class Kind { kOpened, kUpdated, kResolved, kReopened, kAcknowledged };
  Kind kind;
  wire::Incident incident;

  // Nobody is called a second time because somebody has answered: receivers read of it with the next change.
  bool is_for_receivers() const { return kind != Kind::kAcknowledged; }
};

class IncidentBook {
 public:
  // Transitions that an incident remembers, the newest.
  static constexpr int kMaxTransitions = 64;

  // `next_id` hands out ids that were never used before.
  IncidentBook(const IncidentBookOptions& options, std::function<uint64_t()> next_id);

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
  std::vector<IncidentEvent> Apply(const std::string& job, const JobEngine::Conclusion& conclusion, int64_t wall_ns);

  // Somebody has an open incident of `job` in hand, or nullptr: nobody has any more. The time of `by` is left out.
  // Holds until the incident is opened anew. NOT_FOUND for an incident that the book does not hold, FAILED_PRECONDITION
  // for one that is resolved, and for one that nobody has in hand.
  absl::StatusOr<IncidentEvent> Acknowledge(const std::string& job, uint64_t id,
                                            const wire::Incident::Acknowledgement* by, int64_t wall_ns);

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
    bool has_news = false;                   // the verdict changed since the newest event
    bool inherited = false;                  // found by an earlier engine, and not yet by this one
  };
  using Key = std::pair<std::string, std::string>;  // job, cause

  // A cause that is named more exactly than before ("node-1", then a rank of it) goes on as the same incident.
  void ContinueAs(const std::string& job, const std::string& cause,
                  const std::map<std::string, const Verdict*>& present);
  std::optional<IncidentEvent> ApplyPresent(const Key& key, const Verdict& verdict, int64_t wall_ns);
  std::optional<IncidentEvent> ApplyAbsent(Entry& entry, int64_t wall_ns);
  std::optional<IncidentEvent> Open(const Key& key, const Verdict& verdict, int64_t wall_ns);
  std::optional<IncidentEvent> Update(Entry& entry, const Verdict& verdict, int64_t wall_ns);
  static IncidentEvent Reopen(Entry& entry, const Verdict& verdict, int64_t wall_ns);
  static IncidentEvent Resolve(Entry& entry, int64_t wall_ns, wire::Incident::Resolution how, const std::string& why);
  static IncidentEvent Publish(Entry& entry, IncidentEvent::Kind kind, int64_t wall_ns);
  bool MakeRoom();

  IncidentBookOptions options_;
  std::function<uint64_t()> next_id_;
  std::map<Key, Entry> entries_;  // at most max_incidents, and what Restore brought
  uint64_t refused_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_H_
