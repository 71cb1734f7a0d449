// The tables of RocksDatabase: how old they are, and how they go.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_status.h"
#include "rocksdb/file_system.h"
#include "rocksdb/metadata.h"

namespace lockstep {
namespace {

// Of the reserve: when less is left, it is given up.
constexpr uint64_t kLowShare = 8;
constexpr uint64_t kRewrittenTableBytes = uint64_t{64} << 20;  // as RocksDB's own compactions

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

absl::StatusOr<std::vector<TableAge>> RocksDatabase::Tables(Family family) {
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(handle(family), &metadata);
  rocksdb::TablePropertiesCollection properties;
  RETURN_IF_ERROR(ToStatus(db_->GetPropertiesOfAllTables(handle(family), &properties),
                           absl::StrCat("cannot read the tables of ", FamilyName(family))));
  std::map<std::string, const rocksdb::TableProperties*> by_name;
  for (const auto& [path, of_table] : properties) by_name[BaseName(path)] = of_table.get();
  std::vector<TableAge> tables;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      TableAge age;
      age.name = file.relative_filename;
      age.level = level.level;
      age.bytes = file.size;
      age.records = file.num_entries;
      age.newest_wall_ns = static_cast<int64_t>(file.file_creation_time) * kNanosPerSecond;
      age.oldest_wall_ns = age.newest_wall_ns - RetentionOf(family, options_);
      if (const auto found = by_name.find(age.name); found != by_name.end()) ReadTableAge(*found->second, age);
      tables.push_back(std::move(age));
    }
  }
  return tables;
}

uint64_t RocksDatabase::TableBytes(Family family) {
  uint64_t bytes = 0;
  db_->GetIntProperty(handle(family), rocksdb::DB::Properties::kLiveSstFilesSize, &bytes);
  return bytes;
}

absl::Status RocksDatabase::Rewrite(Family family, const TableAge& table) {
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // that of the family
  options.output_file_size_limit = kRewrittenTableBytes;
  return ToStatus(db_->CompactFiles(options, handle(family), {table.name}, std::max(table.level, 1)),
                  absl::StrCat("cannot rewrite a table of ", FamilyName(family)));
}

// In RocksDB 7.8 nothing else deletes a table of level 0 at once, and nothing at all while a write has failed.
absl::StatusOr<TableAge> RocksDatabase::DeleteOldestTable(Family family, int64_t latest_wall_ns) {
  ASSIGN_OR_RETURN(const std::vector<TableAge> tables, Tables(family));
  const auto oldest =
      std::find_if(tables.rbegin(), tables.rend(), [](const TableAge& table) { return table.level == 0; });
  if (oldest == tables.rend() || oldest->newest_wall_ns >= latest_wall_ns) {
    return absl::NotFoundError(absl::StrCat("no old table of ", FamilyName(family)));
  }
  RETURN_IF_ERROR(
      ToStatus(db_->DeleteFile(oldest->name), absl::StrCat("cannot delete a table of ", FamilyName(family))));
  return *oldest;
}

void RocksDatabase::GiveUpReserveFor(uint64_t bytes) {
  if (!reserve_.is_held()) return;
  const std::optional<uint64_t> free_bytes = FreeBytes();
  if (!free_bytes.has_value() || *free_bytes >= bytes + reserve_.bytes() / kLowShare) return;
  reserve_.GiveUp();
  found_no_space_ = true;
}

std::optional<uint64_t> RocksDatabase::FreeBytes() {
  uint64_t bytes = 0;
  const rocksdb::IOStatus status =
      env_->GetFileSystem()->GetFreeSpace(options_.directory, rocksdb::IOOptions(), &bytes, nullptr);
  return status.ok() ? std::optional(bytes) : std::nullopt;
}

}  // namespace lockstep
