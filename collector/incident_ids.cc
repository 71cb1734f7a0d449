#include "collector/incident_ids.h"

#include "base/status_macros.h"

namespace lockstep {

absl::Status IncidentIds::Restore() {
  ASSIGN_OR_RETURN(taken_, store_.LoadIncidentIds());
  index_.UseUp(taken_);
  Renew();
  return absl::OkStatus();
}

void IncidentIds::Renew() {
  const uint64_t last = index_.last_id();
  if (taken_ >= last + kAhead / 2) return;
  // StoreWriter tells of a store that refuses.
  if (store_.PutIncidentIds(last + kAhead).ok()) taken_ = last + kAhead;
}

void IncidentIds::RenewOn(QueryWorker& worker) {
  if (renewing_.exchange(true)) return;
  const bool taken = worker.TryRun([this] {
    Renew();
    renewing_ = false;
  });
  if (!taken) renewing_ = false;
}

void IncidentIds::GiveBack() {
  if (store_.PutIncidentIds(index_.last_id()).ok()) taken_ = index_.last_id();
}

}  // namespace lockstep
