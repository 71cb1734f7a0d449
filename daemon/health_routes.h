// The three pages that every daemon serves: /healthz (the process answers), /readyz (it does its work) and /metrics
// (Prometheus text).

#ifndef LOCKSTEP_DAEMON_HEALTH_ROUTES_H_
#define LOCKSTEP_DAEMON_HEALTH_ROUTES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "daemon/http_route.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace lockstep {

// Says OK when ready, else why not. Called from threads of the HTTP server: must be thread-safe.
using ReadinessProbe = std::function<absl::Status()>;

// Called before each scrape, for values that are only worth reading then. Must be thread-safe. May be empty.
using BeforeScrape = std::function<void()>;

// `registry` is borrowed for the life of the routes.
std::vector<HttpRoute> HealthRoutes(const prometheus::Registry& registry, ReadinessProbe ready,
                                    BeforeScrape before_scrape = nullptr);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HEALTH_ROUTES_H_
