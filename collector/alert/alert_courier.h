// Announces incidents to one URL of a receiver, from a thread of its own: detection never waits for a receiver.
//
// Delivery is at least once and in order for each incident. What the receiver may answer otherwise next time is tried
// again, after a jittered exponential delay or what it asked for, for as long as that takes. Where it says that the
// message is wrong the event is given up; the next one of the incident is sent all the same
// (collector/alert/answer_verdict.h). The delay is that of one event, which those of other incidents pass. When the
// receiver takes nothing of two incidents, it is the receiver that fails, and is left alone for as long. Why it has to
// be tried again is logged when that is news. Every message describes the whole incident, so that a lost one is made
// good by the next. When an incident was told last, and in which thread it stands, is handed to `on_told`, for the next
// life. Thread-safe. Limits: those of the backlog.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_COURIER_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_COURIER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/told_error.h"
#include "collector/alert/alert_backlog.h"
#include "collector/alert/alert_endpoint.h"
#include "collector/alert/alert_links.h"
#include "collector/alert/alert_message.h"
#include "collector/alert/change_id.h"
#include "collector/alert/receiver_spec.h"
#include "collector/alert/told_incidents.h"
#include "collector/incident/incident_book.h"

namespace lockstep {

struct AlertCourierOptions {
  ReceiverSpec receiver;
  std::string url;   // one of the receiver's
  std::string name;  // in logs
  AlertLinks links;
  size_t max_waiting = 1'000;                             // events
  int64_t update_every_ns = 60 * int64_t{1'000'000'000};  // between two updates of one incident, at least
  int64_t timeout_ns = 10'000'000'000;                    // of each attempt
  int64_t first_retry_ns = 500'000'000;                   // delay after the first failure, at most
  int64_t longest_retry_ns = 60'000'000'000;              // of the delays of our own
  int64_t longest_gap_ns = 1'000'000'000;                 // between two messages, whatever the receiver asks for
  int64_t drain_ns = 2'000'000'000;                       // how long the destructor may still send what waits
};

// Counted since the start.
struct AlertCourierStats {
  uint64_t sent = 0;            // taken by the receiver
  uint64_t retried = 0;         // attempts that will be made again
  uint64_t failed = 0;          // events that were given up: the receiver says that they are wrong
  uint64_t dropped = 0;         // events that did not fit, or were left at the end
  uint64_t waiting = 0;         // now, without updates that wait for their time
  int64_t longest_wait_ns = 0;  // now, of those that may go

  // Adds what is counted, and the state of now.
  void Add(const AlertCourierStats& other);
};

class AlertCourier {
 public:
  // Told the numbers of events that the receiver has taken, or will never be told: history may forget them.
  using OnDone = std::function<void(const std::vector<uint64_t>& numbers)>;

  // Told of what the receiver has taken, before OnDone hears of it: when, 0 = the incident is over; and where the
  // receiver has its thread of it, "" = nowhere.
  using OnTold = std::function<void(uint64_t incident, const std::string& thread, int64_t wall_ns)>;

  // What another has done for the receiver. It comes in one piece: what is said again would else pass what is left.
  struct Inheritance {
    std::vector<wire::Incident> open;                      // the receiver was told of them
    std::vector<ToldIncidents::Last> last;                 // what it was told last, in monotonic time
    std::vector<std::pair<IncidentEvent, uint64_t>> left;  // an earlier life could not tell it; number in history
    std::vector<AlertBacklog::Waiting> waiting;            // another courier has left it
  };

  // `clock` must outlive the courier. `on_done` is called from the courier's thread, from Inherit and from Announce,
  // `on_told` from the first of these.
  AlertCourier(const AlertCourierOptions& options, const Clock& clock, const Random& random, OnDone on_done,
               OnTold on_told);

  // As Stop. What is left stays in history.
  ~AlertCourier();

  // The thread begins to end: it sends what may go now, as long as the receiver takes it and `drain_ns` has not passed.
  // Does not block; many are told before the first is waited for. Idempotent.
  void BeginStop();

  // As BeginStop, and waits for the end of the thread. Gives what is left, for a courier that takes its place.
  std::vector<AlertBacklog::Waiting> Stop();

  // Takes over from an earlier life, or from another courier to the same receiver. To be called before Announce, if at
  // all.
  void Inherit(Inheritance inheritance);

  // Takes the event or, when the queue is full, drops and counts it. One that the receiver does not want to hear of is
  // done at once.
  void Announce(const IncidentEvent& event, const ChangeId& id);

  // By number of the incident.
  std::vector<ToldIncidents::Last> AllLast() const;

  // It became quiet, or is so no more: what is quiet is not said again.
  void NoteQuiet(const wire::Incident& incident);

  // An event that was announced under `ticket` is in history now. False = the receiver has taken it already, or will
  // never be told.
  bool NoteWritten(uint64_t ticket, uint64_t number);

  AlertCourierStats stats() const;

 private:
  using Outcome = AnswerVerdict::Outcome;

  void Run();
  // Since when an event of an earlier life waits, as far as its own time says.
  int64_t SinceOf(const IncidentEvent& event) const;
  // Numbers that are done with it.
  std::vector<uint64_t> TakeLocked(const IncidentEvent& event, const ChangeId& id, bool is_left_over)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool WaitForWork();
  void Deliver();
  void TryLater(const AlertEndpoint::Answer& answer, const AlertBacklog::Waiting& waiting);
  // Taken or given up. `thread`: in which it was sent; "" = in none.
  // What is being sent says nothing that the receiver has not read.
  void PassOver();
  void Conclude(const AnswerVerdict& verdict, const AlertBacklog::Waiting& waiting, const std::string& thread);
  bool MustAbort() const;

  const AlertCourierOptions options_;
  const Clock& clock_;
  const OnDone on_done_;
  const OnTold on_told_;
  Backoff backoff_;                                // of the thread; of the receiver
  const std::unique_ptr<AlertEndpoint> endpoint_;  // of the thread
  ToldError told_error_;                           // of the thread
  std::set<uint64_t> failing_;              // of the thread; tried in vain since something was taken: two at most
  int64_t next_ns_ = 0;                     // of the thread; monotonic, when the receiver may be spoken to again
  int64_t paused_until_ns_ = 0;             // likewise, because it fails
  std::atomic<int64_t> drain_until_ns_{0};  // monotonic; 0 = not stopping

  mutable Mutex mutex_;
  CondVar changed_;
  AlertBacklog backlog_ ABSL_GUARDED_BY(mutex_);
  AlertCourierStats stats_ ABSL_GUARDED_BY(mutex_);
  bool told_of_drops_ ABSL_GUARDED_BY(mutex_) = false;  // in the log, since something was taken
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_COURIER_H_
