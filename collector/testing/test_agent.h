// An agent as the collector sees it: one stream, blocking calls, nothing hidden.

#ifndef LOCKSTEP_COLLECTOR_TESTING_TEST_AGENT_H_
#define LOCKSTEP_COLLECTOR_TESTING_TEST_AGENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdint>
#include <memory>
#include <string>

#include "collector/testing/report_builder.h"
#include "proto/ingest.grpc.pb.h"

namespace lockstep {

// Not thread-safe, except that one thread may Send while another awaits.
class TestAgent {
 public:
  // `authorization` is sent with the call; "" = nothing.
  explicit TestAgent(const std::shared_ptr<grpc::Channel>& channel, const std::string& authorization = "")
      : stub_(wire::Ingest::NewStub(channel)) {
    if (!authorization.empty()) context_.AddMetadata("authorization", authorization);
    stream_ = stub_->Stream(&context_);
  }
  ~TestAgent() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  bool Send(const wire::AgentMessage& message) { return stream_->Write(message); }

  // Says hello and returns what the collector has stored; -1 if it refuses.
  int64_t Hello(const std::string& host, uint64_t incarnation) { return Hello(MakeTestHello(host, incarnation)); }
  int64_t Hello(const wire::AgentMessage& hello) {
    wire::CollectorMessage message;
    if (!Send(hello) || !stream_->Read(&message) || !message.has_hello_ack()) return -1;
    return static_cast<int64_t>(message.hello_ack().stored_sequence());
  }

  // Reads acknowledgements until `sequence`; false if the stream ends before.
  bool AwaitAck(uint64_t sequence) {
    wire::CollectorMessage message;
    while (stream_->Read(&message)) {
      if (message.ack().stored_sequence() >= sequence) return true;
    }
    return false;
  }

  // Reads on until the collector sends a command with a demand; an empty one if the stream ends before.
  wire::Command AwaitDemand() {
    wire::CollectorMessage message;
    while (stream_->Read(&message)) {
      if (message.command().has_demand()) return message.command();
    }
    return {};
  }

  // The status with which the collector ends the stream.
  grpc::Status AwaitEnd() {
    wire::CollectorMessage message;
    while (stream_->Read(&message)) {
    }
    finished_ = true;
    return stream_->Finish();
  }

  void HalfClose() { stream_->WritesDone(); }

 private:
  std::unique_ptr<wire::Ingest::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::AgentMessage, wire::CollectorMessage>> stream_;
  bool finished_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_TEST_AGENT_H_
