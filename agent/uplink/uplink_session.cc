#include "agent/uplink/uplink_session.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep {

void UplinkSession::OnConnected(int64_t now_ns) {
  CHECK(state_ == State::kDisconnected);
  state_ = State::kGreeting;
  waiting_since_ns_ = now_ns;
}

bool UplinkSession::OnHelloAck(uint64_t stored_sequence, int64_t now_ns) {
  if (state_ != State::kGreeting) return false;
  state_ = State::kStreaming;
  sent_sequence_ = stored_sequence;
  return OnAck(stored_sequence, now_ns);
}

bool UplinkSession::OnAck(uint64_t stored_sequence, int64_t now_ns) {
  if (state_ != State::kStreaming || stored_sequence > outbox_.newest_sequence()) return false;
  reports_acknowledged_ += outbox_.Acknowledge(stored_sequence);
  acknowledged_sequence_ = std::max(acknowledged_sequence_, stored_sequence);
  if (acknowledged_sequence_ >= probation_until_) probation_until_ = 0;
  waiting_since_ns_ = now_ns;
  return true;
}

bool UplinkSession::HasToWait() const { return probation_until_ != 0 && sent_sequence_ > acknowledged_sequence_; }

absl::optional<uint64_t> UplinkSession::ToLoad() const {
  if (state_ != State::kStreaming || HasToWait()) return absl::nullopt;
  return outbox_.ToLoad(std::max(sent_sequence_, acknowledged_sequence_));
}

const Outbox::Entry* UplinkSession::NextToSend() const {
  if (state_ != State::kStreaming || HasToWait()) return nullptr;
  return outbox_.After(std::max(sent_sequence_, acknowledged_sequence_));
}

void UplinkSession::OnSent(uint64_t sequence, int64_t now_ns) {
  if (sent_sequence_ <= acknowledged_sequence_) waiting_since_ns_ = now_ns;
  sent_sequence_ = sequence;
  ++reports_sent_;
}

void UplinkSession::OnDisconnected(const absl::Status& status) {
  const bool refused = state_ == State::kStreaming && absl::IsInvalidArgument(status);
  state_ = State::kDisconnected;
  if (!refused || sent_sequence_ <= acknowledged_sequence_) {
    sent_sequence_ = 0;
    return;
  }
  // Alone on the wire: it is the culprit. Otherwise find out.
  const Outbox::Entry* oldest = outbox_.After(acknowledged_sequence_);
  if (oldest != nullptr && oldest->sequence == sent_sequence_) {
    outbox_.DropRejected(sent_sequence_);
    if (sent_sequence_ >= probation_until_) probation_until_ = 0;
  } else {
    probation_until_ = std::max(probation_until_, sent_sequence_);
  }
  sent_sequence_ = 0;
}

bool UplinkSession::IsStalled(int64_t now_ns) const {
  const bool waiting =
      state_ == State::kGreeting || (state_ == State::kStreaming && sent_sequence_ > acknowledged_sequence_);
  return waiting && now_ns - waiting_since_ns_ > kAckTimeoutNanos;
}

}  // namespace lockstep
