#include "collector/store/pause_record.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/history_age.h"
#include "collector/store/keys.h"
#include "collector/store/table_ages.h"
#include "collector/store/values.h"

namespace lockstep {
namespace {

// Names of jobs and series are not among them: they are in use until a time that lies ahead.
constexpr Family kTimed[] = {Family::kLog, Family::kMarks, Family::kChunks, Family::kRollups, Family::kIncidents};
constexpr int64_t kNeverGoes = std::numeric_limits<int64_t>::max();  // what a table of open incidents says

absl::StatusOr<std::vector<Pause>> ReadPauses(RocksDatabase& database, CorruptRecords& corrupt) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, database.Get(Family::kMeta, kPausesKey));
  if (!bytes.has_value()) return std::vector<Pause>();
  absl::StatusOr<std::vector<Pause>> pauses = DecodePauses(*bytes);
  if (pauses.ok()) return pauses;
  corrupt.Count(Family::kMeta, kPausesKey, pauses.status());
  return std::vector<Pause>();
}

// About when the newest record was written that the tables hold; 0 = they hold none.
absl::StatusOr<int64_t> NewestWritten(RocksDatabase& database) {
  int64_t newest_wall_ns = 0;
  for (const Family family : kTimed) {
    ASSIGN_OR_RETURN(const std::vector<TableAge> tables, database.Tables(family));
    for (const TableAge& table : tables) {
      if (table.newest_wall_ns != kNeverGoes) newest_wall_ns = std::max(newest_wall_ns, table.newest_wall_ns);
    }
  }
  return newest_wall_ns;
}

}  // namespace

absl::Status PauseRecord::Begin(int64_t now_wall_ns) {
  ASSIGN_OR_RETURN(std::vector<Pause> earlier, ReadPauses(database_, corrupt_));
  ASSIGN_OR_RETURN(const int64_t newest_wall_ns, NewestWritten(database_));
  is_due_ = database_.state().age.Begin(std::move(earlier), newest_wall_ns, now_wall_ns);
  if (is_due_) {
    Log(LogLevel::kWarning,
        "history ends long before this start, or the date is wrong: it counts as no older by the time between",
        {{"hours", std::to_string((now_wall_ns - newest_wall_ns) / kNanosPerHour)}});
  }
  return absl::OkStatus();
}

void PauseRecord::Add(rocksdb::WriteBatch& batch) {
  if (is_due_) database_.Put(batch, Family::kMeta, kPausesKey, EncodePauses(database_.state().age.pauses()));
}

absl::Status PauseRecord::Note(absl::Status status) {
  is_due_ = is_due_ && !status.ok();
  return status;
}

}  // namespace lockstep
