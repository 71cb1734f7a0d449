// Ids of incidents stay of one incident, whatever becomes of disk and collector.
//
// A disk that refuses keeps no alert back, so that people hear of incidents that no restart remembers. That is why ids
// are given out of what history has taken for it before: the next life begins behind all that this one may have used.
// An orderly end gives back what is left; after a crash up to kAhead ids are never used. Not kept: a collector that
// dies after kAhead / 2 incidents in which its disk refused, or that has found a disk that refuses already at its
// start.
//
// Restore, Renew and GiveBack: by one thread at a time. RenewOn is thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_IDS_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_IDS_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "collector/incident_index.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"

namespace lockstep {

class IncidentIds {
 public:
  static constexpr uint64_t kAhead = 64;

  // Borrows both.
  IncidentIds(HistoryStore& store, IncidentIndex& index) : store_(store), index_(index) {}

  // Has `index` go on behind the ids of earlier lives. To be called before the first is given out. Error: of reading;
  // a history that takes nothing is tried again by Renew.
  absl::Status Restore();

  // Has history take more, if less than half of kAhead is left. Blocks as long as history does; to be called about once
  // a second.
  void Renew();

  // Renew by `worker`, which must end before this does. One at a time: a history that hangs takes one place there.
  void RenewOn(QueryWorker& worker);

  // After the last id was given out and the last incident was written.
  void GiveBack();

 private:
  HistoryStore& store_;
  IncidentIndex& index_;
  std::atomic<bool> renewing_{false};
  uint64_t taken_ = 0;  // by history: ids up to this one may be given out
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_IDS_H_
