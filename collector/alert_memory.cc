#include "collector/alert_memory.h"

#include <cstddef>

#include "absl/status/statusor.h"

namespace lockstep {

AlertMemory MemoryIn(HistoryStore& store, CollectorMetrics& metrics) {
  return {.forget =
              [&store](const std::string& receiver, const std::vector<uint64_t>& numbers) {
                store.RemoveAlerts(receiver, numbers).IgnoreError();  // the next one takes them along
              },
          .keep_told =
              [&store, &metrics](const ToldAlert& told) {
                const absl::StatusOr<size_t> made_room = store.PutTold(told);
                metrics.CountDropped("told_alert", made_room.ok() ? static_cast<double>(*made_room) : 1);
              }};
}

}  // namespace lockstep
