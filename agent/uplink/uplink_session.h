// What to send next, and what an answer of the collector means: the protocol of ingest.proto without the network.
//
//   disconnected --Connected--> greeting --HelloAck--> streaming --Disconnected--> disconnected ...
//
// A collector that refuses a report ends the stream with INVALID_ARGUMENT and does not say in a form for programs which
// one it was. Everything after the last acknowledgement may be it. So the session goes on probation: it sends one
// report at a time and waits for its acknowledgement; the report that is alone on the wire when the refusal comes again
// is dropped and counted. Probation ends behind the last report that was on the wire at the first refusal.
//
// Not thread-safe. Pure.

#ifndef LOCKSTEP_AGENT_UPLINK_UPLINK_SESSION_H_
#define LOCKSTEP_AGENT_UPLINK_UPLINK_SESSION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "agent/uplink/outbox.h"
#include "base/clock.h"

namespace lockstep {

// Not thread-safe. Borrows `outbox`.
class UplinkSession {
 public:
  enum class State { kDisconnected, kGreeting, kStreaming };

  // Without an acknowledgement for this long, while some are due or the greeting is unanswered, the connection is taken
  // for dead: a lost machine on the other side sends no reset. (gRPC keepalive would do, but servers punish pings that
  // come more often than they like.)
  static constexpr int64_t kAckTimeoutNanos = 60 * kNanosPerSecond;

  explicit UplinkSession(Outbox& outbox) : outbox_(outbox) {}

  State state() const { return state_; }

  // A stream is open and hello was sent.
  void OnConnected(int64_t now_ns);

  // False = the collector speaks out of turn: close the stream.
  bool OnHelloAck(uint64_t stored_sequence, int64_t now_ns);
  bool OnAck(uint64_t stored_sequence, int64_t now_ns);

  // The next report to write; nullptr = nothing to write at present. Valid until the next change of the outbox.
  const Outbox::Entry* NextToSend() const;
  // See Outbox::ToLoad.
  absl::optional<uint64_t> ToLoad() const;
  void OnSent(uint64_t sequence, int64_t now_ns);

  // The stream is over, with this status.
  void OnDisconnected(const absl::Status& status);

  bool IsStalled(int64_t now_ns) const;

  // Everything that this stream has carried is acknowledged, and the greeting is answered.
  bool all_acknowledged() const { return state_ == State::kStreaming && sent_sequence_ <= acknowledged_sequence_; }

  // Everything that was handed over is acknowledged.
  bool idle() const { return outbox_.empty(); }

  uint64_t reports_sent() const { return reports_sent_; }
  uint64_t reports_acknowledged() const { return reports_acknowledged_; }

 private:
  // On probation, while a report is on the wire.
  bool HasToWait() const;

  Outbox& outbox_;
  State state_ = State::kDisconnected;
  uint64_t sent_sequence_ = 0;          // newest on this stream; 0 = none
  uint64_t acknowledged_sequence_ = 0;  // newest ever
  uint64_t probation_until_ = 0;        // sequence; 0 = no probation
  int64_t waiting_since_ns_ = 0;        // when the oldest unanswered message may have been answered at the earliest
  uint64_t reports_sent_ = 0;
  uint64_t reports_acknowledged_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_UPLINK_SESSION_H_
