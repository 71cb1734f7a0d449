// History that has to go leaves the disk when RocksDB compacts: what is too old, and what was cut off before its time
// because its kind takes too many bytes or the disk is full (history_trimmer.h). One cutoff of each per compaction.
//
// Compaction runs when it likes, so that readers apply the same cutoffs again. What does not decode is kept: a bug in a
// decoder must not delete history. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_RETENTION_H_
#define LOCKSTEP_COLLECTOR_STORE_RETENTION_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "collector/store/history_age.h"
#include "rocksdb/compaction_filter.h"

namespace lockstep {

// When a record was last of use; empty = keep it forever, or it does not decode.
using LastUse = std::function<std::optional<int64_t>(absl::string_view key, absl::string_view value)>;

// The compaction waits this much longer than readers, so that nobody reads what is just being removed.
inline constexpr int64_t kRetentionGraceNanos = 300 * kNanosPerSecond;

// Why history goes: it is old enough, its kind takes too many bytes, the disk is full.
enum class RemovalCause : uint8_t { kAge, kBytes, kDisk };
inline constexpr std::array<const char*, 3> kRemovalCauseNames = {"age", "bytes", "disk"};  // by RemovalCause

// How much of one kind has gone, by cause.
class RemovedCounts {
 public:
  void Add(RemovalCause cause, uint64_t records, uint64_t bytes) {
    records_[static_cast<size_t>(cause)].fetch_add(records, std::memory_order_relaxed);
    bytes_[static_cast<size_t>(cause)].fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t records(RemovalCause cause) const { return records_[static_cast<size_t>(cause)].load(); }
  uint64_t bytes(RemovalCause cause) const { return bytes_[static_cast<size_t>(cause)].load(); }

 private:
  std::array<std::atomic<uint64_t>, kRemovalCauseNames.size()> records_{};
  std::array<std::atomic<uint64_t>, kRemovalCauseNames.size()> bytes_{};
};

// From when on one kind is kept, if that is later than its age says. Only moves forward, until the store is closed.
class EarlyCutoff {
 public:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

  void Raise(int64_t wall_ns, RemovalCause cause) {
    if (wall_ns <= wall_ns_.load()) return;
    cause_ = cause;
    wall_ns_ = wall_ns;
  }
  int64_t wall_ns() const { return wall_ns_.load(); }
  RemovalCause cause() const { return cause_.load(); }
  // What readers may see: later by the grace.
  int64_t ForReaders() const { return wall_ns() == kNone ? kNone : wall_ns() + kRetentionGraceNanos; }

 private:
  std::atomic<int64_t> wall_ns_{kNone};
  std::atomic<RemovalCause> cause_{RemovalCause::kBytes};
};

class RetentionFilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  // References must outlive every compaction.
  RetentionFilterFactory(std::string name, int64_t retention_ns, LastUse last_use, const Clock& clock,
                         const HistoryAge& age, const EarlyCutoff& early, RemovedCounts& removed);

  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override;
  const char* Name() const override { return name_.c_str(); }

 private:
  const std::string name_;
  const int64_t retention_ns_;
  const LastUse last_use_;
  const Clock& clock_;
  const HistoryAge& age_;
  const EarlyCutoff& early_;
  RemovedCounts& removed_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_RETENTION_H_
