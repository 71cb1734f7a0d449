#include "collector/alert/webhook_sink.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace lockstep {
namespace {

// Statuses that may be different next time, besides 5xx.
constexpr int kRequestTimeout = 408;
constexpr int kTooManyRequests = 429;

}  // namespace

WebhookSink::WebhookSink(const WebhookSinkOptions& options, const Clock& clock, const Random& random, OnDone on_done)
    : options_(options),
      clock_(clock),
      on_done_(std::move(on_done)),
      backoff_(options.first_retry_ns, options.longest_retry_ns, random),
      client_(options.http, [this] { return MustAbort(); }),
      backlog_(options.max_waiting),
      thread_([this] { Run(); }) {}

WebhookSink::~WebhookSink() {
  drain_until_ns_ = RealClock().MonotonicNanos() + options_.drain_ns;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void WebhookSink::Announce(const IncidentEvent& event, const ChangeId& id) {
  std::vector<uint64_t> dropped;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      ++stats_.dropped;
      return;
    }
    dropped = backlog_.Add(event, clock_.MonotonicNanos(), id);
    changed_.NotifyAll();
  }
  if (!dropped.empty()) on_done_(dropped);
}

bool WebhookSink::NoteWritten(uint64_t ticket, uint64_t number) {
  MutexLock lock(mutex_);
  return backlog_.NoteWritten(ticket, number);
}

WebhookSinkStats WebhookSink::stats() const {
  MutexLock lock(mutex_);
  WebhookSinkStats stats = stats_;
  stats.dropped += backlog_.dropped();
  stats.waiting = backlog_.size();
  return stats;
}

void WebhookSink::Run() {
  while (WaitForWork()) Deliver();
  MutexLock lock(mutex_);
  if (backlog_.empty()) return;
  Log(LogLevel::kWarning, "alerts were not sent before the end",
      {{"url", options_.http.url}, {"events", absl::StrCat(backlog_.size())}});
}

// False when there is nothing more to do, ever.
bool WebhookSink::WaitForWork() {
  MutexLock lock(mutex_);
  while (backlog_.empty() && !stopping_) changed_.Wait(mutex_);
  return !backlog_.empty() && !MustAbort();
}

void WebhookSink::Deliver() {
  AlertBacklog::Waiting waiting;
  {
    MutexLock lock(mutex_);
    waiting = backlog_.BeginSending();
  }
  const HttpAnswer answer = client_.PostJson(WebhookPayload(waiting.event, options_.payload));
  Outcome outcome = OutcomeOf(answer);
  const bool too_old = clock_.MonotonicNanos() - waiting.since_ns >= options_.give_up_after_ns;
  if (outcome == Outcome::kRetry && too_old) outcome = Outcome::kRefused;
  Conclude(outcome, waiting, answer);
  if (outcome == Outcome::kDelivered) backoff_.Reset();
  if (outcome == Outcome::kRetry) Pause(std::max(backoff_.Next(), answer.retry_after_ns));
}

void WebhookSink::Conclude(Outcome outcome, const AlertBacklog::Waiting& waiting, const HttpAnswer& answer) {
  if (outcome == Outcome::kDelivered) told_error_.Clear();
  const std::string why = answer.status == 0 ? answer.error : absl::StrCat("status ", answer.status);
  if (outcome == Outcome::kRetry && told_error_.IsNews(why)) {
    Log(LogLevel::kWarning, "an alert has to be sent again", {{"url", options_.http.url}, {"error", why}});
  }
  if (outcome == Outcome::kRefused) {
    Log(LogLevel::kError, "an alert was given up",
        {{"url", options_.http.url},
         {"incident", absl::StrCat(waiting.event.incident.id())},
         {"status", absl::StrCat(answer.status)},
         {"error", answer.error}});
  }
  std::vector<uint64_t> gone;
  {
    MutexLock lock(mutex_);
    gone = backlog_.EndSending(/*done=*/outcome != Outcome::kRetry);
    stats_.sent += outcome == Outcome::kDelivered ? 1 : 0;
    stats_.failed += outcome == Outcome::kRefused ? 1 : 0;
    stats_.retried += outcome == Outcome::kRetry ? 1 : 0;
  }
  // A process that dies between the answer and this line tells the receiver twice rather than never.
  if (!gone.empty()) on_done_(gone);
}

// A receiver that fails while we stop gets no second chance: the pause ends at once and so does the draining.
void WebhookSink::Pause(int64_t nanos) {
  const int64_t until = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(mutex_);
  while (!stopping_) {
    const int64_t left = until - RealClock().MonotonicNanos();
    if (left <= 0) return;
    changed_.WaitFor(mutex_, left);
  }
  drain_until_ns_ = 1;
}

bool WebhookSink::MustAbort() const {
  const int64_t until = drain_until_ns_;
  return until != 0 && RealClock().MonotonicNanos() >= until;
}

WebhookSink::Outcome WebhookSink::OutcomeOf(const HttpAnswer& answer) {
  if (answer.status >= 200 && answer.status < 300) return Outcome::kDelivered;
  const bool passing = answer.status == 0 || answer.status >= 500 || answer.status == kRequestTimeout ||
                       answer.status == kTooManyRequests;
  return passing ? Outcome::kRetry : Outcome::kRefused;
}

}  // namespace lockstep
