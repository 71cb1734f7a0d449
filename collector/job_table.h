// All jobs of one shard: stamps what arrives, feeds it to the job's pipeline, logs it in the same order, concludes, and
// turns conclusions into incidents.
//
// Belongs to one thread, which calls Observe and Evaluate; only snapshot() and turns() may be called from others.
// What a limit refuses is counted.

#ifndef LOCKSTEP_COLLECTOR_JOB_TABLE_H_
#define LOCKSTEP_COLLECTOR_JOB_TABLE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/alert/alert_sink.h"
#include "collector/fleet_pulse.h"
#include "collector/incident/incident_action.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/profile_evidence.h"
#include "collector/incident_index.h"
#include "collector/ingest/agent_registry.h"
#include "collector/ingest/job_slice.h"
#include "collector/input_log.h"
#include "collector/job_log.h"
#include "collector/job_pipeline.h"
#include "collector/log_allowance.h"
#include "collector/metrics.h"
#include "collector/seen_span.h"
#include "detector/engine/job_engine.h"
#include "detector/model/fleet_sight.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "proto/ingest.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

struct JobTableOptions {
  JobEngineOptions engine;
  IncidentBookOptions incidents;
  size_t max_jobs = 1'000;                    // when there are more, owners have equal shares
  int64_t forget_after_ns = 600'000'000'000;  // without a report of the job
  int64_t ranks_every_ns = 1'000'000'000;     // how often the ranks of a snapshot are renewed
  size_t max_hosts_per_job = 20'000;          // remembered for display
};

// What queries see of the jobs of one shard, as of one evaluation. Immutable once published.
struct JobsSnapshot {
  // Shared between snapshots, because ranks are renewed more seldom than jobs.
  using Ranks = std::shared_ptr<const std::vector<wire::Rank>>;

  using Hosts = std::shared_ptr<const std::map<std::string, SeenSpan>>;

  std::vector<wire::Job> jobs;         // by name
  std::map<std::string, Ranks> ranks;  // by job
  std::map<std::string, Hosts> hosts;  // by job: on which its ranks were seen lately, and since when without a long gap
};

class JobTable {
 public:
  // Visits what the log of a job holds of the recent past, in order, until `visit` returns an error.
  using Visit = std::function<absl::Status(const wire::CaptureEntry&)>;
  using ReadLog = std::function<absl::Status(const Visit& visit)>;

  // All references are borrowed for the life of the table.
  struct Outlets {
    InputLog& log;
    AlertSink& alerts;
    IncidentIndex& index;
    CollectorMetrics& metrics;
    // Sends a command to the agent of a host; false when that is not connected. Thread-safe, never blocks.
    std::function<bool(const std::string& host, const wire::Command& command)> command_agent;
    // The window of maintenance in which an incident is; nothing: there are none. Thread-safe.
    IncidentBook::Maintenance maintenance = nullptr;
    // Completes the names of GPUs in verdicts; nothing: they stay as they are. Thread-safe.
    IncidentBook::NameGpus name_gpus = nullptr;
    // All agents that are known; nothing: nobody looks beside a job that fell silent. Thread-safe.
    std::function<std::vector<AgentView>()> agents = nullptr;
    // Visits the log of `job` of before now, all that was appended included: `max_inputs` and the latest, about.
    // Nothing: engines that begin anew know nothing. May wait for a store that is slow.
    std::function<absl::Status(const std::string& job, int64_t max_inputs, const Visit& visit)> read_log = nullptr;
  };

  // Stamps are those of `clock`: a time line (time_line.h) that goes on behind those of earlier lives.
  JobTable(const JobTableOptions& options, const Clock& clock, const Outlets& outlets);

  // Takes over the incidents of an earlier life of the collector. To be called first, if at all.
  void Restore(const std::vector<wire::Incident>& incidents);

  // Lets the engine of a job of an earlier life go on where its log ends, from the first report of the job on. If the
  // log cannot be read, the job begins anew with that. After Restore, before the first Observe.
  void WarmUpJob(const std::string& name, const ReadLog& read);

  void Observe(JobSlice slice);

  // Somebody says something of an incident of `job`. The incident as it is from now on; history has it a little later
  // (IncidentOutbox::WhenWritten). Errors as IncidentBook::Act.
  absl::StatusOr<wire::Incident> Act(const std::string& job, uint64_t id, const IncidentAction& action);

  // Ranks of a job were profiled (IncidentBook::AddProfile). Of a job that is over or stands still nothing is added.
  void AddProfile(const std::string& job, const JobProfile& profile);

  // All ranks of job `part` are of job `whole`: nobody tells of `part` any more (job_names.h).
  void EndPart(const std::string& part, const std::string& whole);

  // Other options from here on. If engines have to judge otherwise, all begin anew.
  void Reconfigure(const JobTableOptions& options);

  // Concludes about every job; everything observed before counts. Publishes the snapshot.
  void Evaluate();

  // Of the last evaluation; never nullptr. Thread-safe.
  std::shared_ptr<const JobsSnapshot> snapshot() const;

  // Slices observed, jobs evaluated and entries of logs read so far: each may have to wait for a slow store, so that
  // one call of Evaluate may take long and not be stuck. Thread-safe.
  uint64_t turns() const { return turns_.load(); }

 private:
  struct Job {
    JobPipeline pipeline;
    int64_t first_seen_ns;
    int64_t last_seen_ns;
    std::map<std::string, SeenSpan> hosts;
    bool log_has_hole = false;            // begin anew as soon as the store is healthy
    JobState state = JobState::kUnknown;  // as of the last evaluation
    std::string owner;                    // "" = unknown
    int64_t resumed_ns = 0;               // went on with the log of an earlier life then; 0 = it did not
    int64_t warmed_from_ns = 0;           // of an earlier life, and no report yet: its log was given from here on
    uint64_t name_conflicts = 0;          // of the engine, as far as they were told
    int64_t conflict_warned_ns = 0;
    JobsSnapshot::Ranks ranks;
    JobsSnapshot::Hosts published_hosts;
  };

  // Stamps rise strictly.
  int64_t NextStamp() { return newest_stamp_ns_ = std::max(newest_stamp_ns_ + 1, clock_.WallNanos()); }
  // nullptr = there is no room. What belongs to no job always has room.
  Job* FindOrCreate(const std::string& name, const wire::AgentReport& report);
  // Of a full table: the newest job of whoever has most makes room for one of an owner that has at least two fewer, so
  // that no user can have all the room. False = this owner has its share. O(jobs).
  bool MakeRoomFor(const std::string& owner);
  void Resume(const std::string& name, Job& job);
  int64_t LogReset(const std::string& name, Job& job, const std::string& why, int64_t warmed_from_ns = 0);
  // Begins anew where the log has a hole and takes writes again. True if it did.
  bool MendHole(const std::string& name, Job& job);
  // Another engine, which knows what the log holds: incidents that are open stay so until it has judged all.
  void BeginAnew(const std::string& name, Job& job, const std::string& why);
  // Gives a new engine the log of its job, if there is time for that. From where on; 0 = it knows nothing.
  int64_t GiveLog(const std::string& name, Job& job);
  // The log has not taken an entry of the job.
  static void NoteHole(Job& job, bool taken);
  void EvaluateJob(const std::string& name, Job& job, int64_t watermark_ns, bool renew_ranks);
  // What the watermark of a job says of the fleet: something only of one that fell silent and is not over.
  FleetSight LookBeside(const Job& job, int64_t watermark_ns);
  void NoteConflicts(const std::string& name, Job& job, const JobSummary& summary, int64_t watermark_ns);
  void SendRequests(const std::string& name, const JobEngine::Conclusion& conclusion);
  void Conclude(const std::string& name, Job& job, JobEngine::Conclusion conclusion, int64_t watermark_ns);
  void Publish(const std::vector<IncidentEvent>& events);
  void EndOrphans(int64_t now_ns);
  bool ForgetIfIdle(const std::string& name, const Job& job, int64_t now_ns);
  // What the newest look at the job's operations and profiles of its ranks say of its time.
  SeenLedger LedgerOf(const std::string& name, const Job& job) const;
  wire::Job Describe(const std::string& name, const Job& job) const;
  void NoteHost(Job& job, const std::string& host, int64_t stamp_ns) const;
  void ForgetHosts(Job& job, int64_t now_ns) const;

  JobTableOptions options_;
  const Clock& clock_;
  const Outlets outlets_;
  JobLog log_;
  LogAllowance allowance_;
  IncidentBook book_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, int64_t> orphans_;  // jobs with restored open incidents, and since when they are awaited
  std::optional<FleetPulse> pulse_;         // of the evaluation under way, once a job needs it
  int64_t newest_stamp_ns_ = 0;
  int64_t ranks_renewed_ns_ = 0;
  std::atomic<uint64_t> turns_{0};

  mutable Mutex mutex_;
  std::shared_ptr<const JobsSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_JOB_TABLE_H_
