// A thread that reads history for others, so that neither gRPC's threads nor detection wait for a disk.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_QUERY_WORKER_H_
#define LOCKSTEP_COLLECTOR_QUERY_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include "base/bounded_queue.h"
#include "base/progress_watch.h"

namespace lockstep {

inline constexpr size_t kMaxWaitingQueries = 256;
// Of agents that a collector which was started has to ask history about: as many as it takes, and more.
inline constexpr size_t kMaxWaitingLookups = 65'536;

class QueryWorker {
 public:
  using Task = std::function<void()>;

  // Starts the thread.
  explicit QueryWorker(size_t max_waiting = kMaxWaitingQueries);
  // Close, if that was not done.
  ~QueryWorker();

  // Has `task` run, in order. False when too many wait, or when closed.
  bool TryRun(Task task);

  // A turn is one task. It has work while one waits or is under way.
  Progress progress() const { return {.turns = done_.load(), .has_work = taken_.load() != done_.load()}; }

  // Runs what waits and ends the thread. Idempotent.
  void Close();

 private:
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> done_{0};
  BoundedQueue<Task> queue_;
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_QUERY_WORKER_H_
