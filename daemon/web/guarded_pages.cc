#include "daemon/web/guarded_pages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "daemon/loopback.h"
#include "daemon/web/web_guard.h"

namespace lockstep {

absl::Status CheckPages(const PagesOptions& options) {
  if (!options.web_config.empty() || options.insecure_listen || IsLoopbackAddress(options.address)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("other machines reach ", options.address,
                   " in plain text: name web_config, or insecure_http_listen: true, or listen on 127.0.0.1"));
}

void AddGuardSettings(PagesOptions& options, Settings& settings) {
  settings.Add("insecure_http_listen", &options.insecure_listen,
               "the pages may be where other machines reach them without TLS");
  settings.Add("web_config", &options.web_config,
               "file that guards the pages with TLS and passwords, as of Prometheus exporters; empty = no guard");
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartPages(const PagesOptions& options, std::vector<HttpRoute> routes,
                                                       const Clock& clock) {
  const bool needs_tls = !options.insecure_listen && !IsLoopbackAddress(options.address);
  ASSIGN_OR_RETURN(std::unique_ptr<WebGuard> guard, WebGuard::Open(options.web_config, needs_tls, clock));
  return HttpServer::Start(options.address, std::move(routes), HttpLimits(), std::move(guard));
}

}  // namespace lockstep
