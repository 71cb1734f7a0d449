// Keeps in the audit when other files than before say who gets in, who is told of incidents, or who is missed: rules of
// access, a provider's key set, authorities, the guard of the pages, routes of alerts, the inventory.
//
// Nobody asks the collector for such a change: who may write the files makes it, also while no collector runs. So the
// record has no name but the digest of what is in force, and a start whose files are those of the record before makes
// none. Not thread-safe, but for TookOn; records are written on the query thread.

#ifndef LOCKSTEP_COLLECTOR_DOOR_AUDIT_H_
#define LOCKSTEP_COLLECTOR_DOOR_AUDIT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "collector/access/access_control.h"
#include "collector/access/audit_log.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"

namespace lockstep {

class DoorAudit {
 public:
  // All are borrowed.
  DoorAudit(AuditLog& audit, HistoryStore& history, QueryWorker& worker)
      : audit_(audit), history_(history), worker_(worker) {}

  // A file that is read at the start and by SIGHUP alone is in force from now on, in place of one of the same action.
  // Thread-safe.
  void TookOn(const DoorFile& file);

  // The others, as they are in force now; one without a name is none, and one that comes back is a change. To be called
  // about once per second; a queue that is full is tried again.
  void Look(const std::vector<DoorFile>& files);

 private:
  using Which = std::pair<std::string, std::string>;  // action and name
  using Digests = std::map<Which, std::string>;
  Digests InForce(const std::vector<DoorFile>& files);
  void Keep(const Which& which, const std::string& digest, bool is_first);

  AuditLog& audit_;
  HistoryStore& history_;
  QueryWorker& worker_;
  Digests told_;             // what is in force, as far as the query thread was told
  bool has_looked_ = false;  // and could tell the query thread of all
  Mutex mutex_;
  std::map<std::string, std::pair<std::string, std::string>> taken_on_ ABSL_GUARDED_BY(mutex_);  // name, digest
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DOOR_AUDIT_H_
