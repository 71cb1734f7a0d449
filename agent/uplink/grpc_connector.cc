#include "agent/uplink/grpc_connector.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/status/statusor.h"
#include "daemon/token_file.h"
#include "proto/ingest.grpc.pb.h"

namespace lockstep {
namespace {

// The synchronous API: an agent has one stream, and two blocking calls are easier to get right than callbacks.
class GrpcStream final : public CollectorStream {
 public:
  // `authorization` is sent along; "" = nothing is.
  GrpcStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& authorization)
      : stub_(wire::Ingest::NewStub(channel)) {
    if (!authorization.empty()) context_.AddMetadata("authorization", authorization);
    stream_ = stub_->Stream(&context_);
  }

  bool Write(const wire::AgentMessage& message) override { return stream_->Write(message); }
  bool Read(wire::CollectorMessage& message) override { return stream_->Read(&message); }
  void Cancel() override { context_.TryCancel(); }

  absl::Status Finish() override {
    const grpc::Status status = stream_->Finish();
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<wire::Ingest::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::AgentMessage, wire::CollectorMessage>> stream_;
};

// A stream that is over at once: there are no keys to open it with.
class NoStream final : public CollectorStream {
 public:
  explicit NoStream(absl::Status why) : why_(std::move(why)) {}

  bool Write(const wire::AgentMessage& message) override { return false; }
  bool Read(wire::CollectorMessage& message) override { return false; }
  void Cancel() override {}
  absl::Status Finish() override { return absl::PermissionDeniedError(why_.message()); }

 private:
  const absl::Status why_;
};

}  // namespace

std::unique_ptr<CollectorStream> GrpcConnector::Connect() {
  grpc::ChannelArguments arguments;
  // Bandwidth probing costs a ping per report and gains nothing at these rates.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A new channel must not inherit the backoff of the one before.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  const auto credentials = MakeChannelCredentials(security_, arguments);
  if (!credentials.ok()) return std::make_unique<NoStream>(credentials.status());
  absl::StatusOr<std::string> authorization("");
  if (!token_file_.empty()) authorization = ReadBearer(token_file_);
  if (!authorization.ok()) return std::make_unique<NoStream>(authorization.status());
  return std::make_unique<GrpcStream>(grpc::CreateCustomChannel(address_, *credentials, arguments), *authorization);
}

}  // namespace lockstep
