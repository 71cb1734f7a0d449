// What one receiver was told last about each incident: for how long news have to wait, what is said again, and in which
// thread.
//
// Not thread-safe. Times are monotonic nanoseconds. At most `capacity` incidents; beyond, the oldest are forgotten, and
// with them only that their news have to wait and that they are said again.

#ifndef LOCKSTEP_COLLECTOR_ALERT_TOLD_INCIDENTS_H_
#define LOCKSTEP_COLLECTOR_ALERT_TOLD_INCIDENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/incident/incident_book.h"

namespace lockstep {

class ToldIncidents {
 public:
  struct Told {
    wire::Incident incident;  // empty if it was over
    int64_t at_ns = 0;
    std::string thread;  // "" = none
    bool is_open = false;
    bool is_quiet = false;  // nobody is called: it is not said again
    bool is_guess = false;  // that an earlier life has told of it: nothing says so
  };

  // What another courier, or the next life, has to know of it.
  struct Last {
    uint64_t incident = 0;
    std::string thread;  // "" = none
    int64_t at_ns = 0;
    bool is_open = true;  // it was told of it, and of no end

    bool operator==(const Last&) const = default;
  };

  // REQUIRES: capacity > 0.
  explicit ToldIncidents(size_t capacity) : capacity_(capacity) {}

  // `thread`: "" leaves it as it is.
  void Note(const IncidentEvent& event, int64_t now_ns, const std::string& thread);

  // The receiver would not have it: what it knows is as before, and what is over is not said again. News wait as if it
  // had been told.
  void NoteRefused(const IncidentEvent& event, int64_t now_ns);

  // An earlier life has told of this incident, which is open; that is a guess unless InheritLast confirms it.
  void Inherit(const wire::Incident& incident, int64_t at_ns);

  // An earlier life, or another courier, has told this last of it.
  void InheritLast(const Last& last);

  // The receiver will have it there no more.
  void ForgetThread(uint64_t incident);

  // By number of the incident.
  std::vector<Last> AllLast() const;

  // It became quiet, or is so no more, without the receiver being told.
  void NoteQuiet(const wire::Incident& incident);

  // Null where nothing was told. Valid until the next call that changes something.
  const Told* Find(uint64_t incident) const;

  // Of the open incidents that are not quiet, without those of `except`, the one that was told longest ago: when, and
  // its number.
  std::optional<std::pair<int64_t, uint64_t>> OldestOpen(const std::set<uint64_t>& except) const;

 private:
  void Put(uint64_t id, Told told);

  const size_t capacity_;
  std::map<uint64_t, Told> told_;                // by number of the incident
  std::set<std::pair<int64_t, uint64_t>> open_;  // (at_ns, number) of those that are open and not quiet
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_TOLD_INCIDENTS_H_
