// /incidents/ID/stacks.svg: a flame graph of the stacks that were kept with an incident.
//
// Reads history and nothing else: whoever looks has no process looked at. As /metrics, the page knows no tenants; what
// it shows are names of a user's functions, so that it answers only where the guard of the pages asks who comes, or
// where the pages are on this machine alone. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STACKS_PAGE_H_
#define LOCKSTEP_COLLECTOR_STACKS_PAGE_H_

#include "absl/strings/string_view.h"
#include "collector/incident_index.h"
#include "collector/store/history_store.h"
#include "daemon/http_route.h"

namespace lockstep {

// `address`: of the pages. The others are borrowed for the life of the route.
HttpRoute StacksPage(absl::string_view address, const IncidentIndex& incidents, HistoryStore& history);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STACKS_PAGE_H_
