// Keeps in the audit when other files than before say who gets in: rules of access, a provider's key set, authorities.
//
// Nobody asks the collector for such a change: who may write the files makes it, also while no collector runs. So the
// record has no name but the digest of what is in force, and a start whose files are those of the record before makes
// none. Not thread-safe; records are written on the query thread.

#ifndef LOCKSTEP_COLLECTOR_DOOR_AUDIT_H_
#define LOCKSTEP_COLLECTOR_DOOR_AUDIT_H_

#include <map>
#include <string>
#include <vector>

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

  // What is in force now. To be called about once per second; a queue that is full is tried again.
  void Look(const std::vector<DoorFile>& files);

 private:
  void Keep(const std::string& action, const std::string& of, bool is_first);

  AuditLog& audit_;
  HistoryStore& history_;
  QueryWorker& worker_;
  std::map<std::string, std::string> seen_;  // texts by action
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DOOR_AUDIT_H_
