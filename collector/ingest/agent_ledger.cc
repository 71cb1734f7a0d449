#include "collector/ingest/agent_ledger.h"

#include <algorithm>
#include <utility>

namespace lockstep {

AgentLedger::AgentLedger(std::string host, uint64_t incarnation, uint64_t stored_sequence, Places places)
    : host_(std::move(host)),
      incarnation_(incarnation),
      places_(std::move(places)),
      accepted_(stored_sequence),
      completed_(stored_sequence),
      stored_(stored_sequence) {}

bool AgentLedger::NoteArrival(uint64_t sequence, int64_t wall_ns) {
  MutexLock lock(mutex_);
  last_report_wall_ns_ = wall_ns;
  return sequence <= accepted_;
}

AgentLedger::Handover AgentLedger::HandOver(const AgentStream* stream, uint64_t sequence, size_t slices,
                                            const Push& push) {
  MutexLock lock(mutex_);
  if (!IsAttachedLocked(stream)) return Handover::kDetached;
  const bool goes_on = arriving_.has_value() && arriving_->sequence == sequence && arriving_->slices == slices;
  if (arriving_.has_value() && !goes_on) GiveUpArrivingLocked();
  if (sequence <= accepted_) return Handover::kAccepted;
  if (!arriving_.has_value()) arriving_ = Arriving{.sequence = sequence, .slices = slices};
  for (; arriving_->taken < slices; ++arriving_->taken) {
    if (!push(arriving_->taken, Ticket{shared_from_this(), sequence, epoch_})) return Handover::kFull;
    // Behind a lost report nothing can be acknowledged before Rewind: no use in keeping account, and no bound on it.
    if (arriving_->taken == 0 && lost_from_ == 0) pending_.push_back({sequence, epoch_, slices});
  }
  accepted_ = sequence;
  arriving_.reset();
  return Handover::kAccepted;
}

// The agent sends another report instead: it had to throw this one away, and the slices that are missing never come.
void AgentLedger::GiveUpArrivingLocked() {
  const Arriving given_up = *std::exchange(arriving_, std::nullopt);
  if (given_up.taken == 0) return;
  accepted_ = given_up.sequence;
  const size_t place = FindPendingLocked({nullptr, given_up.sequence, epoch_});
  if (place < pending_.size()) pending_[place].slices_left -= given_up.slices - given_up.taken;
  PopCompletedLocked();
}

bool AgentLedger::IsAttachedLocked(const AgentStream* stream) const { return stream_.lock().get() == stream; }

size_t AgentLedger::FindPendingLocked(const Ticket& ticket) const {
  const auto found = std::lower_bound(pending_.begin(), pending_.end(), ticket.sequence,
                                      [](const Pending& entry, uint64_t value) { return entry.sequence < value; });
  const bool known = found != pending_.end() && found->sequence == ticket.sequence && found->epoch == ticket.epoch;
  return known ? static_cast<size_t>(found - pending_.begin()) : pending_.size();
}

void AgentLedger::PopCompletedLocked() {
  while (!pending_.empty() && pending_.front().slices_left == 0) {
    completed_ = pending_.front().sequence;
    pending_.pop_front();
  }
}

void AgentLedger::CompleteSlice(const Ticket& ticket) {
  MutexLock lock(mutex_);
  const size_t place = FindPendingLocked(ticket);
  if (place == pending_.size()) return;
  --pending_[place].slices_left;
  PopCompletedLocked();
}

uint64_t AgentLedger::completed_sequence() const {
  MutexLock lock(mutex_);
  return completed_;
}

void AgentLedger::PublishStored(uint64_t sequence) {
  std::shared_ptr<AgentStream> stream;
  {
    MutexLock lock(mutex_);
    if (sequence <= stored_) return;
    stored_ = sequence;
    stream = stream_.lock();
  }
  if (stream != nullptr) stream->OnStored(sequence);
}

void AgentLedger::MarkLost(const Ticket& ticket) {
  MutexLock lock(mutex_);
  // A report that is not in the account is of before a Rewind, or comes after one that was lost.
  if (FindPendingLocked(ticket) == pending_.size()) return;
  lost_from_ = lost_from_ == 0 ? ticket.sequence : std::min(lost_from_, ticket.sequence);
}

bool AgentLedger::Rewind() {
  std::shared_ptr<AgentStream> stream;
  {
    MutexLock lock(mutex_);
    if (lost_from_ == 0) return false;
    while (!pending_.empty() && pending_.back().sequence >= lost_from_) pending_.pop_back();
    accepted_ = std::exchange(lost_from_, 0) - 1;
    arriving_.reset();
    ++epoch_;
    // What the stream has read by now must not be taken before what is sent again.
    stream = stream_.lock();
    stream_.reset();
  }
  if (stream != nullptr) stream->Close(absl::UnavailableError("history was interrupted: send again what is not acked"));
  return true;
}

bool AgentLedger::IsBehindLoss(const Ticket& ticket) const {
  MutexLock lock(mutex_);
  return lost_from_ != 0 && ticket.sequence >= lost_from_;
}

bool AgentLedger::IsStale(const Ticket& ticket) const {
  MutexLock lock(mutex_);
  return ticket.epoch != epoch_ && FindPendingLocked(ticket) == pending_.size();
}

bool AgentLedger::Send(const wire::Command& command) const {
  std::shared_ptr<AgentStream> stream;
  {
    MutexLock lock(mutex_);
    stream = stream_.lock();
  }
  return stream != nullptr && stream->Send(command);
}

std::shared_ptr<AgentStream> AgentLedger::Attach(const std::shared_ptr<AgentStream>& stream) {
  MutexLock lock(mutex_);
  std::shared_ptr<AgentStream> before = stream_.lock();
  stream_ = stream;
  return before;
}

void AgentLedger::Detach(const AgentStream* stream) {
  MutexLock lock(mutex_);
  if (IsAttachedLocked(stream)) stream_.reset();
}

bool AgentLedger::connected() const {
  MutexLock lock(mutex_);
  return !stream_.expired();
}

uint64_t AgentLedger::stored_sequence() const {
  MutexLock lock(mutex_);
  return stored_;
}

uint64_t AgentLedger::accepted_sequence() const {
  MutexLock lock(mutex_);
  return accepted_;
}

int64_t AgentLedger::last_report_wall_ns() const {
  MutexLock lock(mutex_);
  return last_report_wall_ns_;
}

}  // namespace lockstep
