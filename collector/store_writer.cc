#include "collector/store_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "collector/history_damage.h"
#include "collector/series_points.h"

namespace lockstep {

StoreWriter::StoreWriter(const StoreWriterOptions& options, HistoryStore& store, CollectorMetrics& metrics,
                         std::function<void()> rewind)
    : options_(options), store_(store), metrics_(metrics), rewind_(std::move(rewind)) {
  thread_ = std::thread([this] { Run(); });
}

StoreWriter::~StoreWriter() { Close().IgnoreError(); }

bool StoreWriter::Append(LogItem item) {
  const int64_t deadline = RealClock().MonotonicNanos() + options_.full_wait_ns;
  bool taken = false;
  {
    MutexLock lock(mutex_);
    while (!closed_ && (items_.size() >= options_.max_items || bytes_ >= options_.max_bytes)) {
      const int64_t left = deadline - RealClock().MonotonicNanos();
      if (left <= 0 || !healthy_.load()) break;
      room_.WaitFor(mutex_, left);
    }
    if (!closed_ && items_.size() < options_.max_items && bytes_ < options_.max_bytes) {
      bytes_ += item.bytes;
      items_.push_back(std::move(item));
      ++appended_;
      // Only the first one wakes the thread, so that it may linger for the others.
      if (items_.size() == 1) work_.NotifyOne();
      taken = true;
    }
  }
  if (taken) return true;
  metrics_.CountDropped("store_refuses");
  if (item.ticket.ledger == nullptr) return false;
  item.ticket.ledger->MarkLost(item.ticket);
  // After the mark, and with the thread awake: the queue may have run empty since, and no other write may follow.
  MutexLock lock(mutex_);
  lost_ = true;
  work_.NotifyOne();
  return false;
}

bool StoreWriter::WaitWritten(int64_t nanos) {
  const int64_t deadline = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(mutex_);
  const uint64_t until = appended_;
  while (written_ < until) {
    const int64_t left = deadline - RealClock().MonotonicNanos();
    if (left <= 0 || !healthy_.load()) return false;
    room_.WaitFor(mutex_, left);
  }
  return true;
}

absl::Status StoreWriter::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    work_.NotifyAll();
    room_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  return flushed_;
}

absl::Status StoreWriter::Health() const {
  const int64_t begun_ns = write_begun_ns_.load();
  const int64_t under_way_ns = begun_ns == 0 ? 0 : RealClock().MonotonicNanos() - begun_ns;
  if (under_way_ns > options_.slow_write_ns) {
    return absl::UnavailableError(absl::StrCat("a write to the disk has been under way for ",
                                               under_way_ns / kNanosPerSecond, " s, at most ",
                                               options_.slow_write_ns / kNanosPerSecond, " s are expected"));
  }
  MutexLock lock(mutex_);
  if (last_write_.ok()) return absl::OkStatus();
  if (absl::IsDataLoss(last_write_)) return DamagedHistory(last_write_.message());
  const bool is_full = absl::IsResourceExhausted(last_write_);
  return absl::UnavailableError(
      absl::StrCat(is_full ? "the disk is full: " : "the disk refuses writes: ", last_write_.message()));
}

Progress StoreWriter::progress() const {
  MutexLock lock(mutex_);
  return {.turns = turns_.load(), .has_work = at_work_.load() || !items_.empty()};
}

size_t StoreWriter::waiting() const {
  MutexLock lock(mutex_);
  return items_.size();
}

void StoreWriter::Run() {
  while (true) {
    const bool has_batch = HasBatch();
    at_work_ = has_batch;
    Work work = TakeWork(!has_batch);
    at_work_ = true;
    ++turns_;
    if (!has_batch) PrepareBatch(std::move(work.items));
    const bool stored = TryWriteBatch();
    if (stored) RewindIfLost();
    if (!work.closed) continue;
    MutexLock lock(mutex_);
    if (!stored || items_.empty()) break;
  }
  if (const size_t lost = unwritten(); lost > 0) {
    metrics_.CountDropped("store_refuses", static_cast<double>(lost));
    Log(LogLevel::kError, "history entries lost at shutdown, agents will send them again",
        {{"entries", std::to_string(lost)}});
  }
  flushed_ = store_.Flush();
  at_work_ = false;
}

StoreWriter::Work StoreWriter::TakeWork(bool may_take_items) {
  Work work;
  MutexLock lock(mutex_);
  if (!may_take_items || !healthy_.load()) {
    // The store refuses: wait before the next attempt.
    if (!closed_) work_.WaitFor(mutex_, options_.retry_ns);
  } else {
    while (!closed_ && !lost_ && items_.empty()) work_.Wait(mutex_);
    if (!closed_ && !lost_) work_.WaitFor(mutex_, options_.linger_ns);
  }
  work.closed = closed_;
  size_t bytes = 0;
  while (may_take_items && !items_.empty() && bytes < options_.batch_bytes) {
    bytes += items_.front().bytes;
    work.items.push_back(std::move(items_.front()));
    items_.pop_front();
  }
  bytes_ -= bytes;
  room_.NotifyAll();
  return work;
}

void StoreWriter::PrepareBatch(std::vector<LogItem> items) {
  const size_t count = items.size();
  for (LogItem& item : items) {
    if (item.ticket.ledger != nullptr) {
      item.ticket.ledger->CompleteSlice(item.ticket);
      acknowledge_[item.ticket.ledger.get()] = item.ticket;
    }
    if (item.entry.input().carries_points()) {
      AppendSeriesPoints(item.entry.input(), batch_.points);
      ++batch_reports_;
    }
    if (item.entry.entry_case() == wire::CaptureEntry::ENTRY_NOT_SET) continue;
    batch_.log.push_back(std::move(item.entry));
  }
  for (auto& [ledger, ticket] : acknowledge_) {
    ticket.sequence = ledger->completed_sequence();
    batch_.marks.push_back({ledger->host(), ledger->incarnation(), ticket.sequence});
  }
  in_hand_ = count;
}

bool StoreWriter::TryWriteBatch() {
  if (!HasBatch()) return true;
  const int64_t begun = RealClock().MonotonicNanos();
  write_begun_ns_ = begun;
  const absl::Status status = store_.Write(batch_);
  write_begun_ns_ = 0;
  metrics_.store_write_seconds.Observe(static_cast<double>(RealClock().MonotonicNanos() - begun) / kNanosPerSecond);
  SetHealthy(status);
  if (!status.ok()) return false;
  metrics_.store_entries_written.Increment(static_cast<double>(batch_.log.size()));
  metrics_.store_points_written.Increment(static_cast<double>(batch_.points.size()));
  // Before the acknowledgement: whoever has that may ask at once.
  reports_stored_ += std::exchange(batch_reports_, 0);
  for (const auto& [ledger, ticket] : acknowledge_) ledger->PublishStored(ticket.sequence);
  acknowledge_.clear();
  batch_ = StoreBatch();
  MutexLock lock(mutex_);
  written_ += in_hand_.exchange(0);
  room_.NotifyAll();
  return true;
}

void StoreWriter::RewindIfLost() {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(lost_, false)) return;
  }
  rewind_();
}

void StoreWriter::SetHealthy(const absl::Status& status) {
  if (!status.ok()) metrics_.store_write_failures.Increment();
  {
    MutexLock lock(mutex_);
    last_write_ = status;
  }
  const bool before = healthy_.exchange(status.ok());
  if (before == status.ok()) return;
  metrics_.store_healthy.Set(status.ok() ? 1 : 0);
  if (status.ok()) return Log(LogLevel::kInfo, "history accepts writes again");
  Log(LogLevel::kError, "history refuses writes, detection goes on", {{"error", std::string(status.message())}});
  MutexLock lock(mutex_);
  room_.NotifyAll();
}

}  // namespace lockstep
