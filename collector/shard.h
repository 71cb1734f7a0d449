// One thread and the jobs that belong to it: a bounded queue in front, evaluations at a fixed pace behind.
//
// TryPush and the readers are thread-safe; everything else happens on the shard's own thread.

#ifndef LOCKSTEP_COLLECTOR_SHARD_H_
#define LOCKSTEP_COLLECTOR_SHARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/progress_watch.h"
#include "collector/ingest/job_slice.h"
#include "collector/job_table.h"

namespace lockstep {

struct ShardOptions {
  size_t queue_slices = 1'024;
  size_t queue_bytes = 64 << 20;
  int64_t evaluate_every_ns = 500'000'000;
  size_t max_tasks = 256;  // that wait
};

class Shard {
 public:
  // Starts the thread. `begin` is called from it first; slices wait meanwhile. `on_room` is called from it, often,
  // after the queue was emptied.
  Shard(const ShardOptions& options, const Clock& clock, std::unique_ptr<JobTable> jobs,
        std::function<void(JobTable&)> begin, std::function<void()> on_room);
  // Close, if that was not done.
  ~Shard();

  // Moves the slice into the queue; leaves it untouched and returns false when that is full or closed.
  bool TryPush(JobSlice& slice);

  // Has `task` called from the shard's thread, soon. False before `begin` has returned, when too many wait, and after
  // Close.
  bool TryRun(std::function<void(JobTable&)> task);

  // Has the jobs judged by other options from the next evaluation on.
  void Reconfigure(const JobTableOptions& options);

  // Observes what is queued, concludes a last time and ends the thread. Idempotent.
  void Close();

  std::shared_ptr<const JobsSnapshot> snapshot() const { return jobs_->snapshot(); }
  // Whether `begin` has returned.
  bool has_begun() const { return begun_.load(); }
  // A turn is one look for slices, or one of the table's. It has work until it is closed: it evaluates.
  Progress progress() const { return {.turns = turns_.load() + jobs_->turns(), .has_work = !ended_.load()}; }
  size_t waiting() const { return queue_.size(); }
  size_t capacity() const { return queue_.capacity(); }

 private:
  void Run();
  void TakeOptions();
  void RunTasks();

  const ShardOptions options_;
  const Clock& clock_;
  const std::unique_ptr<JobTable> jobs_;
  const std::function<void(JobTable&)> begin_;
  const std::function<void()> on_room_;
  BoundedQueue<JobSlice> queue_;
  std::atomic<size_t> queued_bytes_{0};
  std::atomic<bool> begun_{false};
  std::atomic<bool> ended_{false};
  std::atomic<uint64_t> turns_{0};
  Mutex mutex_;
  std::vector<std::function<void(JobTable&)>> tasks_ ABSL_GUARDED_BY(mutex_);  // at most max_tasks
  bool takes_tasks_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<JobTableOptions> reconfigured_ ABSL_GUARDED_BY(mutex_);  // not yet taken on
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_SHARD_H_
