// Who asked for what, as records of the history store: so many of each kind, the newest.
//
// Thread-safe. Errors as in history_store.h.

#ifndef LOCKSTEP_COLLECTOR_STORE_AUDIT_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_AUDIT_RECORDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "proto/admin.pb.h"

namespace lockstep {

// Anybody can have calls refused, so that these never make what admins did leave. The limits of one kind.
struct AuditLimits {
  size_t max_records;
  size_t max_bytes;  // of keys and values
};
inline constexpr AuditLimits kAuditLimits[kAuditKinds] = {
    {.max_records = 10'000, .max_bytes = size_t{4} << 20},  // AuditKind::kChange
    {.max_records = 2'000, .max_bytes = size_t{1} << 20},   // AuditKind::kRefusal
};

class AuditRecords {
 public:
  // Both are borrowed.
  AuditRecords(RocksDatabase& database, CorruptRecords& corrupt) : database_(database), corrupt_(corrupt) {}

  // As HistoryStore::PutAudit.
  absl::StatusOr<size_t> Put(AuditKind kind, const wire::AuditRecord& record);

  // As HistoryStore::LoadAudit.
  absl::StatusOr<std::vector<wire::AuditRecord>> Load();

 private:
  struct Place {
    uint64_t number = 0;
    size_t bytes = 0;
  };
  struct Kept {
    std::deque<Place> places;  // by number; at most max_records
    size_t bytes = 0;
  };

  // Learns once what an earlier life has kept.
  absl::Status Count() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RocksDatabase& database_;
  CorruptRecords& corrupt_;
  Mutex mutex_;
  bool counted_ ABSL_GUARDED_BY(mutex_) = false;
  std::array<Kept, kAuditKinds> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_AUDIT_RECORDS_H_
