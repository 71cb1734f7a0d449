// Has history go: the log when it is too old; before its time what is beyond the bytes of its kind, and the oldest when
// the disk is too full.
//
// Tables of the log are deleted whole, oldest first: RocksDB's own limit of age goes by the date of the operating
// system. Of all other kinds a cutoff by time moves forward (retention.h), and the tables that gain most by it are
// written anew. On a full disk the order is the log, points, roll-ups, resolved incidents; nothing of the newest
// kLeastKeptNanos goes, nor what never expires. Of the log kRecoverySpanNanos before its newest entry stay, however old
// that is, and beyond its bytes as well: samples may be there and nowhere else.
//
// It works when nothing could be written: a reserve (space_reserve.h) has been given up by then. Tables of the log are
// deleted first, which needs a few bytes, and only then anything is rewritten. Not thread-safe; writers and readers go
// on meanwhile.

#ifndef LOCKSTEP_COLLECTOR_STORE_HISTORY_TRIMMER_H_
#define LOCKSTEP_COLLECTOR_STORE_HISTORY_TRIMMER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_store.h"

namespace lockstep {

class HistoryTrimmer {
 public:
  // What a collector that starts gives its engines.
  static constexpr int64_t kLeastKeptNanos = 600 * kNanosPerSecond;
  // Of tables that one pass rewrites, about: a second or so.
  static constexpr uint64_t kBytesPerPass = uint64_t{256} << 20;

  // References are borrowed.
  HistoryTrimmer(const RocksStoreOptions& options, RocksDatabase& database, const Clock& clock);

  RoomReport MakeRoom();

 private:
  // Deletes what is older than the log is kept, once a minute.
  absl::Status ExpireLog();
  absl::Status KeepWithinBytes();
  // Lets the oldest go until `missing` bytes have.
  absl::Status FreeDisk(uint64_t missing);
  // The tables of the log that end before go for that cause.
  int64_t LatestOfLog(RemovalCause cause) const;
  // Lets the oldest of the log go until `missing` bytes have, if it may; how many have gone, as far as there were so
  // many.
  absl::StatusOr<uint64_t> CutLog(uint64_t missing, RemovalCause cause);
  // Moves the cutoff of a family to where about `most_bytes` are left, and rewrites tables until `enough_bytes` are.
  absl::Status Cut(Family family, uint64_t most_bytes, uint64_t enough_bytes, RemovalCause cause);
  void SetPause(uint64_t available);
  int64_t OlderThan(int64_t age_ns) const { return database_.state().age.Cutoff(clock_.WallNanos(), age_ns); }

  const RocksStoreOptions options_;
  RocksDatabase& database_;
  const Clock& clock_;
  uint64_t rewritten_ = 0;      // in this pass
  int64_t next_expiry_ns_ = 0;  // monotonic
  // Where removing does not help, because others hold or take the space, it is tried ever more rarely.
  int64_t next_try_ns_ = 0;  // monotonic
  int64_t pause_ns_ = 0;
  uint64_t free_before_ = 0;  // what was available at the last try
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HISTORY_TRIMMER_H_
