// Events that wait to be sent to one receiver: in order, bounded, with no more than it needs to know, and when each may
// go.
//
// News about an incident that still waits is folded into what waits: an update refreshes the text of the event before
// it, anything else replaces an update. An opening, a reopening and a resolution go at once and in order, so that a
// receiver sees every change between firing and resolved. A begin that could not be told for `begin_is_news_ns`, and
// whose incident is over meanwhile, is folded into the end: nobody is called for what was over long ago. The end itself
// is told in any case, since an attempt in vain may have reached the receiver. Nothing is too old to be told. An update
// may go `update_every_ns` after the receiver was last told of the incident. Order is kept within an incident only: an
// event that has to be sent again waits for a time of its own, and those of other incidents pass it. History keeps each
// change until it is gone here: of what was folded together, the first and the newest, which say the same after a
// restart. Not thread-safe. Times are monotonic nanoseconds.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_BACKLOG_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_BACKLOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/alert/change_id.h"
#include "collector/alert/told_incidents.h"
#include "collector/incident/incident_book.h"

namespace lockstep {

struct AlertBacklogOptions {
  size_t max_waiting = 1'000;                    // events
  size_t max_bytes = 32 << 20;                   // of these, with all that history keeps of them
  size_t max_told = 10'000;                      // incidents that are remembered
  int64_t update_every_ns = 60'000'000'000;      // between two updates of one incident
  int64_t repeat_every_ns = 0;                   // what is open is said again after this long; 0 = never
  int64_t begin_is_news_ns = 3'600'000'000'000;  // for how long a begin is worth telling once it is over
  bool hears_numbers = true;                     // an update that only has newer numbers is one
};

class AlertBacklog {
 public:
  struct Waiting {
    IncidentEvent event;
    int64_t since_ns = 0;           // when it was added, or took the place of an update
    std::vector<uint64_t> numbers;  // in history, of this event and of what was folded into it
    std::vector<uint64_t> tickets;  // likewise, of what is not there yet
    bool is_being_sent = false;
    uint32_t failures = 0;      // attempts in vain
    int64_t not_before_ns = 0;  // after the last of them
    size_t bytes = 0;           // as it counts against max_bytes
  };
  // Changes folded into one event that history keeps, before those in the middle are forgotten, all at once.
  static constexpr size_t kMaxFolded = 8;

  // REQUIRES: the limits are above 0.
  explicit AlertBacklog(const AlertBacklogOptions& options) : options_(options), told_(options.max_told) {}

  // A full backlog gives up its oldest update to anything but an update. Then it folds begins into their ends, however
  // old these are; otherwise the new event is dropped. Gives the numbers of what was dropped, says nothing new, or was
  // folded away. `since_ns`: since when it waits. `is_left_over`: an earlier life could not tell it, so it is new.
  std::vector<uint64_t> Add(const IncidentEvent& event, int64_t since_ns, const ChangeId& id = {},
                            bool is_left_over = false);

  // The event of that ticket has a number now. False = it is gone.
  bool NoteWritten(uint64_t ticket, uint64_t number);

  // The receiver knows this open incident from an earlier life.
  void Inherit(const wire::Incident& incident, int64_t now_ns);

  // What the receiver was told last, by an earlier life or another backlog; and that a thread is no more.
  void InheritLast(const ToldIncidents::Last& last) { told_.InheritLast(last); }
  void ForgetThread(uint64_t incident) { told_.ForgetThread(incident); }
  std::vector<ToldIncidents::Last> AllLast() const { return told_.AllLast(); }

  // What waits, for another backlog, which takes it behind what it has and as if never tried; it may then hold more
  // than its limit. REQUIRES: nothing is being sent.
  std::vector<Waiting> TakeAll();
  void Resume(Waiting waiting);

  // When the next event may go, in the past if it may now; empty when there is none. REQUIRES: nothing is being sent.
  std::optional<int64_t> NextDue() const;

  // The event that may go for the longest time, of those that no other of their incident precedes; nothing: none is
  // due. Until EndSending, GiveUp or PutBack it is not folded with anything.
  std::optional<Waiting> BeginSending(int64_t now_ns);

  // It was delivered; its numbers. `thread`: where the receiver keeps what it was told of the incident; "" = unknown,
  // or as before.
  std::vector<uint64_t> EndSending(int64_t now_ns, const std::string& thread = "");

  // The receiver will never have it; its numbers. It was not told, so that what comes next of the incident is news.
  std::vector<uint64_t> GiveUp(int64_t now_ns);

  // It was not delivered, and goes before the others of its incident, not before that time.
  void PutBack(int64_t not_before_ns);

  // An incident became quiet, or is so no more, of which the receiver is not told: what is quiet is not said again.
  void NoteQuiet(const wire::Incident& incident);

  // What the receiver was told about an incident; null = nothing that is known. Valid until the next other call.
  const ToldIncidents::Told* told(uint64_t incident) const { return told_.Find(incident); }

  // For how long the oldest event that may go has been waiting; 0 = none waits.
  int64_t LongestWait(int64_t now_ns) const;

  // Those that may go now.
  size_t CountDue(int64_t now_ns) const;

  size_t size() const { return waiting_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t dropped() const { return dropped_; }

 private:
  bool Fold(const IncidentEvent& event, int64_t since_ns, const ChangeId& id, std::vector<uint64_t>* gone);
  bool FoldIntoEnd(size_t begin);
  bool FoldOldestIntoEnd();
  bool FoldIntoNewEnd(const Waiting& own);
  // Brings its bytes, and with them the sum, up to date.
  void Weigh(Waiting& waiting);
  static size_t BytesOf(const Waiting& waiting);
  bool HasRoomFor(const Waiting& own) const;
  void Erase(std::deque<Waiting>::iterator waiting);
  bool SaysNothingNew(const IncidentEvent& event) const;
  bool DropOldestUpdate(std::vector<uint64_t>* dropped);
  std::vector<uint64_t> TakeSent();
  int64_t DueOf(const Waiting& waiting) const;
  int64_t ReadyAt(const Waiting& waiting) const { return std::max(DueOf(waiting), waiting.not_before_ns); }
  std::deque<Waiting>::const_iterator FirstReady() const;
  std::deque<Waiting>::iterator BeingSent();
  std::optional<std::pair<int64_t, uint64_t>> NextRepeat() const;  // when, and the number of the incident
  bool IsWaiting(uint64_t incident) const;

  const AlertBacklogOptions options_;
  ToldIncidents told_;
  std::deque<Waiting> waiting_;  // at most max_waiting, and what Resume brought
  size_t bytes_ = 0;             // of waiting_
  uint64_t dropped_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_BACKLOG_H_
