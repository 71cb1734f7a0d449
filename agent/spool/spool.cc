#include "agent/spool/spool.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/told_error.h"

namespace lockstep {
namespace {

struct LoadRequest {
  uint64_t incarnation = 0;
  uint64_t sequence = 0;
  size_t max_bytes = 0;
};

}  // namespace

// Shared with the threads, which may outlive the spool. The log is the writer's alone.
struct Spool::Core {
  Core(std::unique_ptr<ReportLog> reports, int64_t interval_ns, const Clock& real)
      : log(std::move(reports)), sync_interval_ns(interval_ns), clock(real) {}

  void Write();
  void Sync();
  // False = to be tried again later.
  bool OpenLog();
  void WriteQueued();
  void AcknowledgeQueued();
  void AnswerLoad();
  void KeepHouse();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex);
  void Note(const char* operation, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const std::unique_ptr<ReportLog> log;
  const int64_t sync_interval_ns;
  const Clock& clock;

  mutable Mutex mutex;
  CondVar changed;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  bool tried_to_open ABSL_GUARDED_BY(mutex) = false;
  bool is_open ABSL_GUARDED_BY(mutex) = false;
  bool writer_done ABSL_GUARDED_BY(mutex) = false;
  bool syncer_done ABSL_GUARDED_BY(mutex) = false;
  bool behind ABSL_GUARDED_BY(mutex) = false;  // a write was waited for in vain, and the queue was never empty since
  int64_t retry_ns ABSL_GUARDED_BY(mutex) = 0;
  std::vector<FormerAgent> formers ABSL_GUARDED_BY(mutex);  // not yet taken
  std::string resume ABSL_GUARDED_BY(mutex);
  std::deque<SpooledReport> queue ABSL_GUARDED_BY(mutex);
  size_t queued_bytes ABSL_GUARDED_BY(mutex) = 0;
  uint64_t passed_sequence ABSL_GUARDED_BY(mutex) = 0;       // newest that was written or could not be
  uint64_t written_sequence ABSL_GUARDED_BY(mutex) = 0;      // newest that was written
  std::vector<uint64_t> written ABSL_GUARDED_BY(mutex);      // not yet taken
  std::map<uint64_t, uint64_t> acks ABSL_GUARDED_BY(mutex);  // by incarnation; a handful
  absl::optional<LoadRequest> load ABSL_GUARDED_BY(mutex);
  absl::optional<absl::StatusOr<std::vector<AgedReport>>> loaded ABSL_GUARDED_BY(mutex);
  std::function<absl::Status()> to_sync ABSL_GUARDED_BY(mutex);
  std::map<std::string, uint64_t> losses ABSL_GUARDED_BY(mutex);
  SpoolStatistics numbers ABSL_GUARDED_BY(mutex);
  ToldError told ABSL_GUARDED_BY(mutex);
};

void Spool::Core::Note(const char* operation, const absl::Status& status) {
  if (status.ok()) return;
  ++numbers.errors[operation];
  const std::string why = status.ToString();
  if (!told.IsNews(why)) return;
  Log(LogLevel::kError, "the spool fails: reports are in memory only", {{"operation", operation}, {"why", why}});
}

bool Spool::Core::HasWork() const {
  return stopping || (is_open && (!queue.empty() || !acks.empty() || load.has_value()));
}

bool Spool::Core::OpenLog() {
  const absl::Status opened = log->Open();
  MutexLock lock(mutex);
  if (opened.ok()) {
    formers = log->formers();
    resume = log->resume();
    uint64_t left = 0;
    for (const FormerAgent& former : formers) left += former.last_sequence - former.first_sequence + 1;
    Log(LogLevel::kInfo, "the spool is open", {{"reports_of_former_agents", absl::StrCat(left)}});
    told.Clear();
  }
  tried_to_open = true;
  is_open = opened.ok();
  numbers.failing = !opened.ok();
  retry_ns = clock.MonotonicNanos() + kRetryNanos;
  Note("open", opened);
  changed.NotifyAll();
  return opened.ok();
}

void Spool::Core::Write() {
  bool is_log_open = OpenLog();
  const int64_t period_ns = std::min(kHousekeepingNanos, sync_interval_ns);
  int64_t kept_ns = clock.MonotonicNanos();
  while (true) {
    {
      MutexLock lock(mutex);
      if (!HasWork()) changed.WaitFor(mutex, period_ns);
      if (stopping && (queue.empty() || !is_open)) break;
    }
    const int64_t now_ns = clock.MonotonicNanos();
    if (!is_log_open) {
      int64_t due_ns = 0;
      {
        MutexLock lock(mutex);
        due_ns = retry_ns;
        // Nothing can be kept in order for a disk that is not there.
        for (const SpooledReport& report : queue) passed_sequence = report.sequence;
        numbers.skipped["not_open"] += queue.size();
        queue.clear();
        queued_bytes = 0;
        changed.NotifyAll();
      }
      if (now_ns >= due_ns) is_log_open = OpenLog();
      continue;
    }
    WriteQueued();
    AcknowledgeQueued();
    AnswerLoad();
    if (now_ns - kept_ns >= period_ns) {
      KeepHouse();
      kept_ns = now_ns;
    }
  }
  AcknowledgeQueued();
  MutexLock lock(mutex);
  writer_done = true;
  changed.NotifyAll();
}

void Spool::Core::WriteQueued() {
  while (true) {
    SpooledReport report;
    bool skip = false;
    {
      MutexLock lock(mutex);
      if (queue.empty()) break;
      report = std::move(queue.front());
      queue.pop_front();
      queued_bytes -= report.bytes.size();
      // One report at a time is tried on a disk that has just failed.
      skip = numbers.failing && clock.MonotonicNanos() < retry_ns;
    }
    const absl::Status written = skip ? absl::UnavailableError("") : log->Append(report);
    MutexLock lock(mutex);
    passed_sequence = report.sequence;
    if (written.ok()) {
      written_sequence = report.sequence;
      this->written.push_back(report.sequence);
      numbers.failing = false;
      told.Clear();
    } else {
      ++numbers.skipped["write_failed"];
    }
    if (!skip && !written.ok()) {
      Note("write", written);
      numbers.failing = true;
      retry_ns = clock.MonotonicNanos() + kRetryNanos;
    }
    if (queue.empty()) behind = false;
    changed.NotifyAll();
  }
}

void Spool::Core::AcknowledgeQueued() {
  std::map<uint64_t, uint64_t> taken;
  {
    MutexLock lock(mutex);
    if (!is_open || acks.empty()) return;
    taken = std::exchange(acks, {});
  }
  absl::Status status;
  for (const auto& [incarnation, sequence] : taken) status.Update(log->Acknowledge(incarnation, sequence));
  MutexLock lock(mutex);
  Note("acknowledge", status);
}

void Spool::Core::AnswerLoad() {
  LoadRequest request;
  {
    MutexLock lock(mutex);
    if (!load.has_value()) return;
    request = *load;
  }
  absl::StatusOr<std::vector<AgedReport>> answer = log->Read(request.incarnation, request.sequence, request.max_bytes);
  MutexLock lock(mutex);
  Note("read", answer.status());
  load.reset();
  loaded = std::move(answer);
  changed.NotifyAll();
}

void Spool::Core::KeepHouse() {
  const absl::Status kept = log->KeepLimits();
  const ReportLogState state = log->state();
  std::function<absl::Status()> fresh;
  {
    MutexLock lock(mutex);
    // Acknowledged reports may be lost.
    if (to_sync == nullptr && state.reports > 0) fresh = log->BeginSync();
  }
  MutexLock lock(mutex);
  Note("limits", kept);
  if (fresh != nullptr) to_sync = std::move(fresh);
  numbers.log = state;
  for (const auto& [reason, count] : log->TakeLosses()) losses[reason] += count;
  changed.NotifyAll();
}

void Spool::Core::Sync() {
  MutexLock lock(mutex);
  while (!stopping) {
    changed.WaitFor(mutex, sync_interval_ns);
    if (to_sync == nullptr) continue;
    const std::function<absl::Status()> sync = std::exchange(to_sync, nullptr);
    mutex.Unlock();
    const int64_t begin_ns = clock.MonotonicNanos();
    const absl::Status synced = sync();
    const int64_t took_ns = clock.MonotonicNanos() - begin_ns;
    mutex.Lock();
    Note("sync", synced);
    ++numbers.syncs;
    numbers.sync_ns += took_ns;
  }
  syncer_done = true;
  changed.NotifyAll();
}

Spool::Spool(std::unique_ptr<ReportLog> log, int64_t sync_interval_ns, const Clock& clock)
    : core_(std::make_shared<Core>(std::move(log), sync_interval_ns, clock)),
      writer_([core = core_] { core->Write(); }),
      syncer_([core = core_] { core->Sync(); }) {}

Spool::~Spool() {
  bool writer_done = false;
  bool syncer_done = false;
  {
    MutexLock lock(core_->mutex);
    core_->stopping = true;
    core_->changed.NotifyAll();
    const int64_t until_ns = RealClock().MonotonicNanos() + kAbandonNanos;
    while (!core_->writer_done || !core_->syncer_done) {
      const int64_t left_ns = until_ns - RealClock().MonotonicNanos();
      if (left_ns <= 0) break;
      core_->changed.WaitFor(core_->mutex, left_ns);
    }
    writer_done = core_->writer_done;
    syncer_done = core_->syncer_done;
  }
  // A thread that hangs in the disk ends by itself if the disk ever answers.
  writer_done ? writer_.join() : writer_.detach();
  syncer_done ? syncer_.join() : syncer_.detach();
}

bool Spool::WaitOpen(int64_t nanos) {
  const int64_t until_ns = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(core_->mutex);
  while (!core_->tried_to_open) {
    const int64_t left_ns = until_ns - RealClock().MonotonicNanos();
    if (left_ns <= 0) break;
    core_->changed.WaitFor(core_->mutex, left_ns);
  }
  return core_->is_open;
}

std::vector<FormerAgent> Spool::TakeFormers() {
  MutexLock lock(core_->mutex);
  return std::exchange(core_->formers, {});
}

std::string Spool::resume() const {
  MutexLock lock(core_->mutex);
  return core_->resume;
}

void Spool::Add(SpooledReport report) {
  MutexLock lock(core_->mutex);
  if (core_->queue.size() >= kMaxQueuedReports || core_->queued_bytes + report.bytes.size() > kMaxQueuedBytes) {
    ++core_->numbers.skipped["queue_full"];
    return;
  }
  core_->queued_bytes += report.bytes.size();
  core_->queue.push_back(std::move(report));
  core_->changed.NotifyAll();
}

bool Spool::WaitWritten(uint64_t sequence, int64_t nanos) {
  const int64_t until_ns = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(core_->mutex);
  while (core_->passed_sequence < sequence) {
    const int64_t left_ns = until_ns - RealClock().MonotonicNanos();
    if (core_->behind || core_->stopping) return false;
    if (left_ns <= 0) {
      core_->behind = true;
      return false;
    }
    core_->changed.WaitFor(core_->mutex, left_ns);
  }
  return core_->written_sequence >= sequence;
}

std::vector<uint64_t> Spool::TakeWritten() {
  MutexLock lock(core_->mutex);
  return std::exchange(core_->written, {});
}

void Spool::Acknowledge(uint64_t incarnation, uint64_t sequence) {
  MutexLock lock(core_->mutex);
  uint64_t& known = core_->acks[incarnation];
  known = std::max(known, sequence);
  core_->changed.NotifyAll();
}

absl::StatusOr<std::vector<AgedReport>> Spool::Load(uint64_t incarnation, uint64_t sequence, size_t max_bytes,
                                                    int64_t nanos) {
  const int64_t until_ns = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(core_->mutex);
  // One that came too late for the caller before is not the answer.
  while (core_->load.has_value()) {
    const int64_t left_ns = until_ns - RealClock().MonotonicNanos();
    if (left_ns <= 0 || core_->stopping) return absl::DeadlineExceededError("the disk of the spool does not answer");
    core_->changed.WaitFor(core_->mutex, left_ns);
  }
  core_->loaded.reset();
  core_->load = LoadRequest{incarnation, sequence, max_bytes};
  core_->changed.NotifyAll();
  while (!core_->loaded.has_value()) {
    const int64_t left_ns = until_ns - RealClock().MonotonicNanos();
    if (left_ns <= 0 || core_->stopping) return absl::DeadlineExceededError("the disk of the spool does not answer");
    core_->changed.WaitFor(core_->mutex, left_ns);
  }
  absl::StatusOr<std::vector<AgedReport>> answer = *std::move(core_->loaded);
  core_->loaded.reset();
  return answer;
}

std::map<std::string, uint64_t> Spool::TakeLosses() {
  MutexLock lock(core_->mutex);
  return std::exchange(core_->losses, {});
}

SpoolStatistics Spool::statistics() const {
  MutexLock lock(core_->mutex);
  SpoolStatistics statistics = core_->numbers;
  statistics.failing = statistics.failing || core_->behind;
  return statistics;
}

}  // namespace lockstep
