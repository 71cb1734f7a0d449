#include "collector/store/retention.h"

#include <utility>

namespace lockstep {
namespace {

class RetentionFilter final : public rocksdb::CompactionFilter {
 public:
  RetentionFilter(const LastUse& last_use, int64_t cutoff_wall_ns, std::atomic<uint64_t>& removed)
      : last_use_(last_use), cutoff_wall_ns_(cutoff_wall_ns), removed_(removed) {}

  bool Filter(int /*level*/, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string* /*new_value*/,
              bool* /*value_changed*/) const override {
    const std::optional<int64_t> used = last_use_({key.data(), key.size()}, {value.data(), value.size()});
    if (!used.has_value() || *used >= cutoff_wall_ns_) return false;
    removed_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  const char* Name() const override { return "lockstep.Retention"; }

 private:
  const LastUse last_use_;
  const int64_t cutoff_wall_ns_;
  std::atomic<uint64_t>& removed_;
};

}  // namespace

RetentionFilterFactory::RetentionFilterFactory(std::string name, int64_t retention_ns, LastUse last_use,
                                               const Clock& clock, std::atomic<uint64_t>& removed)
    : name_(std::move(name)),
      retention_ns_(retention_ns),
      last_use_(std::move(last_use)),
      clock_(clock),
      removed_(removed) {}

std::unique_ptr<rocksdb::CompactionFilter> RetentionFilterFactory::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& /*context*/) {
  const int64_t cutoff = clock_.WallNanos() - retention_ns_ - kRetentionGraceNanos;
  return std::make_unique<RetentionFilter>(last_use_, cutoff, removed_);
}

}  // namespace lockstep
