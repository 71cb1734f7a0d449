// One agent's stream: says hello back, reads reports, hands them on, writes acknowledgements.
//
// A gRPC callback reactor. At most one read and one write are in flight; a newer acknowledgement overwrites the one
// that waits; while a queue behind is full no read is started, so that flow control stalls the sender. What it holds
// then is not accepted yet, and may be lost with it: the agent sends it again. Finish is called exactly once, from
// MaybeFinishLocked, never over a write. The object lives until OnDone; whoever else refers to it holds a weak pointer.
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INGEST_INGEST_STREAM_H_
#define LOCKSTEP_COLLECTOR_INGEST_INGEST_STREAM_H_

#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "collector/access/caller.h"
#include "collector/ingest/agent_ledger.h"
#include "collector/ingest/job_slice.h"
#include "collector/ingest/report_sink.h"
#include "proto/ingest.pb.h"

namespace lockstep {

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr size_t kMaxWaitingCommands = 64;

class IngestStream final : public grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage>,
                           public AgentStream,
                           public std::enable_shared_from_this<IngestStream> {
 public:
  // `caller` has opened it. `on_done` is called once, as the last thing before the stream dies.
  IngestStream(ReportSink& sink, std::string peer, std::shared_ptr<const Caller> caller,
               std::function<void(IngestStream*)> on_done);

  // Begins to read. `self` keeps the stream alive until OnDone.
  void Start(std::shared_ptr<IngestStream> self);

  // An agent that has connected and has not said hello.
  bool is_waiting_for_hello() const;

  // AgentStream
  void OnStored(uint64_t sequence) override;
  void Resume() override;
  bool Send(const wire::Command& command) override;
  std::string peer() const override { return peer_; }
  void Close(const absl::Status& status) override;

  // Reactions of gRPC.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void HandleHello(const wire::AgentHello& hello);
  void OnAdmitted(absl::StatusOr<std::shared_ptr<AgentLedger>> ledger);
  void HandleReport(wire::AgentReport report, size_t bytes);
  void LeaveOutForeignJobs(wire::AgentReport& report);
  void HandOverAndReadOn(AgentLedger& ledger);
  void Reject(const char* reason, const absl::Status& status);

  void ReadOnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeFinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReportSink& sink_;
  const std::string peer_;
  const std::shared_ptr<const Caller> caller_;
  const std::function<void(IngestStream*)> on_done_;
  // What keeps the stream alive; touched by Start and OnDone only. Shared, because acknowledgements may come at any
  // time.
  std::shared_ptr<IngestStream> self_;

  // Owned by the one reaction or Resume that handles a message: no read is in flight meanwhile.
  wire::AgentMessage in_;
  std::vector<JobSlice> slices_;  // of the report at hand; the ledger knows which of them were taken
  uint64_t last_sequence_ = 0;
  bool told_of_foreign_job_ = false;

  mutable Mutex mutex_;
  wire::CollectorMessage out_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<AgentLedger> ledger_ ABSL_GUARDED_BY(mutex_);  // nullptr until admitted
  absl::Status status_ ABSL_GUARDED_BY(mutex_);                  // why it is closing
  std::deque<wire::Command> commands_ ABSL_GUARDED_BY(mutex_);   // to be sent
  uint64_t pending_ack_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sent_ack_ ABSL_GUARDED_BY(mutex_) = 0;
  bool hello_received_ ABSL_GUARDED_BY(mutex_) = false;
  bool hello_ack_pending_ ABSL_GUARDED_BY(mutex_) = false;
  bool parked_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;  // the agent sends no more
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_INGEST_STREAM_H_
