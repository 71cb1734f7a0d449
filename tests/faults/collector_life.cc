#include "tests/faults/collector_life.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/alert_memory.h"
#include "collector/warm_start.h"

namespace lockstep::faults {
namespace {

constexpr size_t kMaxIncidentsInMemory = 10'000;
constexpr int64_t kDrainNanos = 5 * kNanosPerSecond;
constexpr int64_t kShards = 2;

CollectorOptions MakeOptions() {
  CollectorOptions options;
  options.shards = kShards;
  options.webhook_urls = {kReceiverUrl};
  return options;
}

}  // namespace

CollectorLife::CollectorLife(std::shared_ptr<SimulatedDisk> disk, const Random& random)
    : options_(MakeOptions()),
      random_(random),
      disk_(std::move(disk)),
      env_(rocksdb::NewCompositeEnv(disk_)),
      incidents_(kMaxIncidentsInMemory),
      agents_(ToRegistryOptions(options_), clock_) {}

absl::StatusOr<std::unique_ptr<CollectorLife>> CollectorLife::Start(const std::string& directory,
                                                                    const StoreWriterOptions& writer,
                                                                    std::shared_ptr<SimulatedDisk> disk,
                                                                    const Random& random, const Sabotage& sabotage,
                                                                    WriteLedger& ledger) {
  std::unique_ptr<CollectorLife> life(new CollectorLife(std::move(disk), random));
  RETURN_IF_ERROR(life->Open(directory, writer, sabotage, ledger));
  return life;
}

absl::Status CollectorLife::Open(const std::string& directory, const StoreWriterOptions& writer,
                                 const Sabotage& sabotage, WriteLedger& ledger) {
  RocksStoreOptions store = ToStoreOptions(options_);
  store.directory = directory;
  store.env = env_.get();
  ASSIGN_OR_RETURN(std::unique_ptr<RocksStore> opened, OpenRocksStore(store, clock_));
  store_ = std::make_unique<SabotagedStore>(std::move(opened), sabotage, ledger);
  sinks_ = std::make_unique<AlertSinks>(PlainAlertRoutes(options_), clock_, random_, MemoryIn(*store_, metrics_));
  ASSIGN_OR_RETURN(access_, AccessControl::Open("", clock_, metrics_.access));
  writer_ = std::make_unique<StoreWriter>(writer, *store_, metrics_, [this] { agents_.RewindLost(); });
  outbox_ = std::make_unique<IncidentOutbox>(IncidentOutboxOptions(), *store_, *sinks_, metrics_);
  lookups_ = std::make_unique<QueryWorker>(kMaxWaitingLookups);
  router_ = std::make_unique<Router>(agents_, sources_, gpus_, *store_, *lookups_, metrics_, clock_);
  ingest_ = std::make_unique<IngestService>(IngestServiceOptions(), *access_, *router_, clock_);
  return StartShards();
}

absl::Status CollectorLife::StartShards() {
  ASSIGN_OR_RETURN(const std::vector<wire::Incident> incidents, store_->LoadIncidents());
  for (const wire::Incident& incident : incidents) incidents_.Put(incident);
  incident_ids_ = std::make_unique<IncidentIds>(*store_, incidents_);
  RETURN_IF_ERROR(incident_ids_->Restore());
  RETURN_IF_ERROR(outbox_->TellLeftOver(incidents));
  ASSIGN_OR_RETURN(const std::vector<LoggedJob> logged, store_->LoggedJobs());
  clock_.ContinueBehind(NewestOf(logged));
  if (const absl::Status status = RecoverSeries(logged, *store_); !status.ok()) {
    Log(LogLevel::kError, "the newest samples before the start may be missing", {{"error", status.ToString()}});
  }
  RestoreNames(logged, clock_.MonotonicNanos(), *store_, router_->names(), router_->runs());
  for (size_t i = 0; i < static_cast<size_t>(options_.shards); ++i) StartShard(i, incidents, logged);
  std::vector<Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  router_->SetShards(std::move(shards));
  return absl::OkStatus();
}

void CollectorLife::StartShard(size_t index, const std::vector<wire::Incident>& incidents,
                               const std::vector<LoggedJob>& logged) {
  const JobTableOptions job_options = ToJobTableOptions(options_);
  const auto is_own = [&](const std::string& job) {
    return ShardOfJob(job, static_cast<size_t>(options_.shards)) == index;
  };
  const int64_t since_ns = clock_.WallNanos() - job_options.forget_after_ns;
  const ShardPast past = PastOf(is_own, since_ns, incidents, logged);
  const JobTable::Outlets outlets = {
      *writer_,
      *outbox_,
      incidents_,
      metrics_,
      [this](const std::string& host, const wire::Command& command) { return router_->Send(host, command); },
      nullptr,
      [this](const std::string& job, wire::Verdict& verdict) { gpus_.Name(job, verdict); },
      [this] { return agents_.agents(); },
      [this](const std::string& job, int64_t max_inputs, const JobTable::Visit& visit) {
        if (!writer_->WaitWritten(kLogWaitNanos)) return absl::UnavailableError("the store is too slow");
        return ReadRecentLog({.max_inputs = max_inputs}, job, clock_.WallNanos(), *store_, visit);
      }};
  auto jobs = std::make_unique<JobTable>(job_options, clock_, outlets);
  jobs->Restore(past.incidents);
  shards_.push_back(std::make_unique<Shard>(
      ShardOptions(), clock_, std::move(jobs),
      [this, recent = past.jobs](JobTable& table) { WarmUpJobs(WarmStartOptions(), recent, *store_, table); },
      [this] { router_->ResumeParked(); }));
}

CollectorLife::~CollectorLife() {
  if (ingest_ != nullptr) CHECK(ingest_->Drain(kDrainNanos));
  if (lookups_ != nullptr) lookups_->Close();
  for (const auto& shard : shards_) shard->Close();
  if (outbox_ != nullptr) outbox_->Close();
  if (!shards_.empty()) incident_ids_->GiveBack();
  if (writer_ != nullptr) writer_->Close().IgnoreError();
}

void CollectorLife::Housekeep() {
  ingest_->CloseMute();
  ingest_->CloseRevoked();
  agents_.ForgetGone();
  sources_.ForgetSilent(clock_.WallNanos());
  outbox_->TellOverdue();
  incident_ids_->RenewOn(*lookups_);
  sinks_->ExportTo(metrics_);
}

bool CollectorLife::is_warm() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const auto& shard) { return shard->has_begun(); });
}

QueueFill CollectorLife::fill() const {
  QueueFill fill;
  for (const auto& shard : shards_) fill.shard_slices = std::max(fill.shard_slices, shard->waiting());
  fill.store_items = writer_->waiting();
  fill.alerts_waiting = static_cast<uint64_t>(metrics_.alerts.waiting.Value());
  fill.agents = agents_.agents().size();
  return fill;
}

}  // namespace lockstep::faults
