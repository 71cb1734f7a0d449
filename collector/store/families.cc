#include "collector/store/families.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "collector/store/keys.h"
#include "collector/store/retention.h"
#include "collector/store/table_ages.h"
#include "collector/store/values.h"
#include "rocksdb/cache.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

namespace lockstep {
namespace {

using absl::string_view;
using Retention = int64_t RocksStoreOptions::*;
using MaxBytes = uint64_t RocksStoreOptions::*;
using LastUseOf = std::optional<int64_t> (*)(string_view key, string_view value, const FamilyState& state);

// Of what a compaction cannot decode, nothing is known.
std::optional<int64_t> IndexLastUse(string_view, string_view value, const FamilyState&) {
  const absl::StatusOr<IndexValue> index = DecodeIndex(value);
  return index.ok() ? std::optional(index->used_until_wall_ns) : std::nullopt;
}

std::optional<int64_t> MarkLastUse(string_view, string_view value, const FamilyState&) {
  const absl::StatusOr<MarkValue> mark = DecodeMark(value);
  return mark.ok() ? std::optional(mark->written_wall_ns) : std::nullopt;
}

// A chunk spans less than the grace of the filter: its newest point has expired as well.
std::optional<int64_t> TimedLastUse(string_view key, string_view, const FamilyState&) {
  const absl::StatusOr<TimedKey> timed = DecodeTimedKey(key);
  return timed.ok() ? std::optional(timed->first_wall_ns) : std::nullopt;
}

std::optional<int64_t> IncidentLastUse(string_view key, string_view value, const FamilyState& state) {
  const absl::StatusOr<uint64_t> id = DecodeIncidentKey(key);
  const absl::StatusOr<int64_t> resolved = IncidentResolvedWallNanos(value);
  if (!id.ok() || !resolved.ok() || *resolved == 0 || *id >= state.newest_incident_id.load()) return std::nullopt;
  return *resolved;
}

struct Row {
  Family family;
  const char* name;         // DO NOT CHANGE: written to disk
  bool id_prefix;           // TimedKeys, read by range of one id
  bool first_in_first_out;  // whole files leave, the oldest first, without being rewritten
  rocksdb::CompressionType compression;
  Retention retention;  // nullptr = forever
  MaxBytes max_bytes;   // nullptr = without end
  LastUseOf last_use;   // nullptr = nothing of it ever goes
};

constexpr auto kPlain = rocksdb::kNoCompression;  // tiny, or compressed by us
constexpr auto kZstd = rocksdb::kZSTD;

using Options = RocksStoreOptions;
constexpr Row kRows[] = {
    {Family::kDefault, "default", false, false, kPlain, nullptr, nullptr, nullptr},
    {Family::kMeta, "meta", false, false, kPlain, nullptr, nullptr, nullptr},
    {Family::kJobs, "jobs", false, false, kPlain, &Options::log_retention_ns, &Options::max_job_bytes, IndexLastUse},
    {Family::kLog, "log", true, true, kPlain, &Options::log_retention_ns, &Options::max_log_bytes, TimedLastUse},
    {Family::kMarks, "marks", false, false, kPlain, &Options::mark_retention_ns, &Options::max_mark_bytes, MarkLastUse},
    {Family::kSeries, "series", false, false, kZstd, &Options::rollup_retention_ns, &Options::max_series_bytes,
     IndexLastUse},
    {Family::kChunks, "chunks", true, false, kZstd, &Options::chunk_retention_ns, &Options::max_chunk_bytes,
     TimedLastUse},
    {Family::kRollups, "rollups", true, false, kZstd, &Options::rollup_retention_ns, &Options::max_rollup_bytes,
     TimedLastUse},
    {Family::kIncidents, "incidents", false, false, kZstd, &Options::incident_retention_ns,
     &Options::max_incident_bytes, IncidentLastUse},
};
static_assert(std::size(kRows) == kFamilies);

constexpr double kBloomBitsPerKey = 10;
constexpr double kMemtableBloomRatio = 0.1;
constexpr int kMaxWriteBuffers = 4;  // of a family; writers wait when all of them are being flushed
// How far the log may go beyond its bytes, for the part of it that samples are read from after a crash: HistoryTrimmer
// keeps to the bytes, RocksDB to this, whatever is in it.
constexpr uint64_t kLogSurplus = 4;
constexpr int64_t kSecondsPerHour = 3'600;
constexpr int kCompactionsPerRetention = 8;  // expired data stays on disk for an eighth of its lifetime at most

// A file is compacted anew, and thereby filtered, after this many seconds of the operating system's time.
uint64_t PeriodicCompactionSeconds(int64_t retention_ns) {
  const int64_t seconds = retention_ns / kCompactionsPerRetention / kNanosPerSecond;
  return static_cast<uint64_t>(std::max(seconds, kSecondsPerHour));
}

rocksdb::ColumnFamilyOptions OptionsOf(const Row& row, const RocksStoreOptions& options, const Clock& clock,
                                       FamilyState& state, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;  // so that the cache bounds them
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.whole_key_filtering = !row.id_prefix;

  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.write_buffer_bytes;
  family.max_write_buffer_number = kMaxWriteBuffers;
  family.compression = row.compression;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (row.id_prefix) {
    family.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(kIdPrefixBytes));
    family.memtable_prefix_bloom_size_ratio = kMemtableBloomRatio;
  }
  family.ttl = 0;  // goes by the operating system's date: HistoryTrimmer goes by the clock of history
  family.periodic_compaction_seconds = 0;
  if (row.first_in_first_out) {
    family.compaction_style = rocksdb::kCompactionStyleFIFO;
    family.compaction_options_fifo.max_table_files_size = kLogSurplus * options.max_log_bytes;
  }
  if (row.last_use == nullptr) return family;
  const auto last_use = [of = row.last_use, &state](string_view key, string_view value) {
    return of(key, value, state);
  };
  family.table_properties_collector_factories.push_back(NewTableAgeFactory(last_use));
  if (row.first_in_first_out) return family;
  family.compaction_filter_factory =
      std::make_shared<RetentionFilterFactory>(row.name, options.*row.retention, last_use, clock, state.age,
                                               state.early_of(row.family), state.removed_of(row.family));
  family.periodic_compaction_seconds = PeriodicCompactionSeconds(options.*row.retention);
  return family;
}

const Row& RowOf(Family family) { return kRows[static_cast<size_t>(family)]; }

}  // namespace

std::vector<rocksdb::ColumnFamilyDescriptor> FamilyDescriptors(const RocksStoreOptions& options, const Clock& clock,
                                                               FamilyState& state) {
  // RocksDB shares the cache between its tables: it wants a shared_ptr.
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const Row& row : kRows) descriptors.emplace_back(row.name, OptionsOf(row, options, clock, state, cache));
  return descriptors;
}

const char* FamilyName(Family family) { return RowOf(family).name; }

int64_t RetentionOf(Family family, const RocksStoreOptions& options) {
  const Retention retention = RowOf(family).retention;
  return retention == nullptr ? 0 : options.*retention;
}

uint64_t MaxBytesOf(Family family, const RocksStoreOptions& options) {
  const MaxBytes max_bytes = RowOf(family).max_bytes;
  return max_bytes == nullptr ? 0 : options.*max_bytes;
}

bool HasIdPrefix(Family family) { return RowOf(family).id_prefix; }

}  // namespace lockstep
