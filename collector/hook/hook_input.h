// What the operator's program reads on stdin: one object of JSON on one line. docs/alerts.md says what is in it.
//
// Names and sentences come from agents and jobs: who reads them has to treat them as data. Pure; never fails: bytes
// that are no UTF-8 are replaced.

#ifndef LOCKSTEP_COLLECTOR_HOOK_HOOK_INPUT_H_
#define LOCKSTEP_COLLECTOR_HOOK_HOOK_INPUT_H_

#include <string>
#include <vector>

#include "collector/alert/alert_links.h"
#include "proto/incident.pb.h"

namespace lockstep {

// Each culprit's host and its peer's, each once, most likely first.
std::vector<std::string> HostsToActOn(const wire::Incident& incident);

std::string HookInput(const wire::Incident& incident, const AlertLinks& links);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HOOK_HOOK_INPUT_H_
