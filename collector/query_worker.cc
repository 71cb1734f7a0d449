#include "collector/query_worker.h"

#include <utility>

#include "base/clock.h"

namespace lockstep {

QueryWorker::QueryWorker(size_t max_waiting) : queue_(max_waiting) {
  thread_ = std::thread([this] {
    while (!queue_.drained()) {
      for (const Task& task : queue_.PopAll(60 * kNanosPerSecond)) {
        task();
        ++done_;
      }
    }
  });
}

QueryWorker::~QueryWorker() { Close(); }

bool QueryWorker::TryRun(Task task) {
  ++taken_;
  if (queue_.TryPush(std::move(task))) return true;
  --taken_;
  return false;
}

void QueryWorker::Close() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace lockstep
