#include "daemon/health_routes.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr char kTextType[] = "text/plain; charset=utf-8";
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

std::vector<HttpRoute> HealthRoutes(const prometheus::Registry& registry, const HealthProbes& probes) {
  const HttpHandler health = [alive = probes.alive](const HttpRequest&) {
    const absl::Status status = alive ? alive() : absl::OkStatus();
    if (status.ok()) return HttpResponse{200, kTextType, "ok\n"};
    return HttpResponse{503, kTextType, absl::StrCat("stuck: ", status.message(), "\n")};
  };
  const HttpHandler readiness = [ready = probes.ready](const HttpRequest&) {
    const absl::Status status = ready();
    if (status.ok()) return HttpResponse{200, kTextType, "ready\n"};
    return HttpResponse{503, kTextType, absl::StrCat("not ready: ", status.message(), "\n")};
  };
  const HttpHandler metrics = [&registry, before = probes.before_scrape](const HttpRequest&) {
    if (before) before();
    const prometheus::Serializer& serializer = prometheus::TextSerializer();
    return HttpResponse{200, kMetricsType, serializer.Serialize(registry.Collect())};
  };
  return {{"/healthz", health, /*is_open=*/true}, {"/readyz", readiness, /*is_open=*/true}, {"/metrics", metrics}};
}

}  // namespace lockstep
