// Write() makes one RocksDB batch of the log and the marks, and syncs it. Points go to OpenChunks and reach the disk
// later, in batches of their own, when their chunk is full. Those are not synced: a later life has them from the log.

#include "collector/store/rocks_store.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "collector/store/alert_records.h"
#include "collector/store/audit_records.h"
#include "collector/store/chunk.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/disk_share.h"
#include "collector/store/families.h"
#include "collector/store/family_stats.h"
#include "collector/store/gpu_records.h"
#include "collector/store/history_trimmer.h"
#include "collector/store/host_records.h"
#include "collector/store/incident_id_record.h"
#include "collector/store/incident_records.h"
#include "collector/store/keys.h"
#include "collector/store/log_chunk.h"
#include "collector/store/log_reader.h"
#include "collector/store/maintenance_records.h"
#include "collector/store/mark_records.h"
#include "collector/store/pause_record.h"
#include "collector/store/retention.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rollup.h"
#include "collector/store/series_names.h"
#include "collector/store/series_page.h"
#include "collector/store/series_reader.h"
#include "collector/store/stack_records.h"
#include "collector/store/told_records.h"
#include "collector/store/values.h"

namespace lockstep {
namespace {

constexpr int64_t kJobRefreshNanos = kNanosPerHour;         // how often a busy job is marked as in use
constexpr int64_t kSeriesRefreshNanos = kNanosPerDay;       // the same for a series
constexpr int64_t kSweepEveryNanos = 10 * kNanosPerSecond;  // how often old open chunks are looked for
constexpr size_t kMaxSealedBatchBytes = size_t{4} << 20;    // one RocksDB batch of sealed chunks

class RocksStoreImpl final : public RocksStore {
 public:
  RocksStoreImpl(const RocksStoreOptions& options, const Clock& clock, std::unique_ptr<RocksDatabase> database)
      : options_(options),
        clock_(clock),
        database_(std::move(database)),
        trimmer_(options, *database_, clock),
        log_reader_(*database_, corrupt_),
        series_reader_(options.open_chunks.span_ns, *database_, corrupt_),
        open_chunks_(options.open_chunks) {}

  // Learns how old history is, and what must never be given out again.
  absl::Status Initialize() {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(pauses_.Begin(clock_.WallNanos()));
    return LoadIncidents().status();
  }

  absl::Status Write(const StoreBatch& batch) override;
  absl::Status PutIncident(const wire::Incident& incident) override;
  absl::StatusOr<uint64_t> PutEvent(const wire::IncidentEvent& event,
                                    const std::vector<std::string>& receivers) override;
  absl::Status RemoveAlerts(const std::string& receiver, const std::vector<uint64_t>& numbers) override {
    MutexLock lock(mutex_);
    rocksdb::WriteBatch batch;
    removals_.Add(receiver, numbers, batch);
    return removals_.Note(receiver, Commit(batch, /*sync=*/true));
  }
  absl::StatusOr<std::vector<PendingAlert>> LoadAlerts() override { return ReadAlertRecords(*database_, corrupt_); }
  absl::StatusOr<size_t> PutTold(const ToldAlert& told) override { return told_.Put(told); }
  absl::StatusOr<std::vector<ToldAlert>> LoadTold() override {
    ASSIGN_OR_RETURN(const std::vector<wire::Incident> incidents, LoadIncidents());
    return told_.Load(incidents);
  }
  absl::StatusOr<uint64_t> StoredSequence(const std::string& host, uint64_t incarnation) override;
  absl::Status PutHosts(const std::vector<SeenHost>& hosts) override {
    return CommitNew(/*sync=*/false, [&](auto& batch) { AddHostRecords(*database_, hosts, batch); });
  }
  absl::Status RemoveHost(const std::string& name) override {
    MutexLock lock(mutex_);
    rocksdb::WriteBatch batch;
    new_hosts_.Remove(name, batch);
    RemoveGpuRecord(*database_, name, batch);
    return Commit(batch, /*sync=*/true);
  }
  absl::StatusOr<std::vector<SeenHost>> LoadHosts() override { return ReadHostRecords(*database_, corrupt_); }
  absl::Status PutGpus(const std::vector<wire::HostGpus>& hosts) override {
    return CommitNew(/*sync=*/false, [&](auto& batch) { AddGpuRecords(*database_, hosts, batch); });
  }
  absl::StatusOr<std::vector<wire::HostGpus>> LoadGpus() override { return ReadGpuRecords(*database_, corrupt_); }
  absl::Status PutMaintenance(const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone) override {
    return CommitNew(/*sync=*/true, [&](auto& batch) { AddMaintenance(*database_, window, gone, batch); });
  }
  absl::StatusOr<std::vector<wire::MaintenanceWindow>> LoadMaintenance() override {
    return ReadMaintenanceRecords(*database_, corrupt_);
  }
  absl::StatusOr<size_t> PutAudit(AuditKind kind, const wire::AuditRecord& record) override {
    return audit_.Put(kind, record);
  }
  absl::StatusOr<std::vector<wire::AuditRecord>> LoadAudit() override { return audit_.Load(); }
  absl::StatusOr<size_t> PutStacks(uint64_t incident, uint32_t place, const wire::StackDump& dump) override {
    return stacks_.Put(incident, place, dump);
  }
  absl::StatusOr<std::vector<wire::StackDump>> LoadStacks(uint64_t incident) override { return stacks_.Load(incident); }
  absl::StatusOr<std::vector<wire::Incident>> LoadIncidents() override;
  absl::Status PutIncidentIds(uint64_t id) override {
    return CommitNew(/*sync=*/true, [&](auto& batch) { AddIncidentIds(*database_, id, batch); });
  }
  absl::StatusOr<uint64_t> LoadIncidentIds() override { return ReadIncidentIds(*database_, corrupt_); }
  absl::StatusOr<std::vector<LoggedJob>> LoggedJobs() override { return log_reader_.Jobs(); }
  absl::Status ScanLog(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                       const std::function<bool(const wire::CaptureEntry&)>& visit) override {
    return log_reader_.Scan(job, std::max(from_wall_ns, Cutoff(Family::kLog)), to_wall_ns, visit);
  }
  absl::Status RecoverPoints(const std::vector<SeriesPoint>& points) override;
  absl::StatusOr<SeriesPage> ReadSeries(const SeriesSelector& selector, const SeriesLimits& limits) override;
  absl::Status Flush() override;
  RocksStoreStats stats() const override;
  RoomReport MakeRoom() override { return trimmer_.MakeRoom(); }
  absl::Status Compact() override { return database_->CompactAll(); }
  absl::Status WriteCopy(const std::string& directory) override {
    const absl::Status flushed = Flush();
    return flushed.ok() ? database_->WriteCheckpoint(directory) : flushed;
  }

 private:
  // Numbers and the index entries that a batch under construction uses.
  struct Draft {
    rocksdb::WriteBatch batch;
    uint64_t next_number = 0;
    std::map<std::string, uint64_t> ids;  // of names that this batch has looked up
  };

  Draft NewDraft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {.batch = rocksdb::WriteBatch(), .next_number = database_->NextNumber(), .ids = {}};
  }
  absl::StatusOr<uint64_t> IdOf(Draft& draft, Family family, const std::string& name, int64_t refresh_ns);
  absl::Status AddLog(Draft& draft, const std::vector<wire::CaptureEntry>& log);
  absl::Status AddSealed(Draft& draft, const SealedChunk& chunk);
  absl::Status WriteSealed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_, chunks_mutex_);
  absl::Status Commit(rocksdb::WriteBatch& batch, bool sync) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same with what `fill` adds to a new batch.
  template <typename Fill>
  absl::Status CommitNew(bool sync, const Fill& fill) {
    rocksdb::WriteBatch batch;
    fill(batch);
    MutexLock lock(mutex_);
    return Commit(batch, sync);
  }
  absl::Status ListNames(const SeriesSelector& selector, SeriesNames& names);
  // The points of one series between `from` and `to`, by time: `max_points` and what more was read.
  absl::StatusOr<std::vector<Point>> ReadPoints(const SeriesLabels& labels, MetricKind kind, int64_t from, int64_t to,
                                                size_t max_points);

  // What was last of use before that has gone.
  int64_t Cutoff(Family family) const {
    return std::max(database_->state().age.Cutoff(clock_.WallNanos(), RetentionOf(family, options_)),
                    database_->state().early_of(family).ForReaders());
  }

  const RocksStoreOptions options_;
  const Clock& clock_;
  const std::unique_ptr<RocksDatabase> database_;
  CorruptRecords corrupt_;
  AuditRecords audit_{*database_, corrupt_};
  StackRecords stacks_{*database_, corrupt_};
  ToldRecords told_{*database_, corrupt_};
  HistoryTrimmer trimmer_;
  LogReader log_reader_;
  SeriesReader series_reader_;

  // Writers hold it while they sync.
  Mutex mutex_;
  PauseRecord pauses_ ABSL_GUARDED_BY(mutex_){*database_, corrupt_};
  int64_t swept_wall_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  AlertRemovals removals_ ABSL_GUARDED_BY(mutex_){*database_};
  NewHostRecords new_hosts_ ABSL_GUARDED_BY(mutex_){*database_, corrupt_};
  // Nobody syncs under this one, so that readers need not wait for the disk. Taken after mutex_.
  mutable Mutex chunks_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  OpenChunks open_chunks_ ABSL_GUARDED_BY(chunks_mutex_);
  // Not guarded: whoever asks how the store is must not wait for a write that hangs.
  std::atomic<uint64_t> failed_writes_{0};
  std::atomic<uint64_t> dropped_points_{0};
  std::atomic<size_t> open_series_{0};
};

// ---- Writing ----

absl::Status RocksStoreImpl::Write(const StoreBatch& batch) {
  const int64_t now = clock_.WallNanos();
  MutexLock lock(mutex_);
  Draft draft = NewDraft();
  RETURN_IF_ERROR(AddLog(draft, batch.log));
  AddMarks(*database_, batch.marks, now, draft.batch);
  RETURN_IF_ERROR(new_hosts_.Add(batch.marks, now, draft.batch));
  // What has been stored is not kept by anybody else. One sync for all that the caller has gathered.
  if (draft.batch.Count() > 0) RETURN_IF_ERROR(Commit(draft.batch, /*sync=*/true));

  MutexLock chunks(chunks_mutex_);
  for (const SeriesPoint& point : batch.points) open_chunks_.Append(point);
  if (now - swept_wall_ns_ >= kSweepEveryNanos || now < swept_wall_ns_) {
    open_chunks_.SealOlder(now);
    swept_wall_ns_ = now;
  }
  // The log is written: an error now would make the caller write it again. The chunks stay and are tried again.
  WriteSealed().IgnoreError();
  return absl::OkStatus();
}

absl::Status RocksStoreImpl::Commit(rocksdb::WriteBatch& batch, bool sync) {
  pauses_.Add(batch);
  absl::Status status = pauses_.Note(database_->Write(batch, sync));
  if (!status.ok()) ++failed_writes_;
  return status;
}

absl::StatusOr<uint64_t> RocksStoreImpl::IdOf(Draft& draft, Family family, const std::string& name,
                                              int64_t refresh_ns) {
  const auto known = draft.ids.find(name);
  if (known != draft.ids.end()) return known->second;
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, database_->Get(family, name));
  const int64_t now = clock_.WallNanos();
  absl::StatusOr<IndexValue> index = absl::NotFoundError("");
  if (bytes.has_value()) index = DecodeIndex(*bytes);
  // A corrupt entry hides the older history of its name, but must not stop the newer from being written.
  if (bytes.has_value() && !index.ok()) corrupt_.Count(family, name, index.status());
  if (!index.ok()) index = IndexValue{.id = draft.next_number++, .used_until_wall_ns = 0};
  if (index->used_until_wall_ns < now) {
    index->used_until_wall_ns = now + refresh_ns;
    database_->Put(draft.batch, family, name, EncodeIndex(*index));
  }
  draft.ids.emplace(name, index->id);
  return index->id;
}

absl::Status RocksStoreImpl::AddLog(Draft& draft, const std::vector<wire::CaptureEntry>& log) {
  std::map<std::string, LogChunkBuilder> builders;
  const auto seal = [&](const std::string& job, LogChunkBuilder& builder) -> absl::Status {
    ASSIGN_OR_RETURN(const uint64_t id, IdOf(draft, Family::kJobs, job, kJobRefreshNanos));
    const TimedKey key{id, builder.first_wall_ns(), draft.next_number++};
    database_->Put(draft.batch, Family::kLog, EncodeTimedKey(key), builder.Seal());
    return absl::OkStatus();
  };
  for (const wire::CaptureEntry& entry : log) {
    const std::string& job = JobOf(entry);
    // The job "" is that of hosts which run no recorded process.
    if (entry.entry_case() == wire::CaptureEntry::ENTRY_NOT_SET) {
      return absl::InvalidArgumentError("a log entry names no job");
    }
    if (entry.ByteSizeLong() > kMaxLogEntryBytes) {
      return absl::InvalidArgumentError(absl::StrCat("a log entry of ", entry.ByteSizeLong(), " bytes is too large"));
    }
    LogChunkBuilder& builder = builders[job];
    if (builder.Add(entry)) continue;
    RETURN_IF_ERROR(seal(job, builder));
    builder.Add(entry);
  }
  for (auto& [job, builder] : builders) {
    if (!builder.empty()) RETURN_IF_ERROR(seal(job, builder));
  }
  return absl::OkStatus();
}

absl::Status RocksStoreImpl::AddSealed(Draft& draft, const SealedChunk& chunk) {
  ASSIGN_OR_RETURN(const uint64_t id,
                   IdOf(draft, Family::kSeries, EncodeSeriesLabels(chunk.labels), kSeriesRefreshNanos));
  const std::string key = EncodeTimedKey({id, chunk.points.front().first, draft.next_number++});
  database_->Put(draft.batch, Family::kChunks, key, EncodeChunk(chunk.points));
  database_->Put(draft.batch, Family::kRollups, key, EncodeRollup(RollUp(chunk.points)));
  return absl::OkStatus();
}

absl::Status RocksStoreImpl::WriteSealed() {
  dropped_points_ = open_chunks_.dropped_points();
  open_series_ = open_chunks_.open_series();
  while (!open_chunks_.sealed().empty()) {
    Draft draft = NewDraft();
    size_t drafted = 0;
    for (const SealedChunk& chunk : open_chunks_.sealed()) {
      RETURN_IF_ERROR(AddSealed(draft, chunk));
      ++drafted;
      if (draft.batch.GetDataSize() >= kMaxSealedBatchBytes) break;
    }
    RETURN_IF_ERROR(Commit(draft.batch, /*sync=*/false));
    open_chunks_.DropSealed(drafted);
  }
  return absl::OkStatus();
}

absl::Status RocksStoreImpl::PutIncident(const wire::Incident& incident) {
  wire::IncidentEvent event;
  *event.mutable_incident() = incident;
  return PutEvent(event, {}).status();
}

absl::StatusOr<uint64_t> RocksStoreImpl::PutEvent(const wire::IncidentEvent& event,
                                                  const std::vector<std::string>& receivers) {
  const wire::Incident& incident = event.incident();
  MutexLock lock(mutex_);
  const uint64_t number = database_->NextNumber();
  rocksdb::WriteBatch batch;
  database_->Put(batch, Family::kIncidents, EncodeIncidentKey(incident.id()), EncodeIncident(incident));
  AddAlertRecords(*database_, number, event, receivers, batch);
  RETURN_IF_ERROR(Commit(batch, /*sync=*/true));
  std::atomic<uint64_t>& newest = database_->state().newest_incident_id;
  newest = std::max(newest.load(), incident.id());
  return number;
}

absl::Status RocksStoreImpl::Flush() {
  MutexLock lock(mutex_);
  {
    MutexLock chunks(chunks_mutex_);
    open_chunks_.SealAll();
    RETURN_IF_ERROR(WriteSealed());
  }
  return database_->SyncLog();
}

// ---- Reading ----

absl::StatusOr<uint64_t> RocksStoreImpl::StoredSequence(const std::string& host, uint64_t incarnation) {
  ASSIGN_OR_RETURN(const std::optional<MarkValue> mark, ReadMark(*database_, host, incarnation));
  return !mark.has_value() || mark->written_wall_ns < Cutoff(Family::kMarks) ? 0 : mark->sequence;
}

absl::StatusOr<std::vector<wire::Incident>> RocksStoreImpl::LoadIncidents() {
  const int64_t cutoff = Cutoff(Family::kIncidents);
  ASSIGN_OR_RETURN(std::vector<wire::Incident> incidents, ReadIncidentRecords(*database_, corrupt_));
  if (incidents.empty()) return incidents;
  const uint64_t newest = incidents.back().id();
  database_->state().newest_incident_id = std::max(database_->state().newest_incident_id.load(), newest);
  // The newest stays, however old it is: from it the caller knows which ids are taken.
  std::erase_if(incidents, [&](const wire::Incident& incident) {
    return incident.resolved_wall_ns() != 0 && incident.resolved_wall_ns() < cutoff && incident.id() != newest;
  });
  return incidents;
}

absl::StatusOr<SeriesPage> RocksStoreImpl::ReadSeries(const SeriesSelector& selector, const SeriesLimits& limits) {
  const MetricInfo* info = FindMetric(selector.metric);
  if (info == nullptr) return absl::InvalidArgumentError("a series is selected by its metric");
  SeriesNames names = NamesOfPage(selector, limits);
  RETURN_IF_ERROR(ListNames(selector, names));
  return FillPage(
      selector, limits, names,
      [&](const std::string& host, const std::string& device, int64_t from_wall_ns, size_t max_points) {
        return ReadPoints({selector.metric, host, device}, info->kind, from_wall_ns, selector.to_wall_ns, max_points);
      });
}

absl::Status RocksStoreImpl::ListNames(const SeriesSelector& selector, SeriesNames& names) {
  // Memory first: a chunk that is written in between is then found on disk.
  {
    MutexLock lock(chunks_mutex_);
    open_chunks_.ForEachLabels([&](const SeriesLabels& labels) {
      if (labels.metric != selector.metric) return;
      if (!selector.host.empty() && labels.host != selector.host) return;
      if (selector.device != "*" && labels.device != selector.device) return;
      names.Offer(labels.host, labels.device);
    });
  }
  return series_reader_.ListNames(selector, names);
}

absl::StatusOr<std::vector<Point>> RocksStoreImpl::ReadPoints(const SeriesLabels& labels, MetricKind kind, int64_t from,
                                                              int64_t to, size_t max_points) {
  const int64_t full_from = std::max(from, Cutoff(Family::kChunks));
  const int64_t rollup_from = std::max(from, Cutoff(Family::kRollups));
  std::vector<Point> in_memory;
  RocksDatabase::Snapshot snapshot;
  {
    // Memory and disk of one moment: a chunk that is being sealed is in exactly one of them.
    MutexLock lock(chunks_mutex_);
    snapshot = database_->TakeSnapshot();
    open_chunks_.ForEachChunk(labels, [&](const std::vector<Point>& chunk) {
      if (in_memory.size() > max_points) return;  // only a store that refuses for long keeps so many
      std::copy_if(chunk.begin(), chunk.end(), std::back_inserter(in_memory),
                   [&](const Point& point) { return point.first >= full_from && point.first < to; });
    });
  }
  std::vector<Point> points;
  RETURN_IF_ERROR(series_reader_.Read(labels, kind, {rollup_from, full_from, to, snapshot.get()}, max_points, points));
  points.insert(points.end(), in_memory.begin(), in_memory.end());
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.first < b.first; });
  return points;
}

absl::Status RocksStoreImpl::RecoverPoints(const std::vector<SeriesPoint>& points) {
  std::map<std::string, std::vector<const SeriesPoint*>> of_series;  // by encoded labels
  for (const SeriesPoint& point : points) {
    of_series[EncodeSeriesLabels({point.metric, point.host, point.device})].push_back(&point);
  }
  for (auto& [key, own] : of_series) {
    std::stable_sort(own.begin(), own.end(),
                     [](const SeriesPoint* a, const SeriesPoint* b) { return a->wall_ns < b->wall_ns; });
    const SeriesPoint& first = *own.front();
    ASSIGN_OR_RETURN(const std::set<int64_t> known, series_reader_.Times({first.metric, first.host, first.device},
                                                                         first.wall_ns, own.back()->wall_ns + 1));
    MutexLock lock(chunks_mutex_);
    for (const SeriesPoint* point : own) {
      if (!known.contains(point->wall_ns)) open_chunks_.Append(*point);
    }
  }
  MutexLock lock(mutex_);
  MutexLock chunks(chunks_mutex_);
  return WriteSealed();
}

RocksStoreStats RocksStoreImpl::stats() const {
  const uint64_t corrupt = corrupt_.count() + database_->state().broken_log_records.load();
  RocksStoreStats stats = {dropped_points_.load(), open_series_.load(), failed_writes_.load(), corrupt, {}, {}};
  AddFamilyStats(options_, *database_, stats);
  return stats;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RocksStore>> OpenRocksStore(const RocksStoreOptions& wanted, const Clock& clock) {
  const RocksStoreOptions options = FittedToDisk(wanted);
  ASSIGN_OR_RETURN(std::unique_ptr<RocksDatabase> database, RocksDatabase::Open(options, clock));
  auto store = std::make_unique<RocksStoreImpl>(options, clock, std::move(database));
  RETURN_IF_ERROR(store->Initialize());
  return store;
}

}  // namespace lockstep
