// What an earlier life of the collector leaves to those who tell of incidents. Plain value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_INHERITANCE_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_INHERITANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/alert/told_alert.h"
#include "collector/incident/incident_book.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct AlertInheritance {
  // One receiver has not taken it.
  struct Left {
    std::string receiver;  // the name of its courier
    IncidentEvent event;
    uint64_t number = 0;  // in history
  };

  std::vector<wire::Incident> incidents;  // all that are kept; of those that are open it has told
  std::vector<ToldAlert> told;            // what it has told last
  std::vector<Left> left;                 // by rising number
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_INHERITANCE_H_
