#include "collector/store/history_repair.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/database_files.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"
#include "collector/store/rocks_status.h"
#include "collector/store/values.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_writer.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr char kSeedDirectory[] = "repair.tmp";
constexpr char kTable[] = ".sst";
// No record's key begins so: ids, metrics and lengths never get that large, and names of jobs are UTF-8. The empty key
// is that of hosts without a job.
constexpr absl::string_view kUnusedKey = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";

bool IsTable(const fs::path& path) { return path.extension() == kTable; }

std::set<std::string> TablesIn(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (IsTable(entry.path())) names.insert(entry.path().filename().string());
  }
  return names;
}

bool HoldsHistory(const fs::path& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (IsTable(entry.path()) || entry.path().extension() == ".log" || absl::StartsWith(name, "MANIFEST-")) return true;
  }
  return false;
}

// Whoever holds the lock has the directory open.
absl::Status CheckNotHeld(const std::string& directory) {
  rocksdb::FileLock* lock = nullptr;
  rocksdb::Env* const env = rocksdb::Env::Default();
  if (!env->LockFile((fs::path(directory) / "LOCK").string(), &lock).ok()) {
    return absl::FailedPreconditionError(absl::StrCat("the history store ", directory, " is held by another process"));
  }
  env->UnlockFile(lock).PermitUncheckedError();
  return absl::OkStatus();
}

// An open RocksDB with all families, for as long as it is needed.
class OpenedFamilies {
 public:
  OpenedFamilies() = default;
  OpenedFamilies(const OpenedFamilies&) = delete;
  OpenedFamilies& operator=(const OpenedFamilies&) = delete;
  ~OpenedFamilies() {
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
    delete db;
  }

  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
};

// Reads every block of every table.
rocksdb::Status Verify(const RocksStoreOptions& options, const Clock& clock) {
  FamilyState state;
  OpenedFamilies opened;
  rocksdb::DBOptions database = DatabaseOptions(options, *rocksdb::Env::Default(), state);
  database.create_if_missing = false;
  rocksdb::Status status = rocksdb::DB::OpenForReadOnly(
      database, options.directory, FamilyDescriptors(options, clock, state), &opened.handles, &opened.db);
  if (status.ok()) status = opened.db->VerifyChecksum();
  return status;
}

// A family is known to RepairDB by a table of it alone: records of the others that only the write-ahead log holds would
// be thrown away. So each family gets a table that holds nothing but the deletion of a key that nobody uses. Families
// have the same numbers in every database, as they are made in the same order. The sequence number of the deletion is
// that of tables from elsewhere, 0: any other could be that of a record, which RocksDB takes for damage. Deletions of
// earlier repairs may still be there, and no two have one key: `key` is new.
rocksdb::Status WriteSeedTables(const RocksStoreOptions& options, const Clock& clock, const fs::path& seeds,
                                const std::string& key) {
  FamilyState state;
  OpenedFamilies opened;
  const rocksdb::DBOptions database = DatabaseOptions(options, *rocksdb::Env::Default(), state);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = FamilyDescriptors(options, clock, state);
  rocksdb::Status status = rocksdb::DB::Open(database, seeds.string(), families, &opened.handles, &opened.db);
  for (size_t i = 0; i < opened.handles.size() && status.ok(); ++i) {
    rocksdb::SstFileWriter table(rocksdb::EnvOptions(), rocksdb::Options(database, families[i].options),
                                 opened.handles[i]);
    status = table.Open((seeds / absl::StrCat("seed", i, kTable)).string());
    if (status.ok()) status = table.Delete(key);
    if (status.ok()) status = table.Finish();
  }
  return status;
}

// The highest number of any file of RocksDB's there.
uint64_t HighestFileIn(const fs::path& directory) {
  uint64_t highest = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    uint64_t number = 0;
    const std::string stem = entry.path().stem().string();
    const size_t dash = stem.rfind('-');
    if (absl::SimpleAtoi(dash == std::string::npos ? stem : stem.substr(dash + 1), &number)) {
      highest = std::max(highest, number);
    }
  }
  return highest;
}

absl::Status AddSeedTables(const RocksStoreOptions& options, const Clock& clock) {
  const fs::path directory = options.directory;
  const fs::path seeds = directory / kSeedDirectory;
  std::error_code error;
  fs::remove_all(seeds, error);
  fs::create_directory(seeds, error);  // of one that is missing RocksDB complains
  uint64_t highest = HighestFileIn(directory);
  RETURN_IF_ERROR(ToStatus(WriteSeedTables(options, clock, seeds, absl::StrCat(kUnusedKey, highest)),
                           absl::StrCat("cannot repair ", options.directory)));
  for (const std::string& name : TablesIn(seeds)) {
    fs::rename(seeds / name, directory / absl::StrFormat("%06d%s", ++highest, kTable), error);
    if (error) return absl::UnavailableError(absl::StrCat("cannot repair ", options.directory, ": ", error.message()));
  }
  fs::remove_all(seeds, error);
  return absl::OkStatus();
}

// The largest number that a record uses: of a job, series, chunk or alert.
uint64_t LargestNumberOf(Family family, absl::string_view key, absl::string_view value) {
  if (HasIdPrefix(family)) {
    const absl::StatusOr<TimedKey> timed = DecodeTimedKey(key);
    return timed.ok() ? std::max(timed->id, timed->number) : 0;
  }
  if (family == Family::kJobs || family == Family::kSeries) {
    const absl::StatusOr<IndexValue> index = DecodeIndex(value);
    return index.ok() ? index->id : 0;
  }
  const absl::StatusOr<AlertKey> alert = family == Family::kMeta ? DecodeAlertKey(key) : absl::NotFoundError("");
  return alert.ok() ? alert->number : 0;
}

absl::Status CountKept(RocksDatabase& database, RepairReport& report) {
  uint64_t largest = 0;
  for (size_t i = 1; i < kFamilies; ++i) {  // `default` is unused
    const Family family = static_cast<Family>(i);
    uint64_t count = 0;
    RETURN_IF_ERROR(database.Scan(family, "", "", nullptr, [&](absl::string_view key, absl::string_view value) {
      ++count;
      largest = std::max(largest, LargestNumberOf(family, key, value));
      return true;
    }));
    report.kept.emplace_back(FamilyName(family), count);
  }
  return database.RaiseNumbersAbove(largest);
}

}  // namespace

absl::StatusOr<RepairReport> RepairHistory(const RocksStoreOptions& options, const Clock& clock) {
  if (!HoldsHistory(options.directory)) {
    return absl::FailedPreconditionError(absl::StrCat("there is no history in ", options.directory));
  }
  RETURN_IF_ERROR(CheckNotHeld(options.directory));
  RETURN_IF_ERROR(RocksDatabase::CheckSchema(options));
  RepairReport report;
  const absl::Status named = CheckDatabaseFiles(*rocksdb::Env::Default(), options.directory);
  const rocksdb::Status read = Verify(options, clock);
  report.was_whole = named.ok() && read.ok();
  if (report.was_whole) return report;
  report.damage = read.ok() ? std::string(named.message()) : read.ToString();
  const fs::path lost = fs::path(options.directory) / kLostDirectory;
  const std::set<std::string> lost_before = TablesIn(lost);
  RETURN_IF_ERROR(AddSeedTables(options, clock));
  {
    FamilyState state;
    RETURN_IF_ERROR(
        ToStatus(rocksdb::RepairDB(options.directory, DatabaseOptions(options, *rocksdb::Env::Default(), state),
                                   FamilyDescriptors(options, clock, state)),
                 absl::StrCat("cannot repair ", options.directory)));
  }
  const std::set<std::string> lost_after = TablesIn(lost);
  std::set_difference(lost_after.begin(), lost_after.end(), lost_before.begin(), lost_before.end(),
                      std::back_inserter(report.lost_tables));
  ASSIGN_OR_RETURN(const std::unique_ptr<RocksDatabase> database, RocksDatabase::Open(options, clock));
  RETURN_IF_ERROR(CountKept(*database, report));
  return report;
}

}  // namespace lockstep
