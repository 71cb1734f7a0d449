#include "cli/collector_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "daemon/token_file.h"
#include "proto/admin.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

// gRPC nests its reasons ("failed to connect to all addresses; last error: ...: Connection refused"): the innermost is
// what a person can act on.
std::string InnermostReason(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

absl::Status FromGrpc(const grpc::Status& status, const std::string& address, const std::string& named_by) {
  const std::string hint = absl::StrCat("; is it running? name another one with ", named_by);
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return absl::OkStatus();
    case grpc::StatusCode::UNAVAILABLE:
      return absl::UnavailableError(
          absl::StrCat("cannot reach the collector at ", address, ": ", InnermostReason(status.error_message()), hint));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::UnavailableError(absl::StrCat("the collector at ", address, " did not answer in time", hint));
    case grpc::StatusCode::NOT_FOUND:
      return absl::NotFoundError(status.error_message());
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return absl::InvalidArgumentError(status.error_message());
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return absl::PermissionDeniedError(
          absl::StrCat("the collector at ", address, " does not allow it: ", status.error_message()));
    case grpc::StatusCode::DATA_LOSS:
      return absl::DataLossError(status.error_message());
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return absl::ResourceExhaustedError(
          absl::StrCat("the collector at ", address, " refuses: ", status.error_message()));
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::UnimplementedError(
          absl::StrCat("the collector at ", address, " is of a release that cannot do that"));
    default:
      return absl::InternalError(absl::StrCat("the collector at ", address, " answered with an error (code ",
                                              static_cast<int>(status.error_code()), "): ", status.error_message()));
  }
}

absl::StatusOr<std::string> ReadAuthorization(const CollectorKeys& keys) {
  if (keys.token_file.empty()) return std::string();
  if (keys.security.is_plain()) {
    return absl::InvalidArgumentError(
        absl::StrCat(keys.token_file, ": a token is sent over TLS only; name the collector's authorities, --tls-ca"));
  }
  return ReadBearer(keys.token_file);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address,
                                                           const ChannelSecurity& security) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(CollectorClient::kMaxMessageBytes);
  // A collector is inside the cluster: a proxy from the environment would only stand in the way.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                   MakeChannelCredentials(security, arguments));
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

void SetDeadline(grpc::ClientContext& context, int64_t nanos) {
  const gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN));
  context.set_deadline(deadline);
}

}  // namespace

absl::Status CheckCollectorAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:") && address.size() > 5) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon != std::string::npos && colon > 0 && absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 &&
      port < 65536) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("collector address '", address, "' is not HOST:PORT (such as 127.0.0.1:7070) or unix:PATH"));
}

class CollectorClient::Connection {
 public:
  Connection(const std::string& address, int64_t deadline_nanos, const std::string& named_by, const CollectorKeys& keys)
      : address_(address),
        deadline_nanos_(deadline_nanos),
        named_by_(named_by),
        authorization_(ReadAuthorization(keys)) {
    const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(address, keys.security);
    usable_ = channel.ok() ? authorization_.status() : channel.status();
    if (!channel.ok()) return;
    channel_ = *channel;
    stub_ = wire::Query::NewStub(channel_);
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (wire::Query::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                          Response*),
                                const Request& request) {
    RETURN_IF_ERROR(usable_);
    grpc::ClientContext context;
    Prepare(context, deadline_nanos_);
    Response response;
    const grpc::Status status = ((*stub_).*method)(&context, request, &response);
    if (!status.ok()) return FromGrpc(status, address_, named_by_);
    return response;
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Change(grpc::Status (wire::Admin::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                            Response*),
                                  const Request& request, int64_t deadline_nanos = 0) {
    RETURN_IF_ERROR(usable_);
    grpc::ClientContext context;
    Prepare(context, deadline_nanos != 0 ? deadline_nanos : deadline_nanos_);
    Response response;
    const grpc::Status status = ((*wire::Admin::NewStub(channel_)).*method)(&context, request, &response);
    if (!status.ok()) return FromGrpc(status, address_, named_by_);
    return response;
  }

  absl::Status Capture(const wire::CaptureRequest& request,
                       const std::function<absl::Status(const wire::CaptureEntry&)>& visit) {
    RETURN_IF_ERROR(usable_);
    grpc::ClientContext context;
    Prepare(context, kCaptureDeadlineNanos);
    const auto reader = stub_->Capture(&context, request);
    wire::CaptureEntry entry;
    absl::Status visited;
    while (visited.ok() && reader->Read(&entry)) visited = visit(entry);
    if (!visited.ok()) context.TryCancel();
    const grpc::Status finished = reader->Finish();
    return visited.ok() ? FromGrpc(finished, address_, named_by_) : visited;
  }

  absl::Status OnDemand(const wire::OnDemandRequest& request,
                        const std::function<void(const wire::OnDemandAnswer&)>& take) {
    RETURN_IF_ERROR(usable_);
    grpc::ClientContext context;
    Prepare(context, kDemandDeadlineNanos);
    const auto reader = wire::Admin::NewStub(channel_)->OnDemand(&context, request);
    for (wire::OnDemandAnswer answer; reader->Read(&answer);) take(answer);
    return FromGrpc(reader->Finish(), address_, named_by_);
  }

 private:
  void Prepare(grpc::ClientContext& context, int64_t nanos) const {
    SetDeadline(context, nanos);
    if (!authorization_->empty()) context.AddMetadata("authorization", *authorization_);
  }

  const std::string address_;
  const int64_t deadline_nanos_;
  const std::string named_by_;
  const absl::StatusOr<std::string> authorization_;
  absl::Status usable_;  // what is wrong with the keys
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Query::Stub> stub_;
};

CollectorClient::CollectorClient(const std::string& address, int64_t deadline_nanos, const std::string& named_by,
                                 const CollectorKeys& keys)
    : connection_(std::make_unique<Connection>(address, deadline_nanos, named_by, keys)) {}

CollectorClient::~CollectorClient() = default;

absl::StatusOr<wire::GetStatusResponse> CollectorClient::GetStatus(const wire::GetStatusRequest& request) {
  ASSIGN_OR_RETURN(wire::GetStatusResponse status, connection_->Call(&wire::Query::Stub::GetStatus, request));
  if (status.time_line_wall_ns() == 0) status.set_time_line_wall_ns(status.now_wall_ns());
  return status;
}

absl::StatusOr<int64_t> CollectorClient::NowWallNanos() {
  wire::GetStatusRequest request;
  request.set_only_times(true);
  ASSIGN_OR_RETURN(const wire::GetStatusResponse status, GetStatus(request));
  return status.time_line_wall_ns();
}

absl::Status CollectorClient::ForgetHost(const std::string& host) {
  wire::ForgetHostRequest request;
  request.set_host(host);
  return connection_->Change(&wire::Admin::Stub::ForgetHost, request).status();
}

absl::StatusOr<wire::Incident> CollectorClient::Acknowledge(uint64_t id, const std::string& note, bool undo) {
  wire::AcknowledgeRequest request;
  request.set_incident(id);
  request.set_note(note);
  request.set_undo(undo);
  return connection_->Change(&wire::Admin::Stub::Acknowledge, request);
}

absl::StatusOr<wire::Incident> CollectorClient::Silence(uint64_t id, int64_t until_wall_ns, const std::string& note) {
  wire::SilenceRequest request;
  request.set_incident(id);
  request.set_until_wall_ns(until_wall_ns);
  request.set_note(note);
  return connection_->Change(&wire::Admin::Stub::Silence, request);
}

absl::StatusOr<wire::Incident> CollectorClient::Resolve(uint64_t id, const std::string& note) {
  wire::ResolveRequest request;
  request.set_incident(id);
  request.set_note(note);
  return connection_->Change(&wire::Admin::Stub::Resolve, request);
}

absl::StatusOr<wire::Incident> CollectorClient::Comment(uint64_t id, const std::string& text) {
  wire::CommentRequest request;
  request.set_incident(id);
  request.set_text(text);
  return connection_->Change(&wire::Admin::Stub::Comment, request);
}

absl::StatusOr<wire::ListMaintenanceResponse> CollectorClient::ListMaintenance(bool with_past) {
  wire::ListMaintenanceRequest request;
  request.set_with_past(with_past);
  return connection_->Call(&wire::Query::Stub::ListMaintenance, request);
}

absl::StatusOr<wire::MaintenanceWindow> CollectorClient::AddMaintenance(const wire::AddMaintenanceRequest& request) {
  return connection_->Change(&wire::Admin::Stub::AddMaintenance, request);
}

absl::StatusOr<wire::MaintenanceWindow> CollectorClient::EndMaintenance(uint64_t id) {
  wire::EndMaintenanceRequest request;
  request.set_id(id);
  return connection_->Change(&wire::Admin::Stub::EndMaintenance, request);
}

absl::StatusOr<wire::ListAuditResponse> CollectorClient::ListAudit(const wire::ListAuditRequest& request) {
  return connection_->Change(&wire::Admin::Stub::ListAudit, request);
}

absl::StatusOr<wire::BackupResponse> CollectorClient::Backup() {
  return connection_->Change(&wire::Admin::Stub::Backup, wire::BackupRequest(), kBackupDeadlineNanos);
}

absl::Status CollectorClient::OnDemand(const wire::OnDemandRequest& request,
                                       const std::function<void(const wire::OnDemandAnswer&)>& take) {
  return connection_->OnDemand(request, take);
}

absl::StatusOr<wire::ListJobsResponse> CollectorClient::ListJobs() {
  return connection_->Call(&wire::Query::Stub::ListJobs, wire::ListJobsRequest());
}

absl::StatusOr<wire::ListRanksResponse> CollectorClient::ListRanks(const wire::ListRanksRequest& request) {
  return connection_->Call(&wire::Query::Stub::ListRanks, request);
}

absl::StatusOr<wire::ListIncidentsResponse> CollectorClient::ListIncidents(const wire::ListIncidentsRequest& request) {
  return connection_->Call(&wire::Query::Stub::ListIncidents, request);
}

absl::StatusOr<wire::Incident> CollectorClient::GetIncident(uint64_t id) {
  wire::GetIncidentRequest request;
  request.set_id(id);
  return connection_->Call(&wire::Query::Stub::GetIncident, request);
}

absl::StatusOr<wire::GetStacksResponse> CollectorClient::GetStacks(uint64_t incident) {
  wire::GetStacksRequest request;
  request.set_incident(incident);
  absl::StatusOr<wire::GetStacksResponse> stacks = connection_->Call(&wire::Query::Stub::GetStacks, request);
  if (absl::IsUnimplemented(stacks.status())) return wire::GetStacksResponse();
  return stacks;
}

absl::StatusOr<wire::ListGpusResponse> CollectorClient::ListGpus(const wire::ListGpusRequest& request) {
  absl::StatusOr<wire::ListGpusResponse> gpus = connection_->Call(&wire::Query::Stub::ListGpus, request);
  if (absl::IsUnimplemented(gpus.status())) return wire::ListGpusResponse();
  return gpus;
}

absl::StatusOr<wire::GetHistoryResponse> CollectorClient::GetHistory(const wire::GetHistoryRequest& request) {
  return connection_->Call(&wire::Query::Stub::GetHistory, request);
}

absl::Status CollectorClient::Capture(const wire::CaptureRequest& request,
                                      const std::function<absl::Status(const wire::CaptureEntry&)>& visit) {
  return connection_->Capture(request, visit);
}

}  // namespace lockstep
