// An opened RocksDB with our column families: what RocksStore needs of it and no more.
//
// Owns the database; closes it when destroyed. Thread-safe. Errors as in history_store.h.

#ifndef LOCKSTEP_COLLECTOR_STORE_ROCKS_DATABASE_H_
#define LOCKSTEP_COLLECTOR_STORE_ROCKS_DATABASE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/store/families.h"
#include "collector/store/rocks_store.h"
#include "collector/store/space_reserve.h"
#include "collector/store/table_ages.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// How a database of `options` is opened. All that is given must outlive it.
rocksdb::DBOptions DatabaseOptions(const RocksStoreOptions& options, rocksdb::Env& env, FamilyState& state);

class RocksDatabase {
 public:
  // The schema that this version writes, and the oldest that it upgrades to it: docs/storage-format.md.
  static constexpr uint32_t kSchemaVersion = 2;
  static constexpr uint32_t kOldestSchemaVersion = 1;

  // FAILED_PRECONDITION for a directory of a newer schema, looked at without writing or locking. OK also where that
  // cannot be told.
  static absl::Status CheckSchema(const RocksStoreOptions& options);

  // FAILED_PRECONDITION as OpenRocksStore. A directory of a newer schema is left as it is, one of an older is upgraded
  // in one synced write.
  static absl::StatusOr<std::unique_ptr<RocksDatabase>> Open(const RocksStoreOptions& options, const Clock& clock);

  ~RocksDatabase();
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  // A view of one moment. Give it back before the database is destroyed.
  using Snapshot = std::unique_ptr<const rocksdb::Snapshot, std::function<void(const rocksdb::Snapshot*)>>;
  Snapshot TakeSnapshot();

  void Put(rocksdb::WriteBatch& batch, Family family, absl::string_view key, absl::string_view value);
  void Delete(rocksdb::WriteBatch& batch, Family family, absl::string_view key);

  // Applies all of `batch` or nothing. After a failure the next call first asks RocksDB to recover, which works once
  // the disk takes writes again.
  absl::Status Write(rocksdb::WriteBatch& batch, bool sync);

  // Empty if there is no such key.
  absl::StatusOr<std::optional<std::string>> Get(Family family, absl::string_view key);

  // Visits all records with begin <= key < end ("" = no end), by key, until `visit` returns false. In a family with an
  // id prefix, `begin` and `end` must be of one id. Without `snapshot`: as of now.
  using Visitor = std::function<bool(absl::string_view key, absl::string_view value)>;
  absl::Status Scan(Family family, absl::string_view begin, absl::string_view end, const rocksdb::Snapshot* snapshot,
                    const Visitor& visit);

  // The value of the last TimedKey of `id`; empty if there is none. In a family with an id prefix.
  absl::StatusOr<std::optional<std::string>> NewestOfId(Family family, uint64_t id);

  // Greater than every number that a successful Write has used, if each Write used no more numbers, counted from here,
  // than it had records.
  uint64_t NextNumber() const;

  // From now on, and in all later lives, NextNumber is greater than `number`. For a database that RepairDB has put
  // together: its sequence number may have fallen behind the numbers in its records.
  absl::Status RaiseNumbersAbove(uint64_t number);

  // As Write, asks for recovery first after a failure.
  absl::Status SyncLog();

  // Makes `directory`, which must not exist, a database of all that was written before the call. Writes go on
  // meanwhile. What fails leaves no such directory, and this database as it was.
  absl::Status WriteCheckpoint(const std::string& directory);

  absl::Status CompactAll();

  // The tables of a family, with the time that their records are from.
  absl::StatusOr<std::vector<TableAge>> Tables(Family family);
  uint64_t TableBytes(Family family);

  // Writes one table anew, with those that overlap it, without what has to go. Takes as much space until it is done.
  absl::Status Rewrite(Family family, const TableAge& table);

  // Deletes the oldest table of a family in which tables leave in the order in which they came, unless RocksDB is about
  // to. A few bytes have to be written for it. NOT_FOUND when there is none that ends before `latest_wall_ns`.
  absl::StatusOr<TableAge> DeleteOldestTable(Family family, int64_t latest_wall_ns);

  // Empty if the disk does not say.
  std::optional<uint64_t> FreeBytes();

  // Space that is given up when a write would find none.
  SpaceReserve& reserve() { return reserve_; }

  // Whether a write has found no space since the last call, or only that of the reserve.
  bool TakeNoSpace() { return found_no_space_.exchange(false); }

  FamilyState& state() { return *state_; }

 private:
  RocksDatabase(const RocksStoreOptions& options, std::unique_ptr<FamilyState> state);

  absl::Status OpenFamilies(const Clock& clock);
  // Called before so many bytes are written.
  void GiveUpReserveFor(uint64_t bytes);
  absl::Status EnsureSchemaVersion();
  absl::Status LoadNumberOffset();
  // The error of the recovery that was due, if it was. Nothing may be written after an error.
  absl::Status RecoverIfDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoteWritten(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts a record without meaning into memory, not into the write-ahead log, if there is none. RocksDB 7.8 recovers by
  // flushing its memory; where that holds nothing, it goes on with the log that failed, and ends the process at the
  // next write.
  void FillMemory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has memory written to tables when the write-ahead log has grown by its limit, so that it begins anew.
  void KeepLogShort(uint64_t written_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  rocksdb::ColumnFamilyHandle* handle(Family family) { return handles_[static_cast<size_t>(family)]; }

  const RocksStoreOptions options_;
  SpaceReserve reserve_;
  const std::unique_ptr<rocksdb::Env> env_;  // outlives db_
  std::unique_ptr<FamilyState> state_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> handles_{};  // owned; destroyed before db_
  std::atomic<bool> found_no_space_{false};

  Mutex mutex_;  // of whoever writes
  bool needs_recovery_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t log_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of the write-ahead log, since it was begun
  std::atomic<uint64_t> number_offset_{0};          // of numbers over RocksDB's sequence number
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ROCKS_DATABASE_H_
