// One stream of an agent to the collector: both of its ends, and what is on its way. See simulated_network.h.
//
// Thread-safe; for threads of a ThreadWorld.

#ifndef LOCKSTEP_TESTS_FAULTS_CONNECTION_H_
#define LOCKSTEP_TESTS_FAULTS_CONNECTION_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "proto/ingest.pb.h"
#include "tests/faults/simulated_network.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

class Connection final : public grpc::ServerCallbackReaderWriter<wire::AgentMessage, wire::CollectorMessage>,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(SimulatedNetwork& network, Machine agent) : network_(network), agent_(agent) {}

  Machine agent() const { return agent_; }
  bool is_over() const;  // at both ends

  // The agent's end; see CollectorStream.
  void Open();
  bool AgentWrite(const wire::AgentMessage& message);
  bool AgentRead(wire::CollectorMessage& message);
  void AgentCancel();
  absl::Status AgentFinish();

  // One end learns that the stream is over.
  void EndAtAgent(const absl::Status& status);
  void EndAtCollector();

  // The collector's end; called by the reactor.
  void Finish(grpc::Status status) override;
  void SendInitialMetadata() override {}
  void Read(wire::AgentMessage* message) override;
  void Write(const wire::CollectorMessage* message, grpc::WriteOptions options) override;
  void WriteAndFinish(const wire::CollectorMessage* message, grpc::WriteOptions options, grpc::Status status) override;

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  // Has `arrive` called at this or the other end, after all that was sent there before.
  void SendToCollector(std::function<void(Connection&)> arrive);
  void SendToAgent(std::function<void(Connection&)> arrive);
  void Accept(const SimulatedNetwork::Server& server);
  void PumpLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PostLocked(std::function<void(Connection&)> reaction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeDoneLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SimulatedNetwork& network_;
  const Machine agent_;
  grpc::CallbackServerContext context_;

  mutable Mutex mutex_;
  CondVar changed_;
  int64_t last_at_collector_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_at_agent_ns_ ABSL_GUARDED_BY(mutex_) = 0;

  // Of the agent's end.
  size_t unread_ ABSL_GUARDED_BY(mutex_) = 0;  // messages that the collector has not taken
  std::deque<wire::CollectorMessage> answers_ ABSL_GUARDED_BY(mutex_);
  bool agent_over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status agent_status_ ABSL_GUARDED_BY(mutex_);

  // Of the collector's end.
  ReactionPool* pool_ ABSL_GUARDED_BY(mutex_) = nullptr;  // nullptr = not accepted
  grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage>* reactor_ = nullptr;
  std::deque<wire::AgentMessage> arrived_ ABSL_GUARDED_BY(mutex_);  // at most kWindow
  wire::AgentMessage* reading_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t reactions_ ABSL_GUARDED_BY(mutex_) = 0;   // under way
  bool is_bound_ ABSL_GUARDED_BY(mutex_) = false;  // reactions wait for it
  bool collector_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_CONNECTION_H_
