// Those who are told of incidents. Implementations never block the caller: they queue, retry and count on their own.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_RECEIVERS_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_RECEIVERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/alert/change_id.h"
#include "collector/alert/told_alert.h"
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

  // Open incidents of which an earlier life of the collector has told. To be called before TellAgain, if at all.
  virtual void Inherit(const std::vector<wire::Incident>& incidents) = 0;

  // What an earlier life has told last of an incident that is kept. To be called after Inherit, if at all.
  virtual void InheritTold(const ToldAlert& told) = 0;

  // Tells one of them what an earlier life of the collector could not. False if there is none of that name any more.
  virtual bool TellAgain(const std::string& name, const IncidentEvent& event, uint64_t number) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_RECEIVERS_H_
