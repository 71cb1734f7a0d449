// All incidents that can be asked for, in their newest state, shared by shards (which write) and queries (which read).
//
// Thread-safe. At most `max_incidents`; beyond that the oldest resolved ones are forgotten here (history keeps them).

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_INDEX_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "collector/metrics.h"
#include "proto/incident.pb.h"

namespace lockstep {

class IncidentIndex {
 public:
  explicit IncidentIndex(size_t max_incidents) : max_incidents_(max_incidents) {}

  // Inserts or replaces by id.
  void Put(const wire::Incident& incident);

  // An id that was never used before, by this process, by any incident that was Put or by UseUp.
  uint64_t NextId();

  // Ids up to `id` are never given out from now on.
  void UseUp(uint64_t id);

  // The newest id that was used.
  uint64_t last_id() const;

  std::optional<wire::Incident> Find(uint64_t id) const;

  // Visits the newest first. `job` "" = all. `visit` must not call the index.
  void ForEach(bool open_only, const std::string& job, const std::function<void(const wire::Incident&)>& visit) const;

  size_t open_count() const;

  // For the metrics.
  std::map<CollectorMetrics::IncidentLabels, int> Counts() const;

 private:
  const size_t max_incidents_;
  mutable Mutex mutex_;
  std::map<uint64_t, wire::Incident> incidents_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_INDEX_H_
