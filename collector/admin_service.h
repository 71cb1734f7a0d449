// What an operator changes by a command, over gRPC.
//
// Who may is decided by AccessControl; who did is kept by AuditLog. History is written on the query thread, so that no
// thread of gRPC waits for a disk; a backup has a thread of its own. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ADMIN_SERVICE_H_
#define LOCKSTEP_COLLECTOR_ADMIN_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <string>

#include "absl/status/status.h"
#include "collector/access/access_control.h"
#include "collector/access/audit_log.h"
#include "collector/backup_runner.h"
#include "collector/expected_hosts.h"
#include "collector/ingest/agent_registry.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"
#include "proto/admin.grpc.pb.h"

namespace lockstep {

class AdminService final : public wire::Admin::CallbackService {
 public:
  // References are borrowed.
  AdminService(AccessControl& access, AuditLog& audit, const AgentRegistry& agents, ExpectedHosts& hosts,
               HistoryStore& history, QueryWorker& worker, BackupRunner& backups)
      : access_(access),
        audit_(audit),
        agents_(agents),
        hosts_(hosts),
        history_(history),
        worker_(worker),
        backups_(backups) {}

  grpc::ServerUnaryReactor* ForgetHost(grpc::CallbackServerContext* context, const wire::ForgetHostRequest* request,
                                       wire::ForgetHostResponse* response) override;
  grpc::ServerUnaryReactor* Backup(grpc::CallbackServerContext* context, const wire::BackupRequest* request,
                                   wire::BackupResponse* response) override;

 private:
  absl::Status Forget(const std::string& host);

  AccessControl& access_;
  AuditLog& audit_;
  const AgentRegistry& agents_;
  ExpectedHosts& hosts_;
  HistoryStore& history_;
  QueryWorker& worker_;
  BackupRunner& backups_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ADMIN_SERVICE_H_
