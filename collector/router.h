// Between streams and shards: admits agents, turns reports into slices, and gives each slice to the shard of its job.
// What an agent calls a job ends here (job_names.h): on the way back, commands get that name again.
//
// Thread-safe. Never blocks.

#ifndef LOCKSTEP_COLLECTOR_ROUTER_H_
#define LOCKSTEP_COLLECTOR_ROUTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "collector/convert/convert_losses.h"
#include "collector/failing_sources.h"
#include "collector/gpu_directory.h"
#include "collector/ingest/agent_registry.h"
#include "collector/ingest/report_sink.h"
#include "collector/job_names.h"
#include "collector/metrics.h"
#include "collector/place_runs.h"
#include "collector/query_worker.h"
#include "collector/sent_job_names.h"
#include "collector/shard.h"
#include "collector/store/history_store.h"
#include "proto/demand.pb.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// The shard of a job: the same for the same name and count, always.
size_t ShardOfJob(const std::string& job, size_t shards);

class Router final : public ReportSink {
 public:
  // References are borrowed. `lookups` asks `history` how far agents got. SetShards must be called before the first
  // stream is served.
  Router(AgentRegistry& agents, FailingSources& sources, GpuDirectory& gpus, HistoryStore& history,
         QueryWorker& lookups, CollectorMetrics& metrics, const Clock& clock);

  void SetShards(std::vector<Shard*> shards) { shards_ = std::move(shards); }

  // Who is told of answers to demands; nobody until then. Must be called before the first stream is served.
  using OnDemandAnswer = std::function<void(const std::string& host, const wire::DemandAnswer& part)>;
  void SetOnDemandAnswer(OnDemandAnswer answer) { on_demand_answer_ = std::move(answer); }

  // OK, or why agents that come cannot be told how far they got, and are sent away.
  absl::Status HistoryHealth() const;

  // Resumes all parked streams; called by shards that have made room.
  void ResumeParked();

  // Sends a command for a job to the agent of a host. False = it is not connected, or takes no more.
  bool Send(const std::string& host, wire::Command command);

  // Which processes belong together, for what an earlier life knew.
  JobNames& names() { return names_; }
  PlaceRuns& runs() { return runs_; }

  // ReportSink
  void Admit(const wire::AgentHello& hello, const std::shared_ptr<AgentStream>& stream, Admitted admitted) override;
  absl::StatusOr<std::vector<JobSlice>> Prepare(const AgentLedger& agent, wire::AgentReport report,
                                                bool is_believed_of_all) override;
  bool Deliver(JobSlice& slice) override;
  void Park(const std::shared_ptr<AgentStream>& stream) override;
  void OnRejected(const char* reason) override;
  void OnReport(size_t bytes, bool duplicate, uint64_t missing_before) override;
  void OnForeignJob(size_t processes) override;
  void OnAckSent() override;
  int64_t WallNanos() const override { return clock_.WallNanos(); }

 private:
  void NoteLookup(const absl::Status& status);
  void SettleNames(const std::string& host, wire::AgentReport& report);
  void Count(const HostReport& report, const ConvertLosses& losses);

  AgentRegistry& agents_;
  FailingSources& sources_;
  GpuDirectory& gpus_;
  HistoryStore& history_;
  QueryWorker& lookups_;
  CollectorMetrics& metrics_;
  const Clock& clock_;
  std::vector<Shard*> shards_;
  JobNames names_;
  PlaceRuns runs_;  // before names_
  SentJobNames sent_names_;
  OnDemandAnswer on_demand_answer_ = [](const std::string&, const wire::DemandAnswer&) {};

  mutable Mutex mutex_;
  absl::Status history_health_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<AgentStream>> parked_ ABSL_GUARDED_BY(mutex_);  // at most one entry per stream
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ROUTER_H_
