// What history has to know of those who are told of incidents: what they have taken, and where their threads are.
//
// Plain functions; as thread-safe as what they call.

#ifndef LOCKSTEP_COLLECTOR_ALERT_MEMORY_H_
#define LOCKSTEP_COLLECTOR_ALERT_MEMORY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/alert/alert_thread.h"
#include "collector/metrics.h"
#include "collector/store/history_store.h"

namespace lockstep {

struct AlertMemory {
  // `receiver` need not be told any more of the changes of these numbers.
  std::function<void(const std::string& receiver, const std::vector<uint64_t>& numbers)> forget;
  // The receiver has begun a thread. Said before the message that began it is forgotten.
  std::function<void(const AlertThread& thread)> keep_thread;
};

// Keeps it there. What the store refuses of threads, or has to remove for them, is counted: what comes of those
// incidents after a restart begins a new one. Both are borrowed.
AlertMemory MemoryIn(HistoryStore& store, CollectorMetrics& metrics);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_MEMORY_H_
