#include "collector/store/log_reader.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/log_chunk.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {

absl::StatusOr<std::vector<LoggedJob>> LogReader::Jobs() {
  std::vector<std::pair<std::string, uint64_t>> indexed;
  const auto take = [&](absl::string_view name, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(const IndexValue index, DecodeIndex(value));
    indexed.emplace_back(name, index.id);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database_, Family::kJobs, "", corrupt_, take));
  std::vector<LoggedJob> jobs;
  for (auto& [name, id] : indexed) {
    ASSIGN_OR_RETURN(const std::optional<std::string> newest, database_.NewestOfId(Family::kLog, id));
    if (!newest.has_value()) continue;
    const absl::StatusOr<int64_t> wall_ns = LogChunkLastWallNanos(*newest);
    if (wall_ns.ok()) jobs.push_back({std::move(name), *wall_ns});
  }
  return jobs;
}

absl::Status LogReader::Scan(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                             const std::function<bool(const wire::CaptureEntry&)>& visit) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, database_.Get(Family::kJobs, job));
  if (!bytes.has_value()) return absl::NotFoundError(absl::StrCat("no job called ", job, " in the log"));
  ASSIGN_OR_RETURN(const IndexValue index, DecodeIndex(*bytes));
  absl::Status first_loss;
  const auto visit_chunk = [&](absl::string_view key, absl::string_view value) {
    // Most of what the longest span reaches back over has ended before. Unpacking is what a scan costs.
    const absl::StatusOr<int64_t> last_wall_ns = LogChunkLastWallNanos(value);
    if (last_wall_ns.ok() && *last_wall_ns < from_wall_ns) return true;
    const absl::StatusOr<std::vector<wire::CaptureEntry>> entries = DecodeLogChunk(value);
    if (!entries.ok()) {
      corrupt_.CountTold();
      first_loss.Update(absl::DataLossError(
          absl::StrCat("log chunk ", absl::BytesToHexString(key), " of job ", job, ": ", entries.status().message())));
      return true;
    }
    for (const wire::CaptureEntry& entry : *entries) {
      const int64_t wall_ns = WallNanosOf(entry);
      if (wall_ns >= from_wall_ns && wall_ns < to_wall_ns && !visit(entry)) return false;
    }
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(Family::kLog,
                                 TimedKeyLowerBound(index.id, EarlierBy(from_wall_ns, kMaxLogChunkSpanNanos)),
                                 TimedKeyLowerBound(index.id, to_wall_ns), nullptr, visit_chunk));
  return first_loss;
}

}  // namespace lockstep
