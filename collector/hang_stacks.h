// Has stacks taken by itself when a job hangs: of the culprits and of two ranks that wait for them, once per incident.
//
// Stands before the outbox of incidents and sees each change first: an incident may open as something else, or name a
// host, and the hang or its rank be known later. The first change that names somebody counts, and later ones only for
// culprits that were not asked yet. An agent that refuses is asked again, kMostStackAsks times in all.
//
// What the agents answer goes into history by the query thread, with the incident's id; there it stays within its bytes
// (collector/store/stack_records.h). Nobody's question has any of this as a consequence: only the engine's conclusion
// does. At most kMaxStackIncidents are remembered, the newest; a forgotten one is counted. Thread-safe; never blocks.

#ifndef LOCKSTEP_COLLECTOR_HANG_STACKS_H_
#define LOCKSTEP_COLLECTOR_HANG_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/alert/alert_sink.h"
#include "collector/demands/demand_book.h"
#include "collector/job_table.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

// Whose stacks tell most of `incident`, of the `ranks` of its job: at most kMaxStackCulprits processes of culprits, and
// then kMaxStackVictims others, on other hosts where there are any. None for what is no hang, or only suspected. Pure.
inline constexpr size_t kMaxStackCulprits = 4;
inline constexpr size_t kMaxStackVictims = 2;
inline constexpr size_t kMaxStackIncidents = 1'000;  // open at the same time, of which each was a hang
inline constexpr int kMostStackAsks = 3;             // of one process, each as long after the other as one may take
std::vector<DemandTarget> StackTargets(const wire::Incident& incident, const std::vector<wire::Rank>& ranks);

class HangStacks final : public AlertSink {
 public:
  // References are borrowed.
  struct Parts {
    AlertSink& next;
    DemandBook& demands;
    HistoryStore& history;
    QueryWorker& worker;
    CollectorMetrics& metrics;
    const Clock& clock;                                                           // the collector's time line
    std::function<std::vector<std::shared_ptr<const JobsSnapshot>>()> snapshots;  // one per shard
    bool enabled = true;
  };

  explicit HangStacks(Parts parts) : parts_(std::move(parts)) {}

  // Hangs of an earlier life had their stacks taken in that. To be called first, if at all.
  void Restore(absl::Span<const wire::Incident> incidents);

  // AlertSink
  void Announce(const IncidentEvent& event) override;

  // Asks those again whose agents have refused. To be called once per second.
  void AskAgain();

 private:
  // One process, and where its stacks are kept with the incident.
  struct Asked {
    DemandTarget target;
    uint32_t place = 0;
    int times = 0;
    int64_t again_ns = 0;  // of the monotonic clock; 0 = not to be asked again
  };
  struct Taken {
    std::string job;
    std::vector<Asked> asked;
    bool is_of_earlier_life = false;
  };

  // Who is to be asked now because of a change of `incident`.
  std::vector<Asked> NewlyAsked(const wire::Incident& incident, const std::vector<wire::Rank>& ranks);
  void Forget(uint64_t incident);
  void Ask(uint64_t incident, const std::string& job, const Asked& asked);
  void OnAnswer(uint64_t incident, const std::string& job, uint32_t place, const DemandResult& result);
  void NoteRefusal(uint64_t incident, uint32_t place);
  void Keep(uint64_t incident, const std::string& job, uint32_t place, const DemandResult& result);

  const Parts parts_;
  Mutex mutex_;
  std::map<uint64_t, Taken> taken_ ABSL_GUARDED_BY(mutex_);  // by incident
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HANG_STACKS_H_
