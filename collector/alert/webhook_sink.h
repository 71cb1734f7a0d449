// Announces incidents to one HTTP receiver, from a thread of its own: detection never waits for a receiver.
//
// Delivery is at least once and in order for each incident. No answer, 408, 429 and 5xx are tried again, after a
// jittered exponential delay or what the receiver asked for; other answers are final. Why it has to be tried again is
// logged when that is news. Every payload describes the whole incident, so that a lost one is made good by the next.
// Thread-safe. Limits: `max_waiting` events, `give_up_after_ns` for each of them.

#ifndef LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_SINK_H_
#define LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_SINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/told_error.h"
#include "collector/alert/alert_backlog.h"
#include "collector/alert/change_id.h"
#include "collector/alert/webhook_payload.h"
#include "daemon/http_client.h"

namespace lockstep {

struct WebhookSinkOptions {
  HttpOptions http;
  WebhookPayloadOptions payload;
  size_t max_waiting = 1'000;                                 // events
  int64_t first_retry_ns = 500'000'000;                       // delay after the first failure, at most
  int64_t longest_retry_ns = 60'000'000'000;                  // of the delays of our own
  int64_t give_up_after_ns = 3'600 * int64_t{1'000'000'000};  // an event older than this is history
  int64_t drain_ns = 2'000'000'000;                           // how long the destructor may still send what waits
};

// Counted since the start.
struct WebhookSinkStats {
  uint64_t sent = 0;     // answered with 2xx
  uint64_t retried = 0;  // attempts that will be made again
  uint64_t failed = 0;   // events that were given up: refused for good, or too old
  uint64_t dropped = 0;  // events that did not fit, or were left at the end
  uint64_t waiting = 0;  // now
};

class WebhookSink {
 public:
  // Told the numbers of events that the receiver has taken, or will never be told: history may forget them.
  using OnDone = std::function<void(const std::vector<uint64_t>& numbers)>;

  // `clock` must outlive the sink. `on_done` is called from the sink's thread and from Announce.
  WebhookSink(const WebhookSinkOptions& options, const Clock& clock, const Random& random, OnDone on_done);

  // Sends what waits, as long as the receiver takes it and `drain_ns` has not passed. What is left stays in history.
  ~WebhookSink();

  // Takes the event or, when the queue is full, drops and counts it.
  void Announce(const IncidentEvent& event, const ChangeId& id);

  // An event that was announced under `ticket` is in history now. False = the receiver has taken it already, or will
  // never be told.
  bool NoteWritten(uint64_t ticket, uint64_t number);

  WebhookSinkStats stats() const;

 private:
  enum class Outcome { kDelivered, kRefused, kRetry };

  void Run();
  bool WaitForWork();
  void Deliver();
  void Pause(int64_t nanos);
  void Conclude(Outcome outcome, const AlertBacklog::Waiting& waiting, const HttpAnswer& answer);
  bool MustAbort() const;
  static Outcome OutcomeOf(const HttpAnswer& answer);

  const WebhookSinkOptions options_;
  const Clock& clock_;
  const OnDone on_done_;
  Backoff backoff_;                         // of the thread
  HttpClient client_;                       // of the thread
  ToldError told_error_;                    // of the thread
  std::atomic<int64_t> drain_until_ns_{0};  // monotonic; 0 = not stopping

  mutable Mutex mutex_;
  CondVar changed_;
  AlertBacklog backlog_ ABSL_GUARDED_BY(mutex_);
  WebhookSinkStats stats_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_SINK_H_
