// Which incidents a route, or the hook, is for, as the file of receivers and routes says it (alert_routes_yaml.h).
//
//     {severity: critical, scope: [machine, network], class: gpu_fault, job: "vision-*", tenant: vision, host: "a-*"}
//
// Each key has one text or a list. Those of severity, scope, class and tenant must be known ones; jobs and hosts are
// patterns, in which * stands for anything. A tenant stands for its jobs. Pure; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ROUTE_MATCH_YAML_H_
#define LOCKSTEP_COLLECTOR_ALERT_ROUTE_MATCH_YAML_H_

#include <yaml-cpp/yaml.h>

#include "absl/status/status.h"
#include "collector/alert/alert_routes.h"

namespace lockstep {

// Fills in what the route fits, and nothing else. INVALID_ARGUMENT says in which line what is wrong.
absl::Status ReadMatch(const YAML::Node& match, const Tenants& tenants, AlertRoute& route);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ROUTE_MATCH_YAML_H_
