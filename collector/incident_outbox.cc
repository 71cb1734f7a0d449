#include "collector/incident_outbox.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/alert/alert_inheritance.h"
#include "collector/alert/change_role.h"
#include "collector/incident/event_proto.h"

namespace lockstep {
namespace {

constexpr uint64_t kAllTickets = std::numeric_limits<uint64_t>::max();
constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();

}  // namespace

IncidentOutbox::IncidentOutbox(const IncidentOutboxOptions& options, HistoryStore& store, AlertReceivers& receivers,
                               CollectorMetrics& metrics)
    : options_(options), store_(store), receivers_(receivers), metrics_(metrics), thread_([this] { Run(); }) {}

IncidentOutbox::~IncidentOutbox() { Close(); }

absl::Status IncidentOutbox::TellLeftOver(const std::vector<wire::Incident>& incidents) {
  AlertInheritance inheritance = {.incidents = incidents};
  ASSIGN_OR_RETURN(inheritance.told, store_.LoadTold());
  ASSIGN_OR_RETURN(const std::vector<PendingAlert> left, store_.LoadAlerts());
  for (const PendingAlert& alert : left) {
    const std::optional<IncidentEvent> event = FromProto(alert.event);
    if (event.has_value()) {
      inheritance.left.push_back({alert.receiver, *event, alert.number});
    } else {
      ForgetStranger(alert.receiver, alert.event.incident().id(), alert.number);
    }
  }
  for (const AlertInheritance::Left& stranger : receivers_.Inherit(inheritance)) {
    ForgetStranger(stranger.receiver, stranger.event.incident.id(), stranger.number);
  }
  return absl::OkStatus();
}

void IncidentOutbox::ForgetStranger(const std::string& receiver, uint64_t incident, uint64_t number) {
  Log(LogLevel::kWarning, "an alert has no receiver any more",
      {{"receiver", receiver}, {"incident", std::to_string(incident)}});
  Forget(receiver, number);
}

void IncidentOutbox::Announce(const IncidentEvent& event) {
  MutexLock lock(mutex_);
  // The first is in the hands of the thread. Most of those behind it were told long ago: the store refuses for hours.
  if (changes_.size() >= options_.max_waiting && changes_.size() > 1) {
    const auto second = changes_.begin() + 1;
    const auto told = std::find_if(second, changes_.end(), [](const Change& c) { return c.telling == Telling::kTold; });
    changes_.erase(told != changes_.end() ? told : second);
    metrics_.CountDropped("incident_write");
  }
  changes_.push_back({event, RealClock().MonotonicNanos(), ++newest_ticket_,
                      event.is_for_receivers() ? Telling::kNew : Telling::kTold});
  work_.NotifyOne();
}

void IncidentOutbox::TellOverdue() {
  const int64_t since_ns = RealClock().MonotonicNanos() - options_.longest_hold_ns;
  TellUnwritten(since_ns);
  Answer(kAllTickets, since_ns, absl::UnavailableError("history does not answer"));
}

void IncidentOutbox::WhenWritten(Then then) {
  absl::Status at_once;
  {
    MutexLock lock(mutex_);
    const bool full = waiters_.size() >= options_.max_waiters;
    if (!changes_.empty() && !closed_ && !full) {
      waiters_.push_back({newest_ticket_, RealClock().MonotonicNanos(), std::move(then)});
      return;
    }
    if (!changes_.empty()) {
      at_once = full ? absl::ResourceExhaustedError("too many wait for history")
                     : absl::UnavailableError("the collector ends");
    }
  }
  then(at_once);
}

void IncidentOutbox::Answer(uint64_t ticket, int64_t since_ns, const absl::Status& status) {
  std::vector<Then> due;
  {
    MutexLock lock(mutex_);
    while (!waiters_.empty() && waiters_.front().ticket <= ticket && waiters_.front().since_ns <= since_ns) {
      due.push_back(std::move(waiters_.front().then));
      waiters_.pop_front();
    }
  }
  for (const Then& then : due) then(status);
}

size_t IncidentOutbox::unwritten() {
  MutexLock lock(mutex_);
  return changes_.size();
}

void IncidentOutbox::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    work_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void IncidentOutbox::Run() {
  bool closing = false;
  while (const std::optional<Change> first = WaitForFirst(&closing)) {
    const bool for_receivers = first->event.is_for_receivers();
    const absl::StatusOr<uint64_t> number = store_.PutEvent(
        ToProto(first->event), for_receivers ? receivers_.NamesFor(first->event) : std::vector<std::string>());
    if (number.ok()) {
      TakeWritten(*first, *number);
      Answer(first->ticket, kAnyTime, absl::OkStatus());
      continue;
    }
    Answer(kAllTickets, kAnyTime, number.status());
    metrics_.store_write_failures.Increment();
    TellUnwritten(kAnyTime);
    if (!closing) {
      PauseAfterRefusal();
      continue;
    }
    MutexLock lock(mutex_);
    metrics_.CountDropped("incident_write", static_cast<double>(changes_.size()));
    Log(LogLevel::kError, "incidents were not written before the end",
        {{"changes", std::to_string(changes_.size())}, {"error", std::string(number.status().message())}});
    return;
  }
}

std::optional<IncidentOutbox::Change> IncidentOutbox::WaitForFirst(bool* closing) {
  MutexLock lock(mutex_);
  while (changes_.empty() && !closed_) work_.Wait(mutex_);
  *closing = closed_;
  if (changes_.empty()) return std::nullopt;
  return changes_.front();
}

void IncidentOutbox::TakeWritten(const Change& change, uint64_t number) {
  MutexLock telling(telling_);
  bool told = false;
  {
    MutexLock lock(mutex_);
    told = changes_.front().telling == Telling::kTold;
    changes_.pop_front();
  }
  if (!change.event.is_for_receivers()) {
    receivers_.NoteUntold(change.event.incident);
    // Some want to hear of it at once. It is not remembered for them: the next change says it again.
    if (ChangeRoleOf(change.event.kind) == ChangeRole::kTaken) receivers_.Tell(change.event, {});
    return;
  }
  if (!told) return receivers_.Tell(change.event, {.number = number});
  for (const std::string& name : receivers_.NoteWritten(change.ticket, number)) Forget(name, number);
}

void IncidentOutbox::TellUnwritten(int64_t since_ns) {
  MutexLock telling(telling_);
  std::vector<Change> due;
  {
    MutexLock lock(mutex_);
    std::set<uint64_t> held;
    for (Change& change : changes_) {
      if (change.since_ns > since_ns) break;
      const uint64_t incident = change.event.incident.id();
      if (change.event.kind == IncidentEvent::Kind::kResolved) held.insert(incident);
      if (change.telling != Telling::kNew) continue;
      change.telling = held.contains(incident) ? Telling::kHeld : Telling::kTold;
      if (change.telling == Telling::kTold) due.push_back(change);
    }
  }
  for (const Change& change : due) receivers_.Tell(change.event, {.ticket = change.ticket});
}

// New changes end the pause: nobody should wait for them to be told.
void IncidentOutbox::PauseAfterRefusal() {
  const int64_t until_ns = RealClock().MonotonicNanos() + options_.retry_ns;
  MutexLock lock(mutex_);
  while (!closed_ && changes_.back().telling != Telling::kNew) {
    const int64_t left = until_ns - RealClock().MonotonicNanos();
    if (left <= 0) return;
    work_.WaitFor(mutex_, left);
  }
}

void IncidentOutbox::Forget(const std::string& receiver, uint64_t number) {
  const absl::Status status = store_.RemoveAlerts(receiver, {number});
  if (!status.ok()) {
    Log(LogLevel::kWarning, "an alert may be sent once more", {{"error", std::string(status.message())}});
  }
}

}  // namespace lockstep
