#include "collector/shard.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

// Streams that were parked while the queue was full are resumed at least this often.
constexpr int64_t kLongestWaitNanos = 100 * kNanosPerMilli;

}  // namespace

Shard::Shard(const ShardOptions& options, const Clock& clock, std::unique_ptr<JobTable> jobs,
             std::function<void(JobTable&)> begin, std::function<void()> on_room)
    : options_(options),
      clock_(clock),
      jobs_(std::move(jobs)),
      begin_(std::move(begin)),
      on_room_(std::move(on_room)),
      queue_(options.queue_slices) {
  thread_ = std::thread([this] { Run(); });
}

Shard::~Shard() { Close(); }

bool Shard::TryPush(JobSlice& slice) {
  const size_t bytes = slice.bytes;
  if (queued_bytes_.load() >= options_.queue_bytes) return false;
  queued_bytes_ += bytes;
  if (queue_.TryPush(std::move(slice))) return true;
  queued_bytes_ -= bytes;
  return false;
}

void Shard::Reconfigure(const JobTableOptions& options) {
  MutexLock lock(mutex_);
  reconfigured_ = options;
}

bool Shard::TryRun(std::function<void(JobTable&)> task) {
  MutexLock lock(mutex_);
  if (!takes_tasks_ || tasks_.size() >= options_.max_tasks) return false;
  tasks_.push_back(std::move(task));
  return true;
}

void Shard::RunTasks() {
  std::vector<std::function<void(JobTable&)>> tasks;
  {
    MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task(*jobs_);
}

void Shard::TakeOptions() {
  std::optional<JobTableOptions> options;
  {
    MutexLock lock(mutex_);
    options.swap(reconfigured_);
  }
  if (options.has_value()) jobs_->Reconfigure(*options);
}

void Shard::Close() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

void Shard::Run() {
  begin_(*jobs_);
  begun_ = true;
  {
    MutexLock lock(mutex_);
    takes_tasks_ = true;
  }
  int64_t next_evaluation = clock_.MonotonicNanos() + options_.evaluate_every_ns;
  while (!queue_.drained()) {
    const int64_t left = next_evaluation - clock_.MonotonicNanos();
    for (JobSlice& slice : queue_.PopAll(std::clamp<int64_t>(left, 0, kLongestWaitNanos))) {
      queued_bytes_ -= slice.bytes;
      jobs_->Observe(std::move(slice));
    }
    RunTasks();
    on_room_();
    ++turns_;
    const int64_t now = clock_.MonotonicNanos();
    if (now < next_evaluation) continue;
    TakeOptions();
    jobs_->Evaluate();
    next_evaluation = std::max(next_evaluation + options_.evaluate_every_ns, now);
  }
  jobs_->Evaluate();
  {
    MutexLock lock(mutex_);
    takes_tasks_ = false;
  }
  RunTasks();
  ended_ = true;
}

}  // namespace lockstep
