#include "collector/store/rocks_database.h"

#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/store/database_files.h"
#include "collector/store/keys.h"
#include "collector/store/retryable_file_system.h"
#include "collector/store/rocks_status.h"
#include "collector/store/values.h"
#include "rocksdb/env.h"
#include "rocksdb/listener.h"
#include "rocksdb/utilities/checkpoint.h"

namespace lockstep {
namespace {

constexpr absl::string_view kSchemaVersionKey = "schema_version";  // DO NOT CHANGE: written to disk
constexpr absl::string_view kNumberOffsetKey = "number_offset";    // DO NOT CHANGE: written to disk
constexpr absl::string_view kNothingKey = "nothing";               // DO NOT CHANGE: written to disk
constexpr int kBackgroundJobs = 2;
// In what RocksDB logs of each record of the write-ahead log that it cannot read.
constexpr absl::string_view kDroppedFromLog = "dropping %d bytes";
constexpr absl::string_view kLostHistory =
    "the write-ahead log of history breaks off: if anything was written after this record, it is lost";

rocksdb::Slice ToSlice(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }
absl::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// What goes wrong in the background goes where our log goes; RocksDB's chatter goes nowhere. That what stands behind a
// broken record of the write-ahead log is left out when it is read again, RocksDB tells as a warning, and nowhere else.
class ErrorLogger final : public rocksdb::Logger {
 public:
  explicit ErrorLogger(FamilyState& state) : rocksdb::Logger(rocksdb::WARN_LEVEL), state_(state) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override { Logv(rocksdb::INFO_LEVEL, format, arguments); }
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    const bool is_lost = level == rocksdb::WARN_LEVEL && absl::StrContains(format, kDroppedFromLog);
    if (level < rocksdb::ERROR_LEVEL && !is_lost) return;
    char text[512];
    vsnprintf(text, sizeof(text), format, arguments);
    if (is_lost) ++state_.broken_log_records;
    Log(LogLevel::kError, is_lost ? kLostHistory : "rocksdb", {{"text", text}});
  }

 private:
  FamilyState& state_;
};

// The real opening says it again.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

// Counts the files of the log that RocksDB deletes by size, and notes what fails in the background.
class StateListener final : public rocksdb::EventListener {
 public:
  explicit StateListener(FamilyState& state) : state_(state) {}
  void OnCompactionCompleted(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& info) override {
    if (info.compaction_reason != rocksdb::CompactionReason::kFIFOMaxSize || !info.status.ok()) return;
    for (const auto& [file, properties] : info.table_properties) {
      state_.removed_of(Family::kLog).Add(RemovalCause::kBytes, properties->num_entries, properties->data_size);
    }
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status* /*error*/) override {
    state_.background_error = true;
  }

 private:
  FamilyState& state_;
};

}  // namespace

rocksdb::DBOptions DatabaseOptions(const RocksStoreOptions& options, rocksdb::Env& env, FamilyState& state) {
  rocksdb::DBOptions database;
  database.env = &env;
  // Write asks for the recovery from an I/O error. A thread of RocksDB's own that does so would keep the database from
  // being closed for as long as the disk refuses.
  database.max_bgerror_resume_count = 0;
  // All that is in memory only says nothing (FillMemory), and a disk that refuses must not hold up the end.
  database.avoid_flush_during_shutdown = true;
  database.create_if_missing = true;
  database.create_missing_column_families = true;
  // Periodic compaction needs all files open; the block cache bounds what that costs.
  database.max_open_files = -1;
  database.max_background_jobs = kBackgroundJobs;
  database.db_write_buffer_size = options.write_buffers_bytes;
  // KeepLogShort does that. RocksDB would empty its memory in the middle of a write: see FillMemory.
  database.max_total_wal_size = std::numeric_limits<uint64_t>::max();
  database.info_log = std::make_shared<ErrorLogger>(state);
  database.listeners.push_back(std::make_shared<StateListener>(state));
  return database;
}

namespace {

// Makes the directory, but not its parents: a path that is mistyped or not mounted should not fill the wrong disk.
absl::Status EnsureDirectory(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(directory, error).lexically_normal();
  const std::filesystem::path parent = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  if (directory.empty()) return absl::FailedPreconditionError("no directory is given for the history store");
  if (!std::filesystem::is_directory(parent, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot keep history in ", directory, ": ", parent.string(), " is not a directory"));
  }
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot keep history in ", directory, ": it is not a directory"));
  }
  std::filesystem::create_directory(path, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot keep history in ", directory, ": ", error.message()));
}

absl::Status OpenError(const rocksdb::Status& status, const std::string& directory) {
  const std::string text = status.ToString();
  if (status.IsIOError() && (absl::StrContains(text, "lock file") || absl::StrContains(text, "lock hold"))) {
    return absl::FailedPreconditionError(absl::StrCat("the history store ", directory, " is held by another process"));
  }
  // Neither heals by trying again.
  if (status.IsCorruption() || status.IsPathNotFound()) return DamagedStore(directory, text);
  return ToStatus(status, absl::StrCat("cannot open the history store ", directory));
}

absl::Status CheckVersion(const std::string& bytes, const std::string& directory) {
  ASSIGN_OR_RETURN(const uint32_t version, DecodeSchemaVersion(bytes));
  if (version >= RocksDatabase::kOldestSchemaVersion && version <= RocksDatabase::kSchemaVersion)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the history store ", directory, " has schema version ", version, ", this program reads versions ",
                   RocksDatabase::kOldestSchemaVersion, " to ", RocksDatabase::kSchemaVersion));
}

// Looks at the schema version without writing anything or taking the lock. What cannot be looked at is left to the
// real opening, which knows better what is wrong.
absl::Status CheckSchemaReadOnly(const RocksStoreOptions& options, const rocksdb::DBOptions& database) {
  std::vector<std::string> names;
  if (!rocksdb::DB::ListColumnFamilies(database, options.directory, &names).ok()) return absl::OkStatus();
  rocksdb::DBOptions reading = database;
  reading.listeners.clear();
  reading.info_log = std::make_shared<SilentLogger>();
  reading.create_if_missing = false;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (Family family : {Family::kDefault, Family::kMeta})
    families.emplace_back(FamilyName(family), rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(reading, options.directory, families, &handles, &opened).ok()) {
    return absl::OkStatus();
  }
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::string bytes;
  const rocksdb::Status got = db->Get(rocksdb::ReadOptions(), handles[1], ToSlice(kSchemaVersionKey), &bytes);
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  return got.ok() ? CheckVersion(bytes, options.directory) : absl::OkStatus();
}

}  // namespace

RocksDatabase::RocksDatabase(const RocksStoreOptions& options, std::unique_ptr<FamilyState> state)
    : options_(options),
      reserve_(options.directory, options.reserve_bytes),
      env_(rocksdb::NewCompositeEnv(
          NewRetryableFileSystem((options.env != nullptr ? options.env : rocksdb::Env::Default())->GetFileSystem(),
                                 [this](uint64_t bytes) { GiveUpReserveFor(bytes); }))),
      state_(std::move(state)) {}

RocksDatabase::~RocksDatabase() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
}

absl::Status RocksDatabase::CheckSchema(const RocksStoreOptions& options) {
  const RocksDatabase closed(options, std::make_unique<FamilyState>());
  return CheckSchemaReadOnly(options, DatabaseOptions(options, *closed.env_, *closed.state_));
}

absl::StatusOr<std::unique_ptr<RocksDatabase>> RocksDatabase::Open(const RocksStoreOptions& options,
                                                                   const Clock& clock) {
  RETURN_IF_ERROR(EnsureDirectory(options.directory));
  std::unique_ptr<RocksDatabase> database(new RocksDatabase(options, std::make_unique<FamilyState>()));
  RETURN_IF_ERROR(CheckDatabaseFiles(*database->env_, options.directory));
  RETURN_IF_ERROR(CheckSchema(options));
  RETURN_IF_ERROR(database->OpenFamilies(clock));
  RETURN_IF_ERROR(database->EnsureSchemaVersion());
  RETURN_IF_ERROR(database->LoadNumberOffset());
  return database;
}

absl::Status RocksDatabase::OpenFamilies(const Clock& clock) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(DatabaseOptions(options_, *env_, *state_), options_.directory,
                                                   FamilyDescriptors(options_, clock, *state_), &handles, &opened);
  if (!status.ok()) return OpenError(status, options_.directory);
  db_.reset(opened);
  CHECK(handles.size() == kFamilies);
  std::copy(handles.begin(), handles.end(), handles_.begin());
  return absl::OkStatus();
}

absl::Status RocksDatabase::EnsureSchemaVersion() {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, Get(Family::kMeta, kSchemaVersionKey));
  uint32_t found = 0;  // in a directory that is new
  if (bytes.has_value()) {
    RETURN_IF_ERROR(CheckVersion(*bytes, options_.directory));
    ASSIGN_OR_RETURN(found, DecodeSchemaVersion(*bytes));
  }
  if (found == kSchemaVersion) return absl::OkStatus();
  // All records of version 1 mean the same in version 2, so that this one is the whole upgrade.
  rocksdb::WriteBatch batch;
  Put(batch, Family::kMeta, kSchemaVersionKey, EncodeSchemaVersion(kSchemaVersion));
  RETURN_IF_ERROR(Write(batch, /*sync=*/true));
  if (found != 0) {
    Log(LogLevel::kInfo, "history was upgraded: older releases will refuse it",
        {{"from_schema", std::to_string(found)}, {"to_schema", std::to_string(kSchemaVersion)}});
  }
  return absl::OkStatus();
}

RocksDatabase::Snapshot RocksDatabase::TakeSnapshot() {
  return Snapshot(db_->GetSnapshot(), [this](const rocksdb::Snapshot* snapshot) { db_->ReleaseSnapshot(snapshot); });
}

void RocksDatabase::Put(rocksdb::WriteBatch& batch, Family family, absl::string_view key, absl::string_view value) {
  const rocksdb::Status status = batch.Put(handle(family), ToSlice(key), ToSlice(value));
  CHECK(status.ok());
}

void RocksDatabase::Delete(rocksdb::WriteBatch& batch, Family family, absl::string_view key) {
  const rocksdb::Status status = batch.Delete(handle(family), ToSlice(key));
  CHECK(status.ok());
}

absl::Status RocksDatabase::Write(rocksdb::WriteBatch& batch, bool sync) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(RecoverIfDue());
  FillMemory();
  rocksdb::WriteOptions options;
  options.sync = sync;
  const rocksdb::Status status = db_->Write(options, &batch);
  if (status.ok()) KeepLogShort(batch.GetDataSize());
  return NoteWritten(ToStatus(status, "cannot write history"));
}

absl::StatusOr<std::optional<std::string>> RocksDatabase::Get(Family family, absl::string_view key) {
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), handle(family), ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return ToStatus(status, absl::StrCat("cannot read ", FamilyName(family)));
  return std::optional<std::string>(std::move(value));
}

absl::Status RocksDatabase::Scan(Family family, absl::string_view begin, absl::string_view end,
                                 const rocksdb::Snapshot* snapshot, const Visitor& visit) {
  const rocksdb::Slice upper_bound = ToSlice(end);
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  if (!end.empty()) options.iterate_upper_bound = &upper_bound;
  // A range of one id uses the bloom filters; RocksDB itself finds out whether the bound leaves the prefix.
  options.auto_prefix_mode = HasIdPrefix(family);
  options.total_order_seek = !options.auto_prefix_mode;
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(options, handle(family)));
  for (iterator->Seek(ToSlice(begin)); iterator->Valid(); iterator->Next()) {
    if (!visit(ToView(iterator->key()), ToView(iterator->value()))) break;
  }
  return ToStatus(iterator->status(), absl::StrCat("cannot read ", FamilyName(family)));
}

absl::StatusOr<std::optional<std::string>> RocksDatabase::NewestOfId(Family family, uint64_t id) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;  // the end of an id has its prefix only where the largest key is there
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(options, handle(family)));
  iterator->SeekForPrev(TimedKeyEnd(id));
  RETURN_IF_ERROR(ToStatus(iterator->status(), absl::StrCat("cannot read ", FamilyName(family))));
  if (!iterator->Valid()) return std::optional<std::string>();
  const absl::StatusOr<TimedKey> key = DecodeTimedKey(ToView(iterator->key()));
  if (!key.ok() || key->id != id) return std::optional<std::string>();
  return std::optional<std::string>(ToView(iterator->value()));
}

uint64_t RocksDatabase::NextNumber() const { return db_->GetLatestSequenceNumber() + 1 + number_offset_; }

absl::Status RocksDatabase::LoadNumberOffset() {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, Get(Family::kMeta, kNumberOffsetKey));
  if (!bytes.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(number_offset_, DecodeNumberOffset(*bytes));
  return absl::OkStatus();
}

absl::Status RocksDatabase::RaiseNumbersAbove(uint64_t number) {
  if (NextNumber() > number) return absl::OkStatus();
  const uint64_t offset = number - db_->GetLatestSequenceNumber();
  rocksdb::WriteBatch batch;
  Put(batch, Family::kMeta, kNumberOffsetKey, EncodeNumberOffset(offset));
  RETURN_IF_ERROR(Write(batch, /*sync=*/true));
  number_offset_ = offset;
  return absl::OkStatus();
}

absl::Status RocksDatabase::RecoverIfDue() {
  // A log that is written while memory cannot be flushed may fail as well: from both at once RocksDB 7.8 does not
  // recover.
  if (state_->background_error.exchange(false)) needs_recovery_ = true;
  if (!needs_recovery_) return absl::OkStatus();
  const rocksdb::Status status = db_->Resume();
  needs_recovery_ = !status.ok();
  return NoteWritten(ToStatus(status, "cannot write history"));
}

absl::Status RocksDatabase::NoteWritten(absl::Status status) {
  if (!status.ok()) needs_recovery_ = true;
  if (absl::IsResourceExhausted(status)) found_no_space_ = true;
  return status;
}

void RocksDatabase::KeepLogShort(uint64_t written_bytes) {
  log_bytes_ += written_bytes;
  if (log_bytes_ < options_.max_wal_bytes) return;
  log_bytes_ = 0;
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  const std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
  db_->Flush(options, all).PermitUncheckedError();  // what fails there fails the next write
}

void RocksDatabase::FillMemory() {
  uint64_t records = 0;
  db_->GetIntProperty(handle(Family::kDefault), rocksdb::DB::Properties::kNumEntriesActiveMemTable, &records);
  if (records > 0) return;
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  const rocksdb::Status status = db_->Put(options, handle(Family::kDefault), ToSlice(kNothingKey), rocksdb::Slice());
  if (!status.ok()) needs_recovery_ = true;
}

// A log that could not be written must not be asked to sync: RocksDB as Debian builds it ends the process then.
absl::Status RocksDatabase::SyncLog() {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(RecoverIfDue());
  return NoteWritten(ToStatus(db_->FlushWAL(/*sync=*/true), "cannot sync history"));
}

absl::Status RocksDatabase::WriteCheckpoint(const std::string& directory) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(directory, error).string();
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) status = checkpoint->CreateCheckpoint(absolute);
  return ToStatus(status, absl::StrCat("cannot copy history to ", directory));
}

absl::Status RocksDatabase::CompactAll() {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    RETURN_IF_ERROR(ToStatus(db_->CompactRange(options, handle, nullptr, nullptr), "cannot compact history"));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
