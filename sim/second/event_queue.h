// What happens next: events by time, and by order of scheduling where times are equal. Not thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_EVENT_QUEUE_H_
#define LOCKSTEP_SIM_SECOND_EVENT_QUEUE_H_

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

namespace lockstep::second {

template <typename Event>
class EventQueue {
 public:
  // Not before the time of the event that was taken last.
  void Schedule(int64_t at_ns, Event event) { entries_.push({at_ns, scheduled_++, event}); }

  bool empty() const { return entries_.empty(); }
  int64_t now_ns() const { return now_ns_; }

  // Moves the time on.
  Event Take() {
    const Entry entry = entries_.top();
    entries_.pop();
    now_ns_ = entry.at_ns;
    return entry.event;
  }

 private:
  struct Entry {
    int64_t at_ns;
    uint64_t order;
    Event event;

    bool operator<(const Entry& other) const {  // priority_queue takes the largest first
      return std::tie(other.at_ns, other.order) < std::tie(at_ns, order);
    }
  };

  std::priority_queue<Entry> entries_;
  uint64_t scheduled_ = 0;
  int64_t now_ns_ = 0;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_EVENT_QUEUE_H_
