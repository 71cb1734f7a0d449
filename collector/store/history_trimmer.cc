#include "collector/store/history_trimmer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/status_macros.h"

namespace lockstep {
namespace {

// On a full disk the log goes first: it is the largest, and what it says is told by all others as well.
constexpr Family kOrderOnFullDisk[] = {Family::kChunks, Family::kRollups, Family::kIncidents};
constexpr Family kWithinBytes[] = {Family::kChunks, Family::kRollups, Family::kIncidents,
                                   Family::kSeries, Family::kJobs,    Family::kMarks};

// A cut takes this share of a kind at least, and a table is rewritten for half of that at least: less is not worth it.
constexpr uint64_t kCutShare = 8;
constexpr uint64_t kRewriteShare = 2 * kCutShare;
constexpr int64_t kExpireEveryNanos = 60 * kNanosPerSecond;
constexpr uint64_t kNoSpaceBytes = uint64_t{8} << 20;  // that have to go where writes find no space: a table
constexpr int64_t kFirstPauseNanos = kNanosPerSecond;
constexpr int64_t kLongestPauseNanos = 600 * kNanosPerSecond;

uint64_t LeftBy(const std::vector<TableAge>& tables, int64_t cutoff_wall_ns) {
  uint64_t gone = 0;
  for (const TableAge& table : tables) gone += BytesBefore(table, cutoff_wall_ns);
  return BytesOf(tables) - gone;
}

// 0 = there is no table.
int64_t NewestOf(const std::vector<TableAge>& tables) {
  int64_t newest_wall_ns = 0;
  for (const TableAge& table : tables) newest_wall_ns = std::max(newest_wall_ns, table.newest_wall_ns);
  return newest_wall_ns;
}

}  // namespace

HistoryTrimmer::HistoryTrimmer(const RocksStoreOptions& options, RocksDatabase& database, const Clock& clock)
    : options_(options), database_(database), clock_(clock) {}

RoomReport HistoryTrimmer::MakeRoom() {
  rewritten_ = 0;
  SpaceReserve& reserve = database_.reserve();
  const bool found_no_space = database_.TakeNoSpace();
  RoomReport report = {.free_bytes = database_.FreeBytes(), .disk_is_short = found_no_space, .status = {}};
  uint64_t missing = found_no_space ? kNoSpaceBytes : 0;
  const uint64_t wanted = options_.min_free_bytes + reserve.bytes();
  const uint64_t available = report.free_bytes.value_or(wanted) + (reserve.is_held() ? reserve.bytes() : 0);
  if (available < wanted) {
    report.disk_is_short = true;
    missing = std::max(missing, wanted + wanted / kCutShare - available);
  }
  if (missing == 0) {
    pause_ns_ = 0;
    next_try_ns_ = 0;
    if (report.free_bytes.value_or(0) >= wanted) reserve.Take();
    report.status = ExpireLog();
    report.status.Update(KeepWithinBytes());
  } else if (clock_.MonotonicNanos() >= next_try_ns_) {
    if (found_no_space || report.free_bytes.value_or(0) < reserve.bytes() / 2) reserve.GiveUp();
    SetPause(available);
    report.status = FreeDisk(missing);
  }
  report.free_bytes = database_.FreeBytes();
  return report;
}

void HistoryTrimmer::SetPause(uint64_t available) {
  const bool helps = pause_ns_ == 0 || available > free_before_;
  pause_ns_ = helps ? kFirstPauseNanos : std::min(2 * pause_ns_, kLongestPauseNanos);
  next_try_ns_ = clock_.MonotonicNanos() + (helps ? 0 : pause_ns_);
  free_before_ = available;
}

absl::Status HistoryTrimmer::ExpireLog() {
  if (clock_.MonotonicNanos() < next_expiry_ns_) return absl::OkStatus();
  next_expiry_ns_ = clock_.MonotonicNanos() + kExpireEveryNanos;
  return CutLog(std::numeric_limits<uint64_t>::max(), RemovalCause::kAge).status();
}

absl::Status HistoryTrimmer::KeepWithinBytes() {
  absl::Status first;
  const uint64_t of_log = database_.TableBytes(Family::kLog);
  if (of_log > options_.max_log_bytes) {
    first.Update(CutLog(of_log - options_.max_log_bytes, RemovalCause::kBytes).status());
  }
  for (const Family family : kWithinBytes) {
    const uint64_t most = MaxBytesOf(family, options_);
    if (database_.TableBytes(family) <= most) continue;
    const uint64_t left = most - most / kCutShare;
    first.Update(Cut(family, left, left, RemovalCause::kBytes));
  }
  return first;
}

// One kind in a pass: whether that was enough, the next one sees.
absl::Status HistoryTrimmer::FreeDisk(uint64_t missing) {
  ASSIGN_OR_RETURN(const uint64_t of_log, CutLog(missing, RemovalCause::kDisk));
  if (of_log > 0) return absl::OkStatus();
  for (const Family family : kOrderOnFullDisk) {
    const uint64_t before = database_.TableBytes(family);
    const uint64_t enough = before - std::min(before, missing);
    RETURN_IF_ERROR(Cut(family, std::min(enough, before - before / kCutShare), enough, RemovalCause::kDisk));
    if (database_.TableBytes(family) < before) break;
  }
  return absl::OkStatus();
}

int64_t HistoryTrimmer::LatestOfLog(RemovalCause cause) const {
  switch (cause) {
    case RemovalCause::kAge:
      return OlderThan(options_.log_retention_ns + kRetentionGraceNanos);
    case RemovalCause::kBytes:
      return std::numeric_limits<int64_t>::max();
    case RemovalCause::kDisk:
      break;
  }
  return OlderThan(kLeastKeptNanos);
}

absl::StatusOr<uint64_t> HistoryTrimmer::CutLog(uint64_t missing, RemovalCause cause) {
  ASSIGN_OR_RETURN(const std::vector<TableAge> tables, database_.Tables(Family::kLog));
  // While nothing is or can be written, or much is, points whose chunks are not on disk are in the newest part of the
  // log alone.
  const int64_t latest = std::min(LatestOfLog(cause), NewestOf(tables) - kRecoverySpanNanos);
  uint64_t cut = 0;
  while (cut < missing) {
    const uint64_t before = database_.TableBytes(Family::kLog);
    const absl::StatusOr<TableAge> deleted = database_.DeleteOldestTable(Family::kLog, latest);
    if (absl::IsNotFound(deleted.status())) break;
    RETURN_IF_ERROR(deleted.status());
    const uint64_t gone = before - std::min(before, database_.TableBytes(Family::kLog));
    if (gone == 0) break;  // RocksDB is about to delete it by itself
    database_.state().removed_of(Family::kLog).Add(cause, deleted->records, gone);
    cut += gone;
  }
  return cut;
}

absl::Status HistoryTrimmer::Cut(Family family, uint64_t most_bytes, uint64_t enough_bytes, RemovalCause cause) {
  EarlyCutoff& early = database_.state().early_of(family);
  while (rewritten_ < kBytesPerPass && database_.TableBytes(family) > enough_bytes) {
    ASSIGN_OR_RETURN(const std::vector<TableAge> tables, database_.Tables(family));
    // What was cut off already may still be in tables that were not rewritten.
    if (LeftBy(tables, early.wall_ns()) > enough_bytes)
      early.Raise(CutoffFor(tables, most_bytes, OlderThan(kLeastKeptNanos)), cause);
    const int64_t cutoff = early.wall_ns();
    const auto gain = [&](const TableAge& table) { return BytesBefore(table, cutoff); };
    const auto best = std::max_element(tables.begin(), tables.end(),
                                       [&](const TableAge& a, const TableAge& b) { return gain(a) < gain(b); });
    if (best == tables.end() || gain(*best) == 0 || gain(*best) < best->bytes / kRewriteShare) break;
    rewritten_ += best->bytes;
    const absl::Status status = database_.Rewrite(family, *best);
    if (absl::IsUnavailable(status)) break;  // RocksDB compacts it just now
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace lockstep
