// The pauses of history (history_age.h), as a record of the history store.

#ifndef LOCKSTEP_COLLECTOR_STORE_PAUSE_RECORD_H_
#define LOCKSTEP_COLLECTOR_STORE_PAUSE_RECORD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/rocks_database.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Has the age of history begin, and keeps the pause before this life. Not thread-safe.
class PauseRecord {
 public:
  // References are borrowed.
  PauseRecord(RocksDatabase& database, CorruptRecords& corrupt) : database_(database), corrupt_(corrupt) {}

  // Warns of a pause. A record that does not decode is counted, and taken for none. To be called before anything is
  // written: after it is opened, all that a database holds is in tables.
  absl::Status Begin(int64_t now_wall_ns);

  // Adds the record to `batch` until one was written. It goes with the first of a life: as long as there is nothing
  // behind a pause, the next life finds it again.
  void Add(rocksdb::WriteBatch& batch);

  // What became of that batch: gives `status` back.
  absl::Status Note(absl::Status status);

 private:
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
  bool is_due_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_PAUSE_RECORD_H_
