// The pages of a daemon as its settings want them: where they are, and how they are guarded.
//
// Thread-safe.

#ifndef LOCKSTEP_DAEMON_WEB_GUARDED_PAGES_H_
#define LOCKSTEP_DAEMON_WEB_GUARDED_PAGES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "daemon/http_route.h"
#include "daemon/http_server.h"
#include "daemon/settings.h"

namespace lockstep {

struct PagesOptions {
  std::string address;           // host:port
  std::string web_config;        // file of the guard; "" = none
  bool insecure_listen = false;  // other machines may reach the address in plain text
};

// INVALID_ARGUMENT if other machines would reach the pages in plain text, as far as can be said without the file.
absl::Status CheckPages(const PagesOptions& options);

// insecure_http_listen and web_config. Both are borrowed.
void AddGuardSettings(PagesOptions& options, Settings& settings);

// The errors of WebGuard and HttpServer. `clock` is borrowed for the life of the server.
absl::StatusOr<std::unique_ptr<HttpServer>> StartPages(const PagesOptions& options, std::vector<HttpRoute> routes,
                                                       const Clock& clock);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_WEB_GUARDED_PAGES_H_
