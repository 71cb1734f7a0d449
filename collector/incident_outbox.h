// The thread between shards and receivers of alerts: makes each change of an incident durable, then has it told.
//
// A receiver never hears of an incident that a restart forgets, and what a receiver was not told before a restart it is
// told after it. A store that refuses, or hangs for `longest_hold_ns`, holds nothing back that somebody should act on:
// the change is told, and is written as soon as the store takes it, for those receivers that have not taken it by then.
// Only the end of an incident, and what comes after it, waits for the store: a collector that died before would have
// the incident begin once more. Changes of one incident are told in order. Thread-safe; Announce never blocks.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_OUTBOX_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "collector/alert/alert_receivers.h"
#include "collector/alert/alert_sink.h"
#include "collector/incident/incident_book.h"
#include "collector/metrics.h"
#include "collector/store/history_store.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct IncidentOutboxOptions {
  size_t max_waiting = 10'000;              // changes that wait to be written; beyond, the oldest is given up
  size_t max_waiters = 1'000;               // calls of WhenWritten that wait; beyond, RESOURCE_EXHAUSTED at once
  int64_t retry_ns = 500'000'000;           // between attempts while the store refuses
  int64_t longest_hold_ns = 2'000'000'000;  // how long an alert may wait for the store
};

class IncidentOutbox final : public AlertSink {
 public:
  // Starts the thread. References are borrowed.
  IncidentOutbox(const IncidentOutboxOptions& options, HistoryStore& store, AlertReceivers& receivers,
                 CollectorMetrics& metrics);
  ~IncidentOutbox() override;

  // Tells what an earlier life of the collector left untold. `incidents` are those of that life. To be called before
  // the first Announce, if at all.
  absl::Status TellLeftOver(const std::vector<wire::Incident>& incidents);

  // AlertSink
  void Announce(const IncidentEvent& event) override;

  // Calls `then` once all that was announced before is written; with the error of a store that refuses meanwhile, with
  // UNAVAILABLE when it hangs for `longest_hold_ns`. From the outbox's thread, this one or that of TellOverdue.
  using Then = std::function<void(const absl::Status&)>;
  void WhenWritten(Then then);

  // Tells what has waited too long for the store. To be called about once a second.
  void TellOverdue();

  // Changes that are in no history yet.
  size_t unwritten();

  // Writes and tells what waits, with one attempt if the store refuses, and ends the thread. Idempotent.
  void Close();

 private:
  enum class Telling {
    kNew,
    kTold,  // before it was written, or nobody has to be
    kHeld,  // until it is written
  };
  struct Change {
    IncidentEvent event;
    int64_t since_ns = 0;  // monotonic
    uint64_t ticket = 0;   // unlike that of any other
    Telling telling = Telling::kNew;
  };
  struct Waiter {
    uint64_t ticket = 0;   // of the newest change that it waits for
    int64_t since_ns = 0;  // monotonic
    Then then;
  };

  void Run();
  // Empty when the outbox is closed and nothing waits. `closing`: this attempt is the last one.
  std::optional<Change> WaitForFirst(bool* closing);
  void TakeWritten(const Change& change, uint64_t number);
  // Tells what waits since `since_ns` or longer, was not told and need not be held, before it is written.
  void TellUnwritten(int64_t since_ns);
  void PauseAfterRefusal();
  // Answers those who wait for changes up to `ticket`, and since `since_ns` or longer.
  void Answer(uint64_t ticket, int64_t since_ns, const absl::Status& status);
  void Forget(const std::string& receiver, uint64_t number);
  void ForgetStranger(const std::string& receiver, uint64_t incident, uint64_t number);

  const IncidentOutboxOptions options_;
  HistoryStore& store_;
  AlertReceivers& receivers_;
  CollectorMetrics& metrics_;

  Mutex telling_;  // held while receivers are told, so that they are told in order; taken before mutex_
  Mutex mutex_;
  CondVar work_;
  std::deque<Change> changes_ ABSL_GUARDED_BY(mutex_);  // at most max_waiting; the first is being written
  std::deque<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);  // at most max_waiters, by ticket
  uint64_t newest_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_OUTBOX_H_
