#include "collector/collector.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/convert/report_limits.h"
#include "collector/host_histories.h"
#include "collector/inventory_file.h"
#include "collector/stacks_page.h"
#include "collector/warm_start.h"
#include "daemon/health_routes.h"
#include "daemon/tls/server_credentials.h"
#include "daemon/web/guarded_pages.h"

namespace lockstep {
namespace {

constexpr size_t kMaxIncidentsInMemory = 10'000;
constexpr uint64_t kHostHistoriesEvery = 10;  // housekeepings
constexpr uint64_t kSelfProfilesEvery = 5;    // housekeepings
constexpr size_t kMostHostScores = 20;        // labels of that metric
constexpr int64_t kDrainNanos = 5 * kNanosPerSecond;
// Connections that do not get through their handshake keep descriptors from those that would.
constexpr int kHandshakeMillis = 10'000;
constexpr int64_t kOddAheadNanos = 60 * kNanosPerSecond;
// The longest turns that are no fault. A shard waits for the store for 2 s per slice, and judges a fleet in seconds. A
// disk that is busy with compaction or a short outage of its network comes back within a minute or so.
constexpr int64_t kThreadStuckNanos = 30 * kNanosPerSecond;
constexpr int64_t kStoreStuckNanos = 120 * kNanosPerSecond;

// Stamps go on behind the log, so that history stays in order: times are then told too late until the clocks meet.
void WarnOfFutureLog(int64_t newest_ns, int64_t now_ns) {
  const int64_t ahead_ns = newest_ns - now_ns;
  if (ahead_ns < kOddAheadNanos) return;
  Log(LogLevel::kWarning, "history is ahead of the wall clock: times are told too late until they meet",
      {{"ahead_seconds", std::to_string(ahead_ns / kNanosPerSecond)}});
}

}  // namespace

Collector::Collector(const CollectorOptions& options, const Dependencies& dependencies, Door door)
    : options_(options),
      dependencies_(dependencies),
      started_wall_ns_(dependencies.clock.WallNanos()),
      forget_jobs_after_ns_(ToJobTableOptions(options).forget_after_ns),
      door_(std::move(door)),
      audit_(options.audit_file, dependencies.os_clock, dependencies.store, dependencies.metrics,
             options.audit_file_max_bytes),
      incidents_(kMaxIncidentsInMemory),
      incident_ids_(dependencies.store, incidents_),
      maintenance_(dependencies.store,
                   [&metrics = dependencies.metrics](uint64_t n) { metrics.CountDropped("maintenance_window", n); }),
      host_scores_(*dependencies.metrics.registry()),
      agents_(ToRegistryOptions(options), dependencies.clock),
      hosts_(ToRegistryOptions(options).silent_after_ns, started_wall_ns_),
      writer_(StoreWriterOptions(), dependencies.store, dependencies.metrics, [this] { agents_.RewindLost(); }),
      outbox_(IncidentOutboxOptions(), dependencies.store, dependencies.receivers, dependencies.metrics),
      hook_({outbox_, audit_, dependencies.store, incidents_, dependencies.os_clock,
             [this] { return agents_.agents().size(); }, *dependencies.metrics.registry()}),
      lookups_(kMaxWaitingLookups),
      router_(agents_, sources_, gpus_, dependencies.store, lookups_, dependencies.metrics, dependencies.clock),
      door_audit_(audit_, dependencies.store, worker_),
      backups_(dependencies.backups, dependencies.clock, dependencies.metrics.backups),
      demands_([this](const std::string& host, const wire::Command& command) { return router_.Send(host, command); },
               [this](const std::string& host, absl::string_view kind) { return agents_.Offers(host, kind); },
               dependencies.clock, dependencies.metrics.demands),
      hang_stacks_(MakeHangStacksParts()),
      self_profiles_(MakeSelfProfilesParts()),
      ingest_(IngestServiceOptions(), *door_.access, router_, dependencies.clock),
      query_(MakeView()),
      admin_(MakeAdminParts()) {
  router_.SetOnDemandAnswer(
      [this](const std::string& host, const wire::DemandAnswer& part) { demands_.OnAnswer(host, part); });
  door_.access->SetOnRefusal([this](const std::string& peer, absl::string_view method, const absl::Status& why) {
    const bool taken =
        worker_.TryRun([this, peer, method = std::string(method), why] { audit_.NoteRefusal(peer, method, why); });
    if (!taken) dependencies_.metrics.CountDropped("audit_write");
  });
}

Collector::~Collector() { Drain(); }

absl::StatusOr<std::unique_ptr<Collector>> Collector::Start(const CollectorOptions& options,
                                                            const Dependencies& dependencies) {
  ASSIGN_OR_RETURN(Door door, OpenDoor(options, dependencies));
  ASSIGN_OR_RETURN(const std::vector<LoggedJob> logged, dependencies.store.LoggedJobs());
  WarnOfFutureLog(NewestOf(logged), dependencies.os_clock.WallNanos());
  dependencies.clock.ContinueBehind(NewestOf(logged));
  auto collector = std::unique_ptr<Collector>(new Collector(options, dependencies, std::move(door)));
  RETURN_IF_ERROR(collector->audit_.CheckFile());
  RETURN_IF_ERROR(collector->ReadInventory(options.inventory));
  RETURN_IF_ERROR(collector->Remembered().Restore());
  RETURN_IF_ERROR(collector->StartShards(logged));
  RETURN_IF_ERROR(collector->StartHttp());
  RETURN_IF_ERROR(collector->StartGrpc());
  collector->WatchProgress();
  collector->dependencies_.metrics.start_time_seconds.Set(static_cast<double>(collector->started_wall_ns_) /
                                                          kNanosPerSecond);
  collector->serving_ = true;
  return collector;
}

absl::StatusOr<Collector::Door> Collector::OpenDoor(const CollectorOptions& options, const Dependencies& dependencies) {
  Door door;
  ASSIGN_OR_RETURN(door.access,
                   AccessControl::Open(options.access_rules, dependencies.os_clock, dependencies.metrics.access));
  if (options.tls.certificate.empty()) return door;
  if (options.tls.authorities.empty() && !door.access->takes_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat("nobody could get in: tls.client_ca is empty, and ", options.access_rules, " names no tokens"));
  }
  ASSIGN_OR_RETURN(door.tls, TlsWatch::Open(options.tls));
  return door;
}

absl::Status Collector::StartShards(const std::vector<LoggedJob>& logged) {
  ASSIGN_OR_RETURN(const std::vector<wire::Incident> incidents, dependencies_.store.LoadIncidents());
  for (const wire::Incident& incident : incidents) incidents_.Put(incident);
  dependencies_.metrics.SetIncidents(incidents_.Counts());
  RETURN_IF_ERROR(incident_ids_.Restore());
  RETURN_IF_ERROR(maintenance_.Restore());
  hang_stacks_.Restore(incidents);
  RETURN_IF_ERROR(self_profiles_.Restore());
  RETURN_IF_ERROR(outbox_.TellLeftOver(incidents));
  if (const absl::Status status = RecoverSeries(logged, dependencies_.store); !status.ok()) {
    Log(LogLevel::kError, "the newest samples before the start may be missing", {{"error", status.ToString()}});
  }
  RestoreNames(logged, dependencies_.clock.MonotonicNanos(), dependencies_.store, router_.names(), router_.runs());
  for (size_t i = 0; i < static_cast<size_t>(options_.shards); ++i) StartShard(i, incidents, logged);
  std::vector<Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  router_.SetShards(std::move(shards));
  return absl::OkStatus();
}

void Collector::StartShard(size_t index, const std::vector<wire::Incident>& incidents,
                           const std::vector<LoggedJob>& logged) {
  const JobTableOptions job_options = ToJobTableOptions(options_);
  const auto is_own = [&](const std::string& job) {
    return ShardOfJob(job, static_cast<size_t>(options_.shards)) == index;
  };
  const int64_t since_ns = dependencies_.clock.WallNanos() - job_options.forget_after_ns;
  const ShardPast past = PastOf(is_own, since_ns, incidents, logged);
  const JobTable::Outlets outlets = {
      writer_,
      hang_stacks_,
      incidents_,
      dependencies_.metrics,
      [this](const std::string& host, const wire::Command& command) { return router_.Send(host, command); },
      [this](const wire::Incident& incident, int64_t wall_ns) { return maintenance_.WindowOf(incident, wall_ns); },
      [this](const std::string& job, wire::Verdict& verdict) { gpus_.Name(job, verdict); },
      [this] { return agents_.agents(); },
      [this](const std::string& job, int64_t max_inputs, const JobTable::Visit& visit) {
        if (!writer_.WaitWritten(kLogWaitNanos)) return absl::UnavailableError("the store is too slow");
        return ReadRecentLog({.max_inputs = max_inputs}, job, dependencies_.clock.WallNanos(), dependencies_.store,
                             visit);
      }};
  auto jobs = std::make_unique<JobTable>(job_options, dependencies_.clock, outlets);
  jobs->Restore(past.incidents);
  shards_.push_back(std::make_unique<Shard>(
      ShardOptions(), dependencies_.clock, std::move(jobs),
      [this, recent = past.jobs](JobTable& table) {
        WarmUpJobs(WarmStartOptions(), recent, dependencies_.store, table);
      },
      [this] { router_.ResumeParked(); }));
}

absl::Status Collector::StartHttp() {
  std::vector<HttpRoute> routes =
      HealthRoutes(*dependencies_.metrics.registry(), {.alive = [this] { return Moving(); },
                                                       .ready = [this] { return Ready(); },
                                                       .before_scrape = [this] { RenewGauges(); }});
  routes.push_back(StacksPage(options_.pages.address, incidents_, dependencies_.store));
  ASSIGN_OR_RETURN(http_, StartPages(options_.pages, std::move(routes), dependencies_.clock));
  return absl::OkStatus();
}

void Collector::WatchProgress() {
  probe_ =
      std::make_unique<IngestProbe>(server_->InProcessChannel(grpc::ChannelArguments()), door_.access->own_token());
  watch_.Watch("the main loop", kThreadStuckNanos,
               [this] { return Progress{.turns = housekeepings_.load(), .has_work = serving_.load()}; });
  for (size_t i = 0; i < shards_.size(); ++i) {
    watch_.Watch(absl::StrCat("shard ", i), kThreadStuckNanos, [&shard = *shards_[i]] { return shard.progress(); });
  }
  watch_.Watch("the store writer", kStoreStuckNanos, [this] { return writer_.progress(); });
  watch_.Watch("the reader of history for queries", kStoreStuckNanos, [this] { return worker_.progress(); });
  watch_.Watch("the reader of history for agents", kStoreStuckNanos, [this] { return lookups_.progress(); });
  watch_.Watch("the streams of agents", kThreadStuckNanos,
               [this] { return serving_.load() ? probe_->progress() : Progress(); });
}

absl::Status Collector::StartGrpc() {
  grpc::ServerBuilder builder;
  AddGrpcPort(builder);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // A capture entry is a report and a little more.
  builder.SetMaxSendMessageSize(2 * kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.RegisterService(&ingest_);
  builder.RegisterService(&query_);
  builder.RegisterService(&admin_);
  server_ = builder.BuildAndStart();
  if (server_ != nullptr && grpc_port_ != 0) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("cannot listen on ", options_.listen_address));
}

void Collector::AddGrpcPort(grpc::ServerBuilder& builder) {
  if (door_.tls == nullptr) {
    credentials_ = grpc::InsecureServerCredentials();
  } else {
    // Who has no certificate may still have a token, but only where there are any.
    const ClientCertificate with_authorities =
        door_.access->takes_tokens() ? ClientCertificate::kOptional : ClientCertificate::kRequired;
    credentials_ = MakeServerCredentials(
        *door_.tls, options_.tls.authorities.empty() ? ClientCertificate::kNotAsked : with_authorities);
    LimitConnectionAge(absl::ToInt64Nanoseconds(options_.tls_max_connection_age), builder);
  }
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
  builder.AddListeningPort(options_.listen_address, credentials_, &grpc_port_);
}

absl::Status Collector::Moving() { return watch_.Check(dependencies_.clock.MonotonicNanos()); }

absl::Status Collector::Ready() {
  std::vector<std::string> wrong;
  if (!serving_.load()) wrong.push_back("starting or draining");
  if (!std::all_of(shards_.begin(), shards_.end(), [](const auto& shard) { return shard->has_begun(); })) {
    wrong.push_back("engines are given the log of their jobs");
  }
  absl::Status history = writer_.Health();
  if (history.ok()) history = router_.HistoryHealth();
  if (!history.ok()) {
    wrong.push_back(absl::StrCat("history: ", history.message(), "; detection and alerts go on, agents keep reports"));
  }
  if (dependencies_.keeper != nullptr) {
    if (const absl::Status disk = dependencies_.keeper->Health(); !disk.ok()) {
      wrong.push_back(absl::StrCat("history: ", disk.message()));
    }
  }
  if (const absl::Status moving = Moving(); !moving.ok()) wrong.push_back(std::string(moving.message()));
  return wrong.empty() ? absl::OkStatus() : absl::UnavailableError(absl::StrJoin(wrong, "; "));
}

void Collector::Reconfigure(const JobTableOptions& options, int64_t host_silent_ns) {
  forget_jobs_after_ns_ = options.forget_after_ns;
  agents_.SetSilentAfter(host_silent_ns);
  hosts_.SetSilentAfter(host_silent_ns);
  for (const auto& shard : shards_) shard->Reconfigure(options);
}

void Collector::Housekeep() {
  ++housekeepings_;
  if (door_.tls != nullptr) door_.tls->Refresh();
  door_.access->Refresh();
  door_audit_.Look(DoorFiles());
  http_->Refresh();
  probe_->Ask();
  ingest_.CloseMute();
  ingest_.CloseRevoked();
  agents_.ForgetGone();
  sources_.ForgetSilent(dependencies_.clock.WallNanos());
  router_.names().ForgetSilent(dependencies_.clock.MonotonicNanos(), forget_jobs_after_ns_.load());
  router_.runs().ForgetSilent(dependencies_.clock.WallNanos(), forget_jobs_after_ns_.load());
  Remembered().Renew(agents_.agents(), worker_);
  incident_ids_.RenewOn(worker_);
  dependencies_.metrics.CountDropped("failing_source", static_cast<double>(sources_.TakeRefused()));
  dependencies_.metrics.CountDropped("expected_host", static_cast<double>(hosts_.TakeRefused()));
  demands_.Expire();
  hang_stacks_.AskAgain();
  if (housekeepings_.load() % kSelfProfilesEvery == 0) self_profiles_.Look();
  outbox_.TellOverdue();
  if (housekeepings_.load() % kHostHistoriesEvery == 1) RenewHostHistories();
  RenewGauges();
}

void Collector::RenewHostHistories() {
  std::vector<wire::HostHistory> histories =
      HostHistories(incidents_, dependencies_.clock.WallNanos(), [](const std::string& /*job*/) { return true; });
  if (histories.size() > kMostHostScores) histories.resize(kMostHostScores);
  host_scores_.Set(histories);
}

void Collector::RenewGauges() {
  CollectorMetrics& metrics = dependencies_.metrics;
  const std::vector<AgentView> agents = agents_.agents();
  const auto count = [&](bool AgentView::*fact) {
    return static_cast<double>(
        std::count_if(agents.begin(), agents.end(), [&](const AgentView& agent) { return agent.*fact; }));
  };
  metrics.agents.known.Set(static_cast<double>(agents.size()));
  metrics.agents.connected.Set(count(&AgentView::connected));
  metrics.agents.silent.Set(count(&AgentView::silent));
  const int64_t now_ns = dependencies_.clock.WallNanos();
  metrics.agents.missing.Set(static_cast<double>(hosts_.Missing(agents, now_ns).size()));
  metrics.agents.streams.Set(static_cast<double>(ingest_.streams()));
  const auto failing = sources_.Count(now_ns);
  for (size_t i = 0; i < failing.size(); ++i) metrics.agents.SetFailingSource(FailingSources::kNames[i], failing[i]);
  metrics.SetQueue("store", writer_.waiting(), writer_.capacity());
  for (size_t i = 0; i < shards_.size(); ++i) {
    metrics.SetQueue(absl::StrCat("shard", i), shards_[i]->waiting(), shards_[i]->capacity());
  }
}

absl::Status Collector::ReloadAccess() {
  if (door_.tls != nullptr) door_.tls->Refresh();
  return door_.access->Reload();
}

std::vector<DoorFile> Collector::DoorFiles() const {
  std::vector<DoorFile> files = door_.access->files();
  if (door_.tls != nullptr) {
    files.push_back({"change_authorities", options_.tls.authorities, door_.tls->current().material->authorities});
  }
  files.push_back({"change_web_config", options_.pages.web_config, http_->guard_text()});
  return files;
}

void Collector::NoteReload(const ReloadOutcome& outcome, int64_t uid) {
  dependencies_.metrics.reloads.Count(outcome.ok());
  if (outcome.ok() && outcome.applied.empty() && outcome.need_restart.empty()) return;
  std::vector<std::string> of = {absl::StrCat("applied: ", absl::StrJoin(outcome.applied, " "))};
  if (!outcome.need_restart.empty()) {
    of.push_back(absl::StrCat("need a restart: ", absl::StrJoin(outcome.need_restart, " ")));
  }
  const absl::Status status =
      outcome.ok() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(outcome.problems, "; "));
  const bool taken = worker_.TryRun([this, of = absl::StrJoin(of, "; "), by = absl::StrCat("uid ", uid), status] {
    audit_.Note(by, "SIGHUP", "reload_settings", of, status).IgnoreError();  // it has happened already
  });
  if (!taken) dependencies_.metrics.CountDropped("audit_write");
}

absl::Status Collector::ReadInventory(const std::string& path) {
  ASSIGN_OR_RETURN(const Inventory inventory, lockstep::ReadInventory(path));
  hosts_.SetInventory(inventory.hosts);
  door_audit_.TookOn({"change_inventory", path, inventory.text});
  return absl::OkStatus();
}

void Collector::SetHook(const AlertRoutes& routes) {
  hook_.SetRoutes(routes);
  door_audit_.TookOn({"change_alert_routes", routes.file, routes.text});
}

std::string Collector::Unwritten() {
  std::string text = absl::StrCat(writer_.unwritten(), " entries of history and ", outbox_.unwritten(),
                                  " changes of incidents are not written");
  if (const absl::Status history = writer_.Health(); !history.ok()) absl::StrAppend(&text, ": ", history.message());
  return text;
}

void Collector::Drain() {
  if (std::exchange(drained_, true)) return;
  serving_ = false;
  if (probe_ != nullptr) probe_->Stop();
  if (!ingest_.Drain(kDrainNanos)) Log(LogLevel::kWarning, "streams left after draining");
  if (server_ != nullptr) {
    server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(kDrainNanos, GPR_TIMESPAN)));
    server_->Wait();
  }
  worker_.Close();
  lookups_.Close();
  backups_.Close();
  for (const auto& shard : shards_) shard->Close();
  hook_.Close();
  outbox_.Close();
  if (!shards_.empty()) incident_ids_.GiveBack();
  const absl::Status flushed = writer_.Close();
  if (!flushed.ok()) Log(LogLevel::kError, "history was not flushed", {{"error", flushed.ToString()}});
  http_.reset();
}

}  // namespace lockstep
