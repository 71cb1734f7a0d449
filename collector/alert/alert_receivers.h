// Those who are told of incidents. Implementations never block the caller: they queue, retry and count on their own.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_RECEIVERS_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_RECEIVERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/alert/alert_inheritance.h"
#include "collector/alert/change_id.h"
#include "collector/incident/incident_book.h"
#include "proto/incident.pb.h"

namespace lockstep {

// Thread-safe.
class AlertReceivers {
 public:
  virtual ~AlertReceivers() = default;

  // Those who have to be told of it, whom history has to remember until they were; the same names after a restart.
  virtual std::vector<std::string> NamesFor(const IncidentEvent& event) const = 0;

  // Tells them.
  virtual void Tell(const IncidentEvent& event, const ChangeId& id) = 0;

  // An incident changed in a way that they are not told of: it became quiet, say, and what is quiet is not said again.
  virtual void NoteUntold(const wire::Incident& incident) = 0;

  // What was told under `ticket` is in history now, under `number`. Gives the names of those that have taken it
  // already, or will never be told; the others are remembered there until they have.
  virtual std::vector<std::string> NoteWritten(uint64_t ticket, uint64_t number) = 0;

  // What an earlier life of the collector leaves. Nothing is said of an incident before all that is left of it is
  // known. Tells what was left, and gives what has no receiver of its name any more. To be called before Tell, if at
  // all.
  virtual std::vector<AlertInheritance::Left> Inherit(const AlertInheritance& inheritance) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_RECEIVERS_H_
