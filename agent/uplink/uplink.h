// Delivers reports to a collector: connects, says hello, resends what was not stored, sends what is new at once,
// reconnects for ever after pauses (reconnect_pauses.h). At least once, in order; losses are counted (outbox.h). Each
// report says how long it has waited here, so that the collector can tell when it was made.
//
// With a spool (agent/spool) a report is on disk before it is sent, and what former agents have left there is delivered
// first, agent by agent: each on a stream with the incarnation of that agent, by which the collector knows what it has.
// A collector needs to know nothing of that: to it, the former agent has come back for a moment. A spool whose disk
// comes late tells of them late: the stream ends once all that it carried is acknowledged, and former agents have their
// turn.
//
// Threads: one that connects and writes, one per stream that reads. Both touch the outbox and the session under one
// mutex and block in the network without it. Thread-safe.

#ifndef LOCKSTEP_AGENT_UPLINK_UPLINK_H_
#define LOCKSTEP_AGENT_UPLINK_UPLINK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "agent/spool/spool.h"
#include "agent/uplink/collector_stream.h"
#include "agent/uplink/outbox.h"
#include "agent/uplink/reconnect_pauses.h"
#include "agent/uplink/resume_keeper.h"
#include "agent/uplink/uplink_session.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/told_error.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// Numbers for metrics, all since the start except where said.
struct UplinkStatistics {
  bool connected = false;  // now, greeting answered
  uint64_t reports_sent = 0;
  uint64_t reports_acknowledged = 0;
  std::map<std::string, uint64_t> reports_dropped;  // by reason
  uint64_t connections = 0;                         // streams whose greeting was answered
  uint64_t disconnections = 0;                      // ends of streams, also of those that never came up
  uint64_t commands_dropped = 0;                    // of the collector, beyond Uplink::kMaxCommands
  size_t outbox_bytes = 0;                          // now, in memory
  size_t outbox_reports = 0;                        // now, in memory or on disk
  uint64_t former_reports = 0;                      // of them, now: of agents before this one
  absl::optional<SpoolStatistics> spool;            // nothing = there is none
  std::string last_error;                           // of the last stream that ended; empty = none yet
};

class Uplink {
 public:
  static constexpr size_t kMaxCommands = 64;  // that wait for TakeCommand
  // Without reports from the disk for so long, what is only there is given up. The spool itself gives up sooner what
  // it cannot read in places (SegmentLog::kReadPatienceNanos).
  static constexpr int64_t kDiskPatienceNanos = 10 * kNanosPerSecond;

  // `hello` is sent first on every stream. Borrows `connector`, `clock`, `spool` and `keeper`; without a spool
  // everything is in memory, without a keeper resume points are in the spool only. Starts its thread.
  Uplink(CollectorConnector& connector, wire::AgentHello hello, const OutboxLimits& limits, const Clock& clock,
         const Random& random, Spool* spool = nullptr, ResumeKeeper* keeper = nullptr);
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // Hands a report over; its sequence and losses are filled in. Never blocks on the network or a disk. `resume`, a
  // wire::ResumePoint, is kept with it in the spool, and by the keeper once the report survives.
  void Send(wire::AgentReport report, std::string resume = "");
  // Leaves a collector that acknowledges nothing for kAckTimeoutNanos (uplink_session.h): the end of a connection may
  // never be told, and who writes into it blocks, so that somebody else has to look. To be called with every tick.
  void LeaveIfStalled();

  // Where sources go on that an agent before this one had read: what spool and keeper know; "" = nowhere.
  std::string resume() const;

  // The oldest command of the collector that was not taken yet. Beyond kMaxCommands the newest are dropped and counted:
  // the collector hears no answer and may ask again.
  absl::optional<wire::Command> TakeCommand();

  // Waits until all is acknowledged, for at most `nanos` of real time, and only while connected. True = all is.
  bool Drain(int64_t nanos);

  // Ends the stream and the thread. Idempotent; the destructor does it too.
  void Stop();

  struct LeftBehind {
    size_t unacknowledged = 0;  // reports, also of agents before this one
    size_t nowhere = 0;         // of them: on no disk either
  };
  // Drain and Stop; then waits until the spool has written all, but for Spool::kAbandonNanos at most.
  LeftBehind End(int64_t drain_ns);

  UplinkStatistics statistics() const;

 private:
  // The reports of one agent: this one, or one before it.
  struct Life {
    Life(uint64_t of, Outbox reports) : incarnation(of), outbox(std::move(reports)), session(outbox) {}

    const uint64_t incarnation;
    Outbox outbox;
    UplinkSession session;
  };
  enum class Turn { kSend, kLoad, kStreamOver, kEndStream };

  // Of agents that the spool has found since the last call.
  static std::deque<std::unique_ptr<Life>> FoundIn(Spool* spool, const OutboxLimits& limits);
  void NoteFormers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void AddTo(UplinkStatistics& statistics, const Life& life);

  void Run();
  // Returns how long to wait before the next one.
  int64_t RunStream(CollectorStream& stream);
  int64_t EndStream(const absl::Status& status);
  // True when the collector has ended the stream, false when it is for us to end.
  bool WriteReports(CollectorStream& stream);
  // Waits until there is something to do; `sequence` is what to send, or behind what to load.
  Turn WaitForTurn(uint64_t& sequence);
  // False = there is nothing to send after all.
  bool TakeMessage(wire::AgentMessage& message);
  void LoadReports(uint64_t from);
  Life& current() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return formers_.empty() ? live_ : *formers_.front(); }
  const Life& current() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return formers_.empty() ? live_ : *formers_.front();
  }
  void ForgetFormer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The open stream is of this agent, and others are to have their turn.
  bool MakesWay() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return formers_.empty() && !found_.empty(); }
  bool IsFormerDone() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void ReadAnswers(CollectorStream& stream);
  bool HandleAnswer(const wire::CollectorMessage& message);
  // False = stop instead.
  bool WaitBeforeRetry(int64_t pause_ns);

  CollectorConnector& connector_;
  const wire::AgentHello hello_;
  const OutboxLimits limits_;
  const Clock& clock_;
  Spool* const spool_;

  mutable Mutex mutex_;
  ResumeKeeper* const keeper_ ABSL_PT_GUARDED_BY(mutex_);
  CondVar changed_;  // anything below
  Life live_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Life>> formers_ ABSL_GUARDED_BY(mutex_);  // oldest first; delivered before live_
  std::deque<std::unique_ptr<Life>> found_ ABSL_GUARDED_BY(mutex_);    // become formers_ while no stream is open
  int64_t loading_since_ns_ ABSL_GUARDED_BY(mutex_) = 0;               // the disk owes an answer; 0 = none
  uint64_t former_sent_ ABSL_GUARDED_BY(mutex_) = 0;                   // and so on: of formers that are done
  uint64_t former_acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, uint64_t> former_dropped_ ABSL_GUARDED_BY(mutex_);
  bool was_lost_ ABSL_GUARDED_BY(mutex_) = true;  // the last stream ended, and not because a former agent was done
  ReconnectPauses pauses_ ABSL_GUARDED_BY(mutex_);
  CollectorStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the open one
  bool stream_over_ ABSL_GUARDED_BY(mutex_) = false;           // its reader has seen the end
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<wire::Command> commands_ ABSL_GUARDED_BY(mutex_);
  uint64_t commands_dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t connections_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t disconnections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  ToldError told_refusal_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: everything is ready when it starts
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_UPLINK_H_
