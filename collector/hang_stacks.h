// Has stacks taken by itself when a job hangs: of the culprits and of two ranks that wait for them, once per incident.
//
// Stands before the outbox of incidents and sees each change first. What the agents answer goes into history by the
// query thread, with the incident's id; there it stays within its bytes (collector/store/stack_records.h). Nobody's
// question has any of this as a consequence: only the engine's conclusion does. Thread-safe; never blocks.

#ifndef LOCKSTEP_COLLECTOR_HANG_STACKS_H_
#define LOCKSTEP_COLLECTOR_HANG_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
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

  // AlertSink
  void Announce(const IncidentEvent& event) override;

 private:
  void Take(const wire::Incident& incident);
  void Keep(uint64_t incident, const std::string& job, uint32_t place, const DemandResult& result);

  const Parts parts_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HANG_STACKS_H_
