// HistoryStore in an embedded RocksDB. Format on disk, what survives what, and what it costs: docs/storage-format.md.
//
// One process at a time may hold a directory. Thread-safe; Write and PutIncident serialize on one mutex, under which
// they sync. Reads do not wait for that.

#ifndef LOCKSTEP_COLLECTOR_STORE_ROCKS_STORE_H_
#define LOCKSTEP_COLLECTOR_STORE_ROCKS_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "collector/store/history_store.h"
#include "collector/store/open_chunks.h"

namespace rocksdb {
class Env;
}

namespace lockstep {

inline constexpr int64_t kNanosPerHour = 3'600 * kNanosPerSecond;
inline constexpr int64_t kNanosPerDay = 24 * kNanosPerHour;

struct RocksStoreOptions {
  std::string directory;  // made if it is missing; its parent must exist

  // How long things are kept after they were last of use.
  int64_t log_retention_ns = 24 * kNanosPerHour;
  int64_t mark_retention_ns = 7 * kNanosPerDay;
  int64_t chunk_retention_ns = 48 * kNanosPerHour;
  int64_t rollup_retention_ns = 30 * kNanosPerDay;
  int64_t incident_retention_ns = 365 * kNanosPerDay;

  // Disk: what the tables of a kind may take. Beyond, what was last of use longest ago goes first, and is counted.
  uint64_t max_log_bytes = uint64_t{4} << 30;
  uint64_t max_chunk_bytes = uint64_t{16} << 30;
  uint64_t max_rollup_bytes = uint64_t{8} << 30;
  uint64_t max_incident_bytes = uint64_t{1} << 30;
  uint64_t max_series_bytes = uint64_t{256} << 20;  // names of series and jobs
  uint64_t max_job_bytes = uint64_t{64} << 20;
  uint64_t max_mark_bytes = uint64_t{64} << 20;

  // Below so much free space on the disk the oldest history goes, until there is more. 0 = only when it is full. Of a
  // small disk this and the reserve are a sixth each, at most.
  uint64_t min_free_bytes = 0;
  // Size of a file that is given up when the disk is full, so that what has to be written to let history go can be:
  // at least that of the write-ahead log. 0 = none.
  uint64_t reserve_bytes = 0;

  // Memory.
  size_t block_cache_bytes = size_t{32} << 20;    // of all reads, with indexes and filters of all open files
  size_t write_buffer_bytes = size_t{8} << 20;    // of each column family
  size_t write_buffers_bytes = size_t{48} << 20;  // of all column families together
  uint64_t max_wal_bytes = uint64_t{64} << 20;    // on disk; read again after a crash
  OpenChunksOptions open_chunks;

  rocksdb::Env* env = nullptr;  // nullptr = the operating system; outlives the store
};

// What has gone of one kind, for one reason. Kinds are named as in docs/storage-format.md.
struct RemovedHistory {
  std::string kind;
  std::string cause;  // "age", "bytes" or "disk"
  uint64_t records = 0;
  uint64_t bytes = 0;  // of tables for the log, of records before compression for all else
};

// Counted since the store was opened.
struct RocksStoreStats {
  uint64_t dropped_points = 0;                                // by the limits of OpenChunks
  uint64_t open_series = 0;                                   // now
  uint64_t failed_writes = 0;                                 // of batches, incidents and sealed chunks
  uint64_t corrupt_records = 0;                               // that a read skipped, or a start
  std::vector<RemovedHistory> removed;                        // a row per kind and cause
  std::vector<std::pair<std::string, uint64_t>> table_bytes;  // of each kind on disk, now
};

// What a pass of MakeRoom found and did.
struct RoomReport {
  std::optional<uint64_t> free_bytes;  // of the disk, afterwards; empty = it does not say
  bool disk_is_short = false;          // there was too little free space, or a write found none
  absl::Status status;                 // why not all could be removed that had to go
};

class RocksStore : public HistoryStore {
 public:
  virtual RocksStoreStats stats() const = 0;

  // Removes what has expired from the disk at once, instead of whenever RocksDB compacts; of the log MakeRoom does.
  // Rewrites everything.
  virtual absl::Status Compact() = 0;

  // Removes what has expired of the log, and has what goes before its time go: what is beyond the bytes of its kind,
  // and if the disk is too full the oldest of the log, of points, of roll-ups and of resolved incidents, in this order.
  // The newest ten minutes, open incidents and alerts that receivers have not taken stay. To be called about once a
  // second, by one thread at a time; does a bounded part of the work.
  virtual RoomReport MakeRoom() = 0;

  // Makes `directory`, which must not exist, a history of its own: everything for which a call had returned before this
  // one began, points that wait in memory among it. Others write meanwhile. Shares the files that never change with
  // this history where both are of one file system, and copies them otherwise.
  virtual absl::Status WriteCopy(const std::string& directory) = 0;
};

// FAILED_PRECONDITION if another process holds the directory, if it was written by a newer schema, or if its parent is
// missing. `clock` must outlive the store.
absl::StatusOr<std::unique_ptr<RocksStore>> OpenRocksStore(const RocksStoreOptions& options, const Clock& clock);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ROCKS_STORE_H_
