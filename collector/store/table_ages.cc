#include "collector/store/table_ages.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr char kOldest[] = "lockstep.oldest";  // DO NOT CHANGE: written to disk, decimal nanoseconds
constexpr char kNewest[] = "lockstep.newest";  // DO NOT CHANGE: the same

class TableAgeCollector final : public rocksdb::TablePropertiesCollector {
 public:
  explicit TableAgeCollector(const LastUse& last_use) : last_use_(last_use) {}

  rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice& value, rocksdb::EntryType type,
                             rocksdb::SequenceNumber /*number*/, uint64_t /*file_size*/) override {
    if (type != rocksdb::kEntryPut) return rocksdb::Status::OK();
    const std::optional<int64_t> used = last_use_({key.data(), key.size()}, {value.data(), value.size()});
    if (!used.has_value()) return rocksdb::Status::OK();
    oldest_ = std::min(oldest_, *used);
    newest_ = std::max(newest_, *used);
    return rocksdb::Status::OK();
  }

  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    *properties = GetReadableProperties();
    return rocksdb::Status::OK();
  }

  rocksdb::UserCollectedProperties GetReadableProperties() const override {
    // Nothing that ever goes: as if it were to come.
    const bool never_goes = oldest_ > newest_;
    return {{kOldest, absl::StrCat(oldest_)}, {kNewest, absl::StrCat(never_goes ? oldest_ : newest_)}};
  }

  const char* Name() const override { return "lockstep.TableAge"; }

 private:
  const LastUse last_use_;
  int64_t oldest_ = std::numeric_limits<int64_t>::max();
  int64_t newest_ = std::numeric_limits<int64_t>::min();
};

class TableAgeFactory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  explicit TableAgeFactory(LastUse last_use) : last_use_(std::move(last_use)) {}
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context /*context*/) override {
    return new TableAgeCollector(last_use_);  // RocksDB owns it
  }
  const char* Name() const override { return "lockstep.TableAge"; }

 private:
  const LastUse last_use_;
};

void ReadTime(const rocksdb::TableProperties& properties, const char* name, int64_t& wall_ns) {
  const auto found = properties.user_collected_properties.find(name);
  int64_t value = 0;
  if (found != properties.user_collected_properties.end() && absl::SimpleAtoi(found->second, &value)) wall_ns = value;
}

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> NewTableAgeFactory(LastUse last_use) {
  return std::make_shared<TableAgeFactory>(std::move(last_use));
}

void ReadTableAge(const rocksdb::TableProperties& properties, TableAge& age) {
  ReadTime(properties, kOldest, age.oldest_wall_ns);
  ReadTime(properties, kNewest, age.newest_wall_ns);
}

uint64_t BytesBefore(const TableAge& table, int64_t cutoff_wall_ns) {
  if (cutoff_wall_ns <= table.oldest_wall_ns) return 0;
  if (cutoff_wall_ns > table.newest_wall_ns) return table.bytes;
  const double share = (static_cast<double>(cutoff_wall_ns) - static_cast<double>(table.oldest_wall_ns)) /
                       (static_cast<double>(table.newest_wall_ns) - static_cast<double>(table.oldest_wall_ns) + 1);
  return static_cast<uint64_t>(share * static_cast<double>(table.bytes));
}

uint64_t BytesOf(const std::vector<TableAge>& tables) {
  uint64_t bytes = 0;
  for (const TableAge& table : tables) bytes += table.bytes;
  return bytes;
}

int64_t CutoffFor(const std::vector<TableAge>& tables, uint64_t most_bytes, int64_t latest_wall_ns) {
  const uint64_t all = BytesOf(tables);
  const auto leaves_few = [&](int64_t cutoff_wall_ns) {
    uint64_t gone = 0;
    for (const TableAge& table : tables) gone += BytesBefore(table, cutoff_wall_ns);
    return all - gone <= most_bytes;
  };
  int64_t early = latest_wall_ns;
  for (const TableAge& table : tables) early = std::min(early, table.oldest_wall_ns);
  if (leaves_few(early)) return early;
  int64_t late = latest_wall_ns;
  while (late - early > 1) {
    const int64_t middle = early + (late - early) / 2;
    (leaves_few(middle) ? late : early) = middle;
  }
  return late;
}

}  // namespace lockstep
