// The thread on which queries read history, so that neither gRPC's threads nor detection wait for a disk.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_QUERY_WORKER_H_
#define LOCKSTEP_COLLECTOR_QUERY_WORKER_H_

#include <cstddef>
#include <functional>
#include <thread>

#include "base/bounded_queue.h"

namespace lockstep {

inline constexpr size_t kMaxWaitingQueries = 256;

class QueryWorker {
 public:
  using Task = std::function<void()>;

  // Starts the thread.
  QueryWorker();
  // Close, if that was not done.
  ~QueryWorker();

  // Has `task` run, in order. False when too many wait, or when closed.
  bool TryRun(Task task);

  // Runs what waits and ends the thread. Idempotent.
  void Close();

 private:
  BoundedQueue<Task> queue_;
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_QUERY_WORKER_H_
