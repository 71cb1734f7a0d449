// What history has to know of those who are told of incidents: what they have taken, and what they were told last.
//
// Plain functions; as thread-safe as what they call.

#ifndef LOCKSTEP_COLLECTOR_ALERT_MEMORY_H_
#define LOCKSTEP_COLLECTOR_ALERT_MEMORY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/alert/told_alert.h"
#include "collector/metrics.h"
#include "collector/store/history_store.h"

namespace lockstep {

struct AlertMemory {
  // `receiver` need not be told any more of the changes of these numbers.
  std::function<void(const std::string& receiver, const std::vector<uint64_t>& numbers)> forget;
  // The receiver was told this. Said before the change that it was told is forgotten.
  std::function<void(const ToldAlert& told)> keep_told;
};

// Keeps it there. What the store refuses of the latter, or has to remove for it, is counted: what comes of those
// incidents after a restart may come early, and begins a new thread. Both are borrowed.
AlertMemory MemoryIn(HistoryStore& store, CollectorMetrics& metrics);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_MEMORY_H_
