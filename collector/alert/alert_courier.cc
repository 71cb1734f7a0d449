#include "collector/alert/alert_courier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/change_role.h"
#include "collector/alert/endpoint_for.h"

namespace lockstep {
namespace {

// How long the thread sleeps at most while something waits for its time.
constexpr int64_t kLookAgainNanos = kNanosPerSecond;

// An event of an earlier life is no older: the wall clock may have been put forward.
constexpr int64_t kOldestNanos = 86'400 * kNanosPerSecond;

AlertBacklogOptions BacklogOptions(const AlertCourierOptions& options) {
  const AlertProtocol& protocol = ProtocolOf(options.receiver.type);
  AlertBacklogOptions backlog;
  backlog.max_waiting = options.max_waiting;
  backlog.update_every_ns = options.update_every_ns;
  backlog.hears_numbers = protocol.hears_numbers;
  if (protocol.is_repeated) {
    backlog.repeat_every_ns = options.receiver.repeat_ns;
    backlog.update_every_ns = std::min(backlog.update_every_ns, backlog.repeat_every_ns);
  }
  return backlog;
}

// Newer numbers of an incident, and not what a receiver wants to have repeated: that has no number in history.
bool IsUpdate(const AlertBacklog::Waiting& waiting) {
  return waiting.event.kind == IncidentEvent::Kind::kUpdated && !(waiting.numbers.empty() && waiting.tickets.empty());
}

// Whether what changed meanwhile is again as it was told: nobody has to read it once more.
bool SaysTheSame(wire::Incident told, wire::Incident now) {
  for (wire::Incident* incident : {&told, &now}) {
    incident->clear_updated_wall_ns();
    incident->clear_transitions();
    incident->mutable_verdict()->clear_first_step();
    incident->mutable_verdict()->clear_last_step();
    incident->mutable_verdict()->clear_last_seen_ns();
  }
  return told.SerializeAsString() == now.SerializeAsString();
}

}  // namespace

void AlertCourierStats::Add(const AlertCourierStats& other) {
  sent += other.sent;
  retried += other.retried;
  failed += other.failed;
  dropped += other.dropped;
  waiting += other.waiting;
  longest_wait_ns = std::max(longest_wait_ns, other.longest_wait_ns);
}

AlertCourier::AlertCourier(const AlertCourierOptions& options, const Clock& clock, const Random& random, OnDone on_done,
                           OnTold on_told)
    : options_(options),
      clock_(clock),
      on_done_(std::move(on_done)),
      on_told_(std::move(on_told)),
      backoff_(options.first_retry_ns, options.longest_retry_ns, random),
      endpoint_(EndpointFor(options.receiver, options.url, options.timeout_ns, [this] { return MustAbort(); })),
      backlog_(BacklogOptions(options)),
      thread_([this] { Run(); }) {}

AlertCourier::~AlertCourier() { Stop(); }

void AlertCourier::BeginStop() {
  MutexLock lock(mutex_);
  if (stopping_) return;
  drain_until_ns_ = RealClock().MonotonicNanos() + options_.drain_ns;
  stopping_ = true;
  changed_.NotifyAll();
}

std::vector<AlertBacklog::Waiting> AlertCourier::Stop() {
  BeginStop();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  return backlog_.TakeAll();
}

void AlertCourier::Inherit(Inheritance inheritance) {
  std::vector<uint64_t> done;
  {
    MutexLock lock(mutex_);
    for (const wire::Incident& incident : inheritance.open) backlog_.Inherit(incident, clock_.MonotonicNanos());
    for (const ToldIncidents::Last& last : inheritance.last) backlog_.InheritLast(last);
    for (AlertBacklog::Waiting& waiting : inheritance.waiting) backlog_.Resume(std::move(waiting));
    for (const auto& [event, number] : inheritance.left) {
      const std::vector<uint64_t> gone = TakeLocked(event, {.number = number}, /*is_left_over=*/true);
      done.insert(done.end(), gone.begin(), gone.end());
    }
    changed_.NotifyAll();
  }
  if (!done.empty()) on_done_(done);
}

void AlertCourier::Announce(const IncidentEvent& event, const ChangeId& id) {
  std::vector<uint64_t> done;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      ++stats_.dropped;
      return;
    }
    done = TakeLocked(event, id, /*is_left_over=*/false);
    changed_.NotifyAll();
  }
  if (!done.empty()) on_done_(done);
}

std::vector<uint64_t> AlertCourier::TakeLocked(const IncidentEvent& event, const ChangeId& id, bool is_left_over) {
  const bool unwanted =
      ChangeRoleOf(event.kind) == ChangeRole::kTaken && !ProtocolOf(options_.receiver.type).hears_acknowledgements;
  if (unwanted) return id.number != 0 ? std::vector<uint64_t>{id.number} : std::vector<uint64_t>();
  const int64_t since_ns = is_left_over ? SinceOf(event) : clock_.MonotonicNanos();
  const uint64_t dropped = backlog_.dropped();
  std::vector<uint64_t> gone = backlog_.Add(event, since_ns, id, is_left_over);
  if (backlog_.dropped() != dropped && !std::exchange(told_of_drops_, true)) {
    Log(LogLevel::kError, "alerts are dropped: too many wait", {{"receiver", options_.name}});
  }
  return gone;
}

int64_t AlertCourier::SinceOf(const IncidentEvent& event) const {
  const int64_t age_ns = clock_.WallNanos() - event.incident.updated_wall_ns();
  return clock_.MonotonicNanos() - std::clamp<int64_t>(age_ns, 0, kOldestNanos);
}

std::vector<ToldIncidents::Last> AlertCourier::AllLast() const {
  MutexLock lock(mutex_);
  return backlog_.AllLast();
}

void AlertCourier::NoteQuiet(const wire::Incident& incident) {
  MutexLock lock(mutex_);
  backlog_.NoteQuiet(incident);
  changed_.NotifyAll();
}

bool AlertCourier::NoteWritten(uint64_t ticket, uint64_t number) {
  MutexLock lock(mutex_);
  return backlog_.NoteWritten(ticket, number);
}

AlertCourierStats AlertCourier::stats() const {
  MutexLock lock(mutex_);
  AlertCourierStats stats = stats_;
  stats.dropped += backlog_.dropped();
  const int64_t now_ns = clock_.MonotonicNanos();
  stats.waiting = backlog_.CountDue(now_ns);
  stats.longest_wait_ns = backlog_.LongestWait(now_ns);
  return stats;
}

void AlertCourier::Run() {
  while (WaitForWork()) Deliver();
  MutexLock lock(mutex_);
  const size_t left = backlog_.CountDue(clock_.MonotonicNanos());
  if (left == 0) return;
  Log(LogLevel::kWarning, "alerts were not sent before the end",
      {{"receiver", options_.name}, {"events", absl::StrCat(left)}});
}

// False when there is nothing more to do, ever. What is not due at the end is left to the next life.
bool AlertCourier::WaitForWork() {
  MutexLock lock(mutex_);
  while (!MustAbort()) {
    const std::optional<int64_t> due_ns = backlog_.NextDue();
    const int64_t now_ns = clock_.MonotonicNanos();
    // A receiver that fails while we stop gets no second chance.
    if (stopping_ && std::max(due_ns.value_or(now_ns + 1), paused_until_ns_) > now_ns) return false;
    if (!due_ns.has_value()) {
      changed_.Wait(mutex_);
      continue;
    }
    const int64_t left_ns = std::max({*due_ns, next_ns_, paused_until_ns_}) - now_ns;
    if (left_ns <= 0) return true;
    changed_.WaitFor(mutex_, std::min(left_ns, kLookAgainNanos));
  }
  return false;
}

void AlertCourier::Deliver() {
  DeliveryContext context = {.wall_ns = clock_.WallNanos(), .links = options_.links};
  AlertBacklog::Waiting waiting;
  wire::Incident before;
  {
    MutexLock lock(mutex_);
    // Since the wait ended it may have become quiet, or have had to go for something else.
    std::optional<AlertBacklog::Waiting> due = backlog_.BeginSending(clock_.MonotonicNanos());
    if (!due.has_value()) return;
    waiting = *std::move(due);
    if (const ToldIncidents::Told* told = backlog_.told(waiting.event.incident.id())) {
      context.thread = told->thread;
      before = told->incident;
      if (told->is_open) context.before = &before;
    }
  }
  if (context.before != nullptr && IsUpdate(waiting) && SaysTheSame(before, waiting.event.incident)) {
    return PassOver();
  }
  AlertEndpoint::Answer answer = endpoint_->Send(waiting.event, context);
  next_ns_ =
      clock_.MonotonicNanos() + std::min(ProtocolOf(options_.receiver.type).least_gap_ns, options_.longest_gap_ns);
  // A thread that is gone must not take the alert with it: the next attempt begins another one.
  if (answer.verdict.outcome == Outcome::kRefused && !context.thread.empty()) {
    MutexLock lock(mutex_);
    backlog_.ForgetThread(waiting.event.incident.id());
    answer.verdict.outcome = Outcome::kLater;
  }
  if (answer.verdict.outcome == Outcome::kLater) {
    TryLater(answer, waiting);
  } else {
    Conclude(answer.verdict, waiting, context.thread);
  }
}

// One incident may be what the receiver cannot take; of two it is the receiver.
void AlertCourier::TryLater(const AlertEndpoint::Answer& answer, const AlertBacklog::Waiting& waiting) {
  if (told_error_.IsNews(answer.verdict.why)) {
    Log(LogLevel::kWarning, "an alert has to be sent again",
        {{"receiver", options_.name}, {"error", answer.verdict.why}});
  }
  const int64_t now_ns = clock_.MonotonicNanos();
  if (failing_.size() < 2) failing_.insert(waiting.event.incident.id());
  if (failing_.size() == 2) paused_until_ns_ = now_ns + std::max(backoff_.Next(), answer.retry_after_ns);
  MutexLock lock(mutex_);
  backlog_.PutBack(now_ns + std::max(backoff_.After(waiting.failures), answer.retry_after_ns));
  ++stats_.retried;
}

void AlertCourier::Conclude(const AnswerVerdict& verdict, const AlertBacklog::Waiting& waiting,
                            const std::string& thread) {
  const std::string incident = absl::StrCat(waiting.event.incident.id());
  if (waiting.failures > 0) told_error_.Clear();
  if (verdict.outcome == Outcome::kRefused) {
    Log(LogLevel::kError, "an alert was given up",
        {{"receiver", options_.name}, {"incident", incident}, {"error", verdict.why}});
  }
  // Answers within a thread name themselves, not what they answer to.
  const std::string first = thread.empty() ? verdict.thread : "";
  if (verdict.outcome == Outcome::kTaken) {
    backoff_.Reset();
    failing_.clear();
    const bool is_over = ChangeRoleOf(waiting.event.kind) == ChangeRole::kEnds;
    on_told_(waiting.event.incident.id(), thread.empty() ? first : thread, is_over ? 0 : clock_.WallNanos());
  }
  std::vector<uint64_t> gone;
  {
    MutexLock lock(mutex_);
    const int64_t now_ns = clock_.MonotonicNanos();
    gone = verdict.outcome == Outcome::kTaken ? backlog_.EndSending(now_ns, first) : backlog_.GiveUp(now_ns);
    if (verdict.outcome == Outcome::kTaken) told_of_drops_ = false;
    stats_.sent += verdict.outcome == Outcome::kTaken ? 1 : 0;
    stats_.failed += verdict.outcome == Outcome::kRefused ? 1 : 0;
  }
  // A process that dies between the answer and this line tells the receiver twice rather than never.
  if (!gone.empty()) on_done_(gone);
}

void AlertCourier::PassOver() {
  std::vector<uint64_t> gone;
  {
    MutexLock lock(mutex_);
    gone = backlog_.EndSending(clock_.MonotonicNanos(), "");
  }
  if (!gone.empty()) on_done_(gone);
}

bool AlertCourier::MustAbort() const {
  const int64_t until = drain_until_ns_;
  return until != 0 && RealClock().MonotonicNanos() >= until;
}

}  // namespace lockstep
