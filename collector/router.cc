#include "collector/router.h"

#include <utility>

#include "base/check.h"
#include "base/fnv1a.h"
#include "base/status_macros.h"
#include "collector/convert/convert.h"
#include "collector/convert/places.h"
#include "collector/convert/report_limits.h"
#include "collector/convert/report_split.h"
#include "collector/history_damage.h"
#include "collector/job_table.h"

namespace lockstep {

size_t ShardOfJob(const std::string& job, size_t shards) { return Fnv1a(job) % shards; }

Router::Router(AgentRegistry& agents, FailingSources& sources, GpuDirectory& gpus, HistoryStore& history,
               QueryWorker& lookups, CollectorMetrics& metrics, const Clock& clock)
    : agents_(agents),
      sources_(sources),
      gpus_(gpus),
      history_(history),
      lookups_(lookups),
      metrics_(metrics),
      clock_(clock) {}

void Router::Admit(const wire::AgentHello& hello, const std::shared_ptr<AgentStream>& stream, Admitted admitted) {
  ConvertLosses losses;
  AgentRegistry::Hello said = {
      hello.host(), hello.incarnation(), hello.version(), ToPlaces(hello.places(), losses), hello.sender(), {}};
  for (const std::string& kind : hello.demands()) {
    if (said.demands.size() < kMaxDemandKinds) said.demands.insert(kind);
  }
  const auto connect = [this, said = std::move(said), weak = std::weak_ptr<AgentStream>(stream),
                        admitted = std::move(admitted)](absl::StatusOr<uint64_t> stored) {
    const std::shared_ptr<AgentStream> connecting = weak.lock();
    if (connecting == nullptr) return;
    if (!stored.ok()) return admitted(absl::UnavailableError(stored.status().message()));
    admitted(agents_.Connect(said, *stored, connecting));
    metrics_.agents.conflicts.Increment(static_cast<double>(agents_.TakeConflicts()));
  };
  metrics_.CountDropped("odd_place", static_cast<double>(losses.odd_places));
  if (const std::shared_ptr<AgentLedger> known = agents_.Find(hello.host(), hello.incarnation())) {
    return connect(known->stored_sequence());
  }
  const bool asked = lookups_.TryRun([this, connect, host = hello.host(), incarnation = hello.incarnation()] {
    absl::StatusOr<uint64_t> stored = history_.StoredSequence(host, incarnation);
    NoteLookup(stored.status());
    connect(std::move(stored));
  });
  if (!asked) connect(absl::UnavailableError("too many agents come at once, or the collector ends"));
}

// One agent that another part of history tells of is no sign that it is whole again.
void Router::NoteLookup(const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return;
  MutexLock lock(mutex_);
  history_health_ = DamagedHistory(status.message());
}

absl::Status Router::HistoryHealth() const {
  MutexLock lock(mutex_);
  return history_health_;
}

void Router::SettleNames(const std::string& host, wire::AgentReport& report) {
  const std::vector<std::string> sent = SentJobNames::JobsOf(report);
  runs_.Settle(host, clock_.WallNanos() - WaitedNanos(report), report);
  for (const JobNames::United& united : names_.Settle(host, clock_.MonotonicNanos(), report)) {
    // If the shard takes no task, the job is forgotten like any other of which nobody tells any more.
    if (!shards_.empty()) {
      shards_[ShardOfJob(united.part, shards_.size())]->TryRun(
          [united](JobTable& jobs) { jobs.EndPart(united.part, united.whole); });
    }
  }
  sent_names_.Note(host, sent, report);
  sent_names_.TakeBack(host, report);
  metrics_.CountDropped("job_name", static_cast<double>(names_.TakeRefused() + runs_.TakeRefused()));
}

bool Router::Send(const std::string& host, wire::Command command) {
  sent_names_.Address(host, command);
  return agents_.Send(host, command);
}

absl::StatusOr<std::vector<JobSlice>> Router::Prepare(const AgentLedger& agent, wire::AgentReport report,
                                                      bool is_believed_of_all) {
  // History has no use for them: they go to who waits, and no further.
  for (const wire::DemandAnswer& part : report.demand_answers()) on_demand_answer_(agent.host(), part);
  report.clear_demand_answers();
  if (is_believed_of_all) SettleNames(agent.host(), report);
  gpus_.Observe(agent.host(), report, clock_.MonotonicNanos(), clock_.WallNanos() - WaitedNanos(report));
  metrics_.CountDropped("gpu_name", static_cast<double>(gpus_.TakeRefused()));
  report.clear_gpus();  // no job's log keeps them: a tenant would read of all GPUs of the host
  ASSIGN_OR_RETURN(std::vector<wire::CaptureInput> inputs,
                   SplitReport(agent.host(), agent.incarnation(), std::move(report)));
  std::vector<JobSlice> slices(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    JobSlice& slice = slices[i];
    ConvertLosses losses;
    ASSIGN_OR_RETURN(slice.report, ToHostReport(inputs[i], losses));
    slice.input = std::move(inputs[i]);
    slice.places = agent.places();
    *slice.input.mutable_places() = ToWire(slice.places);
    slice.input.set_carries_points(i == 0);
    slice.bytes = slice.input.ByteSizeLong();
    Count(slice.report, losses);
  }
  // Every slice has them.
  if (!slices.empty()) sources_.Observe(agent.host(), slices.front().input.report(), clock_.WallNanos());
  return slices;
}

void Router::Count(const HostReport& report, const ConvertLosses& losses) {
  size_t operations = 0;
  for (const RankView& rank : report.ranks) {
    for (const CommunicatorView& communicator : rank.communicators) operations += communicator.operations.size();
  }
  metrics_.operations_received.Increment(static_cast<double>(operations));
  for (const PullAnswer& answer : report.answers) {
    if (answer.request >= kFirstWatchId) {
      (answer.done ? metrics_.watches.answered : metrics_.watches.refused).Increment();
      continue;
    }
    metrics_.pulls.operations_left_out.Increment(static_cast<double>(answer.left_out));
    for (const PulledOperations& pulled : answer.pulled) {
      metrics_.pulls.operations.Increment(static_cast<double>(pulled.operations.size()));
    }
  }
  metrics_.samples_received.Increment(static_cast<double>(report.samples.size()));
  metrics_.agent_records_dropped.Increment(static_cast<double>(report.dropped_records));
  metrics_.CountDropped("unknown_enum", static_cast<double>(losses.unknown_enums));
  metrics_.CountDropped("unknown_metric", static_cast<double>(losses.unknown_metrics));
  metrics_.CountDropped("non_finite_value", static_cast<double>(losses.non_finite_values));
  metrics_.CountDropped("unranked_process", static_cast<double>(losses.unranked_processes));
  metrics_.CountDropped("odd_ras_claim", static_cast<double>(losses.odd_ras_claims));
}

bool Router::Deliver(JobSlice& slice) {
  CHECK(!shards_.empty());
  return shards_[ShardOfJob(slice.input.job(), shards_.size())]->TryPush(slice);
}

void Router::Park(const std::shared_ptr<AgentStream>& stream) {
  metrics_.reads_withheld.Increment();
  MutexLock lock(mutex_);
  parked_.push_back(stream);
}

void Router::ResumeParked() {
  std::vector<std::weak_ptr<AgentStream>> parked;
  {
    MutexLock lock(mutex_);
    parked.swap(parked_);
  }
  for (const std::weak_ptr<AgentStream>& weak : parked) {
    if (const std::shared_ptr<AgentStream> stream = weak.lock()) stream->Resume();
  }
}

void Router::OnRejected(const char* reason) { metrics_.CountRejected(reason); }

void Router::OnReport(size_t bytes, bool duplicate, uint64_t missing_before) {
  metrics_.reports_received.Increment();
  metrics_.report_bytes_received.Increment(static_cast<double>(bytes));
  metrics_.reports_missing.Increment(static_cast<double>(missing_before));
  if (duplicate) metrics_.reports_duplicate.Increment();
}

void Router::OnForeignJob(size_t processes) { metrics_.CountDropped("foreign_job", static_cast<double>(processes)); }

void Router::OnAckSent() { metrics_.acks_sent.Increment(); }

}  // namespace lockstep
