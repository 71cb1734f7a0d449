// Has ranks of a slow job profiled by itself, and what their functions do differently joins the incident.
//
// Once in a while it asks the schedule (profile_schedule.h) which job is due. It profiles those whom the job's open
// incidents suspect and peers of the same duty, where agents offer profiles, for as long as a few steps last, functions
// of Python included. The audit keeps it first, on disk: where it cannot, nobody is profiled. The audit is also what
// the schedule knows of earlier lives, so that a collector that is started again does not profile again. What agents
// answer is compared (detector/patterns) and given to the shard of the job. Only one setting of an operator and the
// engine's conclusions have any of this as a consequence: nobody's question has.
//
// Limits: kMostUnderWay jobs at the same time, and those of DemandBook. Not thread-safe: Look and Restore belong to one
// thread; answers may come from any. All that is given to it must outlive it.

#ifndef LOCKSTEP_COLLECTOR_PROFILES_SELF_PROFILES_H_
#define LOCKSTEP_COLLECTOR_PROFILES_SELF_PROFILES_H_

#include <prometheus/registry.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "collector/access/audit_log.h"
#include "collector/demands/demand_book.h"
#include "collector/incident_index.h"
#include "collector/job_table.h"
#include "collector/metrics.h"
#include "collector/profiles/profile_gathering.h"
#include "collector/profiles/profile_metrics.h"
#include "collector/profiles/profile_schedule.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

class SelfProfiles {
 public:
  static constexpr size_t kMostUnderWay = 2;
  // The word of the audit.
  static constexpr char kAction[] = "profile";

  using Snapshots = std::vector<std::shared_ptr<const JobsSnapshot>>;  // one per shard

  struct Parts {
    DemandBook& demands;
    AuditLog& audit;
    HistoryStore& history;
    const IncidentIndex& incidents;
    QueryWorker& worker;
    CollectorMetrics& metrics;
    const Clock& os_clock;  // that of the audit
    const Clock& clock;     // the collector's time line
    std::function<Snapshots()> snapshots;
    std::function<bool(const std::string& host)> offers;  // whether its agent takes profiles
    // Has the task called by the thread to which the job belongs; false when that has too much to do.
    std::function<bool(const std::string& job, std::function<void(JobTable&)> task)> run_on_shard;
    bool enabled = true;
  };

  explicit SelfProfiles(Parts parts) : parts_(std::move(parts)), outcomes_(*parts_.metrics.registry()) {}

  // Learns from the audit which jobs were profiled in the last hour. The error of a history that cannot be read.
  absl::Status Restore();

  // Begins what is due. To be called every few seconds. O(open incidents + jobs).
  void Look();

 private:
  // The processes to profile because of `incidents` of `job`: none where no agent of a suspect offers it.
  std::vector<DemandTarget> Targets(const Snapshots& snapshots, const std::string& job,
                                    absl::Span<const wire::Incident> incidents) const;
  void Begin(const wire::Job& job, const ProfileReason& reason, std::vector<DemandTarget> targets);
  void Conclude(const std::string& job, const std::string& because, const GatheredProfiles& gathered);

  const Parts parts_;
  ProfileMetrics outcomes_;
  ProfileSchedule schedule_;
  std::atomic<size_t> under_way_{0};
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_PROFILES_SELF_PROFILES_H_
