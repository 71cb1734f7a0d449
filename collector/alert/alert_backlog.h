// Events that wait to be sent: in order, bounded, and with no more than a receiver needs to know.
//
// News about an incident that still waits is folded into what waits: an update refreshes the text of the event before
// it, a resolution replaces an update. An opening, a reopening and a resolution are never folded away, so that a
// receiver sees every change between firing and resolved, in order. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_BACKLOG_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_BACKLOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "collector/alert/change_id.h"
#include "collector/incident/incident_book.h"

namespace lockstep {

class AlertBacklog {
 public:
  struct Waiting {
    IncidentEvent event;
    int64_t since_ns = 0;           // monotonic, when it was added
    std::vector<uint64_t> numbers;  // in history, of this event and of what was folded into it
    std::vector<uint64_t> tickets;  // likewise, of what is not there yet
  };

  // REQUIRES: capacity > 0.
  explicit AlertBacklog(size_t capacity) : capacity_(capacity) {}

  // A full backlog gives up its oldest update to anything but an update; otherwise the new event is dropped. Gives the
  // numbers of what was dropped.
  std::vector<uint64_t> Add(const IncidentEvent& event, int64_t now_ns, const ChangeId& id = {});

  // The event of that ticket has a number now. False = it is gone.
  bool NoteWritten(uint64_t ticket, uint64_t number);

  // The event to send next. Until EndSending it is not folded with anything. REQUIRES: not empty, nothing is being
  // sent.
  Waiting BeginSending();

  // `done`: it is gone, delivered or given up, and its numbers are returned. Otherwise it waits again, as the first.
  std::vector<uint64_t> EndSending(bool done);

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  uint64_t dropped() const { return dropped_; }

 private:
  bool Fold(const IncidentEvent& event, const ChangeId& id);
  bool DropOldestUpdate(std::vector<uint64_t>* dropped);

  const size_t capacity_;
  std::deque<Waiting> waiting_;  // at most capacity_
  bool sending_first_ = false;
  uint64_t dropped_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_BACKLOG_H_
