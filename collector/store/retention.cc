#include "collector/store/retention.h"

#include <utility>

namespace lockstep {
namespace {

class RetentionFilter final : public rocksdb::CompactionFilter {
 public:
  RetentionFilter(const LastUse& last_use, int64_t age_cutoff_wall_ns, const EarlyCutoff& early, RemovedCounts& removed)
      : last_use_(last_use),
        age_cutoff_wall_ns_(age_cutoff_wall_ns),
        early_cutoff_wall_ns_(early.wall_ns()),
        early_cause_(early.cause()),
        removed_(removed) {}

  bool Filter(int /*level*/, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string* /*new_value*/,
              bool* /*value_changed*/) const override {
    const std::optional<int64_t> used = last_use_({key.data(), key.size()}, {value.data(), value.size()});
    if (!used.has_value()) return false;
    const bool is_old = *used < age_cutoff_wall_ns_;
    if (!is_old && *used >= early_cutoff_wall_ns_) return false;
    removed_.Add(is_old ? RemovalCause::kAge : early_cause_, 1, key.size() + value.size());
    return true;
  }
  const char* Name() const override { return "lockstep.Retention"; }

 private:
  const LastUse last_use_;
  const int64_t age_cutoff_wall_ns_;
  const int64_t early_cutoff_wall_ns_;
  const RemovalCause early_cause_;
  RemovedCounts& removed_;
};

}  // namespace

RetentionFilterFactory::RetentionFilterFactory(std::string name, int64_t retention_ns, LastUse last_use,
                                               const Clock& clock, const HistoryAge& age, const EarlyCutoff& early,
                                               RemovedCounts& removed)
    : name_(std::move(name)),
      retention_ns_(retention_ns),
      last_use_(std::move(last_use)),
      clock_(clock),
      age_(age),
      early_(early),
      removed_(removed) {}

std::unique_ptr<rocksdb::CompactionFilter> RetentionFilterFactory::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& /*context*/) {
  const int64_t cutoff = age_.Cutoff(clock_.WallNanos(), retention_ns_ + kRetentionGraceNanos);
  return std::make_unique<RetentionFilter>(last_use_, cutoff, early_, removed_);
}

}  // namespace lockstep
