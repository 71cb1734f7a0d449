// The three pages that every daemon serves: /healthz (it moves; if not, only a restart helps), /readyz (it does its
// work; if not, it says what is wrong) and /metrics (Prometheus text).

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

// What the pages ask. Called from threads of the HTTP server: must be thread-safe.
struct HealthProbes {
  // Says OK, or what is stuck. Empty = it is enough that the process answers.
  std::function<absl::Status()> alive;
  // Says OK when ready, else why not.
  std::function<absl::Status()> ready;
  // Called before each scrape, for values that are only worth reading then. May be empty.
  std::function<void()> before_scrape;
};

// `registry` is borrowed for the life of the routes.
std::vector<HttpRoute> HealthRoutes(const prometheus::Registry& registry, const HealthProbes& probes);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HEALTH_ROUTES_H_
