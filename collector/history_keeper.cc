#include "collector/history_keeper.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "collector/store/retention.h"

namespace lockstep {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

bool IsOf(RemovalCause cause, const RemovedHistory& removed) {
  return removed.cause == kRemovalCauseNames[static_cast<size_t>(cause)];
}

}  // namespace

HistoryKeeper::HistoryKeeper(const HistoryKeeperOptions& options, RocksStore& store)
    : options_(options), store_(store) {
  thread_ = std::thread([this] { Run(); });
}

HistoryKeeper::~HistoryKeeper() {
  stop_.Stop();
  thread_.join();
}

void HistoryKeeper::Run() {
  for (int64_t wait_ns = options_.first_pass_after_ns; !stop_.WaitFor(wait_ns); wait_ns = options_.interval_ns) Pass();
}

void HistoryKeeper::Pass() {
  const RoomReport report = store_.MakeRoom();
  const int64_t now_ns = RealClock().MonotonicNanos();
  bool fails_anew = false;
  {
    MutexLock lock(mutex_);
    fails_anew = newest_.status.ok() && !report.status.ok();
    newest_ = report;
    if (report.disk_is_short) short_until_ns_ = now_ns + options_.short_for_ns;
  }
  if (fails_anew) {
    Log(LogLevel::kError, "history that has to go cannot be removed",
        {{"error", std::string(report.status.message())}});
  }
  TellOfRemoved(store_.stats());
}

void HistoryKeeper::TellOfRemoved(const RocksStoreStats& stats) {
  const int64_t now_ns = RealClock().MonotonicNanos();
  for (const RemovedHistory& removed : stats.removed) {
    if (IsOf(RemovalCause::kAge, removed) || removed.bytes == 0) continue;
    Told& told = told_[{removed.kind, removed.cause}];
    const bool is_due = told.at_ns == 0 || now_ns - told.at_ns >= options_.tell_every_ns;
    if (removed.bytes == told.bytes || !is_due) continue;
    const bool by_disk = IsOf(RemovalCause::kDisk, removed);
    Log(by_disk ? LogLevel::kWarning : LogLevel::kInfo,
        by_disk ? "the disk is full: the oldest history was removed" : "the oldest history was removed: its limit",
        {{"kind", removed.kind},
         {"records", std::to_string(removed.records - told.records)},
         {"mebibytes", std::to_string((removed.bytes - told.bytes) / kMebibyte)}});
    told = {removed.records, removed.bytes, now_ns};
  }
}

absl::Status HistoryKeeper::Health() const {
  MutexLock lock(mutex_);
  if (RealClock().MonotonicNanos() >= short_until_ns_) return absl::OkStatus();
  std::string what = "the disk is full";
  if (newest_.free_bytes.has_value()) absl::StrAppend(&what, ", ", *newest_.free_bytes / kMebibyte, " MiB are free");
  absl::StrAppend(&what, ": the oldest history is removed");
  if (!newest_.status.ok()) absl::StrAppend(&what, ", which fails: ", newest_.status.message());
  return absl::UnavailableError(what);
}

void HistoryKeeper::ExportTo(CollectorMetrics& metrics) const {
  const RocksStoreStats stats = store_.stats();
  metrics.history.SetLosses(stats.dropped_points, stats.corrupt_records);
  for (const RemovedHistory& removed : stats.removed) {
    metrics.history.SetRemoved(removed.kind, removed.cause, removed.bytes);
  }
  for (const auto& [kind, bytes] : stats.table_bytes) metrics.history.SetBytes(kind, bytes);
  MutexLock lock(mutex_);
  if (newest_.free_bytes.has_value()) metrics.history.free_bytes.Set(static_cast<double>(*newest_.free_bytes));
}

}  // namespace lockstep
