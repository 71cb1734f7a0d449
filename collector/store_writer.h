// The thread between shards and history: gathers entries into large atomic writes, and acknowledges reports once they
// are stored.
//
// A store that refuses is tried again and again with the same batch. Meanwhile entries wait until the queue is full and
// are then lost and counted; detection never waits for long. A store that is only too slow loses entries as well. Once
// it takes writes, `rewind` is called after every loss, so that agents send again what was lost. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_WRITER_H_
#define LOCKSTEP_COLLECTOR_STORE_WRITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/progress_watch.h"
#include "collector/ingest/agent_ledger.h"
#include "collector/input_log.h"
#include "collector/metrics.h"
#include "collector/store/history_store.h"

namespace lockstep {

struct StoreWriterOptions {
  size_t max_items = 65'536;               // waiting entries
  size_t max_bytes = 256 << 20;            // of waiting entries
  size_t batch_bytes = 8 << 20;            // of one write, about
  int64_t linger_ns = 20'000'000;          // after the first entry of a batch, for more to come
  int64_t retry_ns = 500'000'000;          // between attempts while the store refuses
  int64_t full_wait_ns = 2'000'000'000;    // how long Append waits for a slow store
  int64_t slow_write_ns = 10'000'000'000;  // a write that is under way for longer is told as ill health
};

class StoreWriter final : public InputLog {
 public:
  // Starts the thread. `rewind` is called on it.
  StoreWriter(const StoreWriterOptions& options, HistoryStore& store, CollectorMetrics& metrics,
              std::function<void()> rewind);
  ~StoreWriter() override;

  // InputLog
  bool Append(LogItem item) override;
  bool healthy() const override { return healthy_.load(); }

  // Waits until all that was appended before is in history. False = it is not after `nanos`, or the store refuses.
  bool WaitWritten(int64_t nanos);

  // Writes what waits (with one attempt if the store refuses), flushes the store and ends the thread. Appends are
  // refused from now on. Returns the error of the flush. Idempotent.
  absl::Status Close();

  // What readers of /readyz are told: OK, or why history takes no writes.
  absl::Status Health() const;

  // A turn is one attempt to write. It has work while anything waits or is being written.
  Progress progress() const;

  size_t waiting() const;
  // Entries that are in no history yet: those that wait, and those that are being written.
  size_t unwritten() const { return waiting() + in_hand_.load(); }
  uint64_t reports_stored() const { return reports_stored_.load(); }
  size_t capacity() const { return options_.max_items; }

 private:
  // What one round of the thread has to do.
  struct Work {
    std::vector<LogItem> items;
    bool closed = false;
  };

  void Run();
  Work TakeWork(bool may_take_items);
  // Turns the items into `batch_`.
  void PrepareBatch(std::vector<LogItem> items);
  bool HasBatch() const { return !batch_.log.empty() || !batch_.marks.empty(); }
  // True when `batch_` is stored and acknowledged.
  bool TryWriteBatch();
  void RewindIfLost();
  // Notes how a write went.
  void SetHealthy(const absl::Status& status);

  const StoreWriterOptions options_;
  HistoryStore& store_;
  CollectorMetrics& metrics_;
  const std::function<void()> rewind_;
  std::atomic<bool> healthy_{true};
  std::atomic<bool> at_work_{false};
  std::atomic<size_t> in_hand_{0};  // entries of batch_
  std::atomic<uint64_t> turns_{0};
  std::atomic<int64_t> write_begun_ns_{0};  // of the write that is under way, monotonic; 0 = none is
  std::atomic<uint64_t> reports_stored_{0};

  // Of the thread alone.
  StoreBatch batch_;
  uint64_t batch_reports_ = 0;
  std::map<AgentLedger*, AgentLedger::Ticket> acknowledge_;  // who has to hear that `batch_` is stored, and how far

  mutable Mutex mutex_;
  CondVar work_;
  CondVar room_;  // or a batch was written
  std::deque<LogItem> items_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t appended_ ABSL_GUARDED_BY(mutex_) = 0;  // entries since the start
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;   // of them, in that order
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;      // an entry, since the last call of rewind_
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status last_write_ ABSL_GUARDED_BY(mutex_);
  absl::Status flushed_;  // written by the thread, read after join

  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_WRITER_H_
