#include "collector/admin_service.h"

#include <memory>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/access/caller.h"
#include "daemon/grpc_status.h"

namespace lockstep {
grpc::ServerUnaryReactor* AdminService::ForgetHost(grpc::CallbackServerContext* context,
                                                   const wire::ForgetHostRequest* request,
                                                   wire::ForgetHostResponse* /*response*/) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::StatusOr<std::shared_ptr<const Caller>> caller =
      access_.Admit(*context, "lockstep.wire.Admin.ForgetHost");
  if (!caller.ok()) {
    reactor->Finish(ToGrpc(caller.status()));
    return reactor;
  }
  const bool taken = worker_.TryRun([this, reactor, request, by = *caller, peer = context->peer()] {
    const absl::Status status = Forget(request->host());
    audit_.Note(*by, peer, "forget_host", request->host(), status);
    reactor->Finish(ToGrpc(status));
  });
  if (!taken) {
    reactor->Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many queries wait for history"));
  }
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::Backup(grpc::CallbackServerContext* context,
                                               const wire::BackupRequest* /*request*/, wire::BackupResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::StatusOr<std::shared_ptr<const Caller>> caller = access_.Admit(*context, "lockstep.wire.Admin.Backup");
  if (!caller.ok()) {
    reactor->Finish(ToGrpc(caller.status()));
    return reactor;
  }
  const auto done = [this, reactor, response, by = *caller,
                     peer = context->peer()](const absl::StatusOr<std::string>& directory) {
    if (directory.ok()) response->set_directory(*directory);
    audit_.Note(*by, peer, "backup", directory.value_or(""), directory.status());
    reactor->Finish(ToGrpc(directory.status()));
  };
  if (const absl::Status begun = backups_.Run(done); !begun.ok()) done(begun);
  return reactor;
}

absl::Status AdminService::Forget(const std::string& host) {
  RETURN_IF_ERROR(hosts_.CheckForget(host, agents_.agents()));
  RETURN_IF_ERROR(history_.RemoveHost(host));
  hosts_.Forget(host);
  Log(LogLevel::kInfo, "a host is not expected any more", {{"host", host}});
  return absl::OkStatus();
}

}  // namespace lockstep
