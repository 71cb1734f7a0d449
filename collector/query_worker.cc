#include "collector/query_worker.h"

#include <utility>

#include "base/clock.h"

namespace lockstep {

QueryWorker::QueryWorker() : queue_(kMaxWaitingQueries) {
  thread_ = std::thread([this] {
    while (!queue_.drained()) {
      for (const Task& task : queue_.PopAll(60 * kNanosPerSecond)) task();
    }
  });
}

QueryWorker::~QueryWorker() { Close(); }

bool QueryWorker::TryRun(Task task) { return queue_.TryPush(std::move(task)); }

void QueryWorker::Close() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace lockstep
