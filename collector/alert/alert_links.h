// Where a receiver of alerts can read on, and by which name it knows this collector. Pure values.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_LINKS_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_LINKS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct AlertLinks {
  std::string fleet = "lockstep";  // tells the incidents of this collector from those of others
  std::string external_url;        // where people look; {incident} and {job} stand for its own; "" = nowhere
  std::string runbook_url;         // the page with a section per class; "" = none
  std::string stacks_url;          // where people see the stacks of a hang; as external_url; "" = nowhere

  bool operator==(const AlertLinks&) const = default;
};

// "" where there is none. The name of the job is escaped.
std::string ConsolePage(const AlertLinks& links, const wire::Incident& incident);
// Of an incident that is no hang: none.
std::string StacksPage(const AlertLinks& links, const wire::Incident& incident);
std::string RunbookPage(const AlertLinks& links, absl::string_view verdict_class);

// By which receivers know the incident for its whole life: "lockstep/incident-42".
std::string StableName(const AlertLinks& links, const wire::Incident& incident);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_LINKS_H_
