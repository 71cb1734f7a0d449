#include "collector/admin_service.h"

#include "base/log.h"
#include "base/status_macros.h"

namespace lockstep {

grpc::ServerUnaryReactor* AdminService::ForgetHost(grpc::CallbackServerContext* context,
                                                   const wire::ForgetHostRequest* request,
                                                   wire::ForgetHostResponse* /*response*/) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool taken = worker_.TryRun([this, reactor, request] {
    const absl::Status status = Forget(request->host());
    reactor->Finish(grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message())));
  });
  if (!taken) {
    reactor->Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many queries wait for history"));
  }
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
