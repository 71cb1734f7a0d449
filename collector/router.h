// Between streams and shards: admits agents, turns reports into slices, and gives each slice to the shard of its job.
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
#include "collector/ingest/agent_registry.h"
#include "collector/ingest/report_sink.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"
#include "collector/shard.h"
#include "collector/store/history_store.h"

namespace lockstep {

// The shard of a job: the same for the same name and count, always.
size_t ShardOfJob(const std::string& job, size_t shards);

class Router final : public ReportSink {
 public:
  // References are borrowed. `lookups` asks `history` how far agents got. SetShards must be called before the first
  // stream is served.
  Router(AgentRegistry& agents, FailingSources& sources, HistoryStore& history, QueryWorker& lookups,
         CollectorMetrics& metrics, const Clock& clock);

  void SetShards(std::vector<Shard*> shards) { shards_ = std::move(shards); }

  // Resumes all parked streams; called by shards that have made room.
  void ResumeParked();

  // ReportSink
  void Admit(const wire::AgentHello& hello, const std::shared_ptr<AgentStream>& stream, Admitted admitted) override;
  absl::StatusOr<std::vector<JobSlice>> Prepare(const AgentLedger& agent, wire::AgentReport report) override;
  bool Deliver(JobSlice& slice) override;
  void Park(const std::shared_ptr<AgentStream>& stream) override;
  void OnRejected(const char* reason) override;
  void OnReport(size_t bytes, bool duplicate, uint64_t missing_before) override;
  void OnForeignJob(size_t processes) override;
  void OnAckSent() override;
  int64_t WallNanos() const override { return clock_.WallNanos(); }

 private:
  void Count(const HostReport& report, const ConvertLosses& losses);

  AgentRegistry& agents_;
  FailingSources& sources_;
  HistoryStore& history_;
  QueryWorker& lookups_;
  CollectorMetrics& metrics_;
  const Clock& clock_;
  std::vector<Shard*> shards_;

  Mutex mutex_;
  std::vector<std::weak_ptr<AgentStream>> parked_ ABSL_GUARDED_BY(mutex_);  // at most one entry per stream
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ROUTER_H_
