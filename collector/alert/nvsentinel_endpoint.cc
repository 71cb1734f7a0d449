#include "collector/alert/nvsentinel_endpoint.h"

#include <google/protobuf/empty.pb.h>
#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "collector/alert/nvsentinel_payload.h"
#include "daemon/token_file.h"

namespace lockstep {
namespace {

using Outcome = AnswerVerdict::Outcome;

constexpr int64_t kLookNanos = 100 * kNanosPerMilli;  // between two questions whether to abort
constexpr int kLongestReconnectMillis = 5'000;        // it is started again with its node's other pods

gpr_timespec In(int64_t nanos) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN));
}

std::unique_ptr<datamodels::PlatformConnector::Stub> NewStub(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMillis);
  return datamodels::PlatformConnector::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

// What the connector says of the events it would say again. Who may send them is for somebody to mend.
AnswerVerdict Judge(const grpc::Status& status) {
  if (status.ok()) return {.outcome = Outcome::kTaken, .why = ""};
  const std::string why = absl::StrCat("gRPC status ", status.error_code(), ": ", status.error_message());
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return {.outcome = Outcome::kRefused, .why = why};
    default:
      return {.outcome = Outcome::kLater, .why = why};
  }
}

}  // namespace

NvsentinelEndpoint::NvsentinelEndpoint(const ReceiverSpec& receiver, const std::string& address, int64_t timeout_ns,
                                       std::function<bool()> abort)
    : token_file_(receiver.token_file), timeout_ns_(timeout_ns), abort_(std::move(abort)), stub_(NewStub(address)) {}

AlertEndpoint::Answer NvsentinelEndpoint::Send(const IncidentEvent& event, const DeliveryContext& context) {
  const datamodels::HealthEvents events = HealthEventsFor(event, context);
  if (events.events().empty()) return {.verdict = {.outcome = Outcome::kTaken, .why = ""}};
  grpc::ClientContext call;
  call.set_deadline(In(timeout_ns_));
  if (!token_file_.empty()) {
    const absl::StatusOr<std::string> bearer = ReadBearer(token_file_);
    if (!bearer.ok()) return {.verdict = {.outcome = Outcome::kLater, .why = std::string(bearer.status().message())}};
    call.AddMetadata("authorization", *bearer);
  }
  grpc::CompletionQueue queue;
  google::protobuf::Empty nothing;
  grpc::Status status;
  const auto answer = stub_->AsyncHealthEventOccurredV1(&call, events, &queue);
  answer->Finish(&nothing, &status, this);
  void* tag = nullptr;
  bool ok = false;
  while (queue.AsyncNext(&tag, &ok, In(kLookNanos)) == grpc::CompletionQueue::TIMEOUT) {
    if (abort_()) call.TryCancel();
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return {.verdict = Judge(status)};
}

}  // namespace lockstep
