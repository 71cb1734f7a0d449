// The stream of one played agent to a collector.
//
// A gRPC callback reactor: reports are queued, written one after the other, and forgotten; there is no outbox, and a
// stream that ends stays ended. Commands of the collector are kept until somebody takes them. Thread-safe.

#ifndef LOCKSTEP_SIM_FEED_HOST_STREAM_H_
#define LOCKSTEP_SIM_FEED_HOST_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "proto/ingest.grpc.pb.h"
#include "proto/ingest.pb.h"

namespace lockstep {

class HostStream final : public grpc::ClientBidiReactor<wire::AgentMessage, wire::CollectorMessage> {
 public:
  // Reports beyond these that wait to be written are thrown away and counted; likewise commands.
  static constexpr size_t kMaxQueuedReports = 64;
  static constexpr size_t kMaxCommands = 64;

  // Says hello. `stub` must outlive this.
  HostStream(wire::Ingest::Stub& stub, const wire::AgentHello& hello);

  // Blocks until the stream has ended.
  ~HostStream() override;

  void Send(wire::AgentReport report);
  std::vector<wire::Command> TakeCommands();

  // No more reports. The stream ends when all are written, or at once if it cannot be written to.
  void Finish();

  // Breaks the stream off.
  void Cancel() { context_.TryCancel(); }

  bool ended() const;
  uint64_t stored_before() const;  // newest sequence that the collector knew of this agent when it said hello
  uint64_t acknowledged() const;   // newest sequence
  uint64_t dropped() const;
  std::string error() const;  // why the stream ended; "" = it goes on, or ended well

  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  grpc::ClientContext context_;
  wire::CollectorMessage incoming_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<wire::AgentMessage> queue_ ABSL_GUARDED_BY(mutex_);  // the front one is being written
  std::vector<wire::Command> commands_ ABSL_GUARDED_BY(mutex_);
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writes_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t stored_before_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_HOST_STREAM_H_
