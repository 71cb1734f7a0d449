// Expired history leaves the disk when RocksDB compacts: one cutoff per compaction, taken from the injected clock.
//
// Compaction runs when it likes, so that readers apply the same cutoff again. What does not decode is kept: a bug in a
// decoder must not delete history. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_RETENTION_H_
#define LOCKSTEP_COLLECTOR_STORE_RETENTION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "rocksdb/compaction_filter.h"

namespace lockstep {

// When a record was last of use; empty = keep it forever, or it does not decode.
using LastUse = std::function<std::optional<int64_t>(absl::string_view key, absl::string_view value)>;

// The compaction waits this much longer than readers, so that nobody reads what is just being removed.
inline constexpr int64_t kRetentionGraceNanos = 300 * kNanosPerSecond;

class RetentionFilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  // `clock` must outlive every compaction. `removed` counts records; it must outlive them too.
  RetentionFilterFactory(std::string name, int64_t retention_ns, LastUse last_use, const Clock& clock,
                         std::atomic<uint64_t>& removed);

  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override;
  const char* Name() const override { return name_.c_str(); }

 private:
  const std::string name_;
  const int64_t retention_ns_;
  const LastUse last_use_;
  const Clock& clock_;
  std::atomic<uint64_t>& removed_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_RETENTION_H_
