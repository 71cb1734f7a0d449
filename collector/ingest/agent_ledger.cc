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

std::optional<uint32_t> AgentLedger::Accept(uint64_t sequence, int slices, int64_t wall_ns) {
  MutexLock lock(mutex_);
  last_report_wall_ns_ = wall_ns;
  if (sequence <= accepted_) return std::nullopt;
  accepted_ = sequence;
  // Behind a lost report nothing can be acknowledged before Rewind: no use in keeping account, and no bound on it.
  if (!lost_) pending_.push_back({sequence, slices});
  return epoch_;
}

bool AgentLedger::IsDuplicate(uint64_t sequence) const {
  MutexLock lock(mutex_);
  return sequence <= accepted_;
}

void AgentLedger::CompleteSlice(const Ticket& ticket) {
  MutexLock lock(mutex_);
  if (ticket.epoch != epoch_) return;
  const auto found = std::lower_bound(pending_.begin(), pending_.end(), ticket.sequence,
                                      [](const Pending& entry, uint64_t value) { return entry.sequence < value; });
  if (found == pending_.end() || found->sequence != ticket.sequence) return;
  --found->slices_left;
  while (!pending_.empty() && pending_.front().slices_left <= 0) {
    completed_ = pending_.front().sequence;
    pending_.pop_front();
  }
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
    accepted_ = std::max(accepted_, sequence);
    stream = stream_.lock();
  }
  if (stream != nullptr) stream->OnStored(sequence);
}

void AgentLedger::MarkLost() {
  MutexLock lock(mutex_);
  lost_ = true;
}

bool AgentLedger::Rewind() {
  std::shared_ptr<AgentStream> stream;
  {
    MutexLock lock(mutex_);
    if (!lost_) return false;
    lost_ = false;
    ++epoch_;
    pending_.clear();
    accepted_ = stored_;
    completed_ = stored_;
    stream = stream_.lock();
  }
  if (stream != nullptr) stream->Close(absl::UnavailableError("history was interrupted: send again what is not acked"));
  return true;
}

bool AgentLedger::IsStale(const Ticket& ticket) const {
  MutexLock lock(mutex_);
  return ticket.epoch != epoch_;
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
  if (stream_.lock().get() == stream) stream_.reset();
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
