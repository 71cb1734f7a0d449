#include "collector/alert_memory.h"

#include <cstddef>

#include "absl/status/statusor.h"

namespace lockstep {

AlertMemory MemoryIn(HistoryStore& store, CollectorMetrics& metrics) {
  return {.forget =
              [&store](const std::string& receiver, const std::vector<uint64_t>& numbers) {
                store.RemoveAlerts(receiver, numbers).IgnoreError();  // the next one takes them along
              },
          .keep_thread =
              [&store, &metrics](const AlertThread& thread) {
                const absl::StatusOr<size_t> made_room = store.PutThread(thread);
                metrics.CountDropped("alert_thread", made_room.ok() ? static_cast<double>(*made_room) : 1);
              }};
}

}  // namespace lockstep
