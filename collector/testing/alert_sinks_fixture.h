// Alert sinks that tell two webhooks of the test, and keep what they told in memory. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TESTING_ALERT_SINKS_FIXTURE_H_
#define LOCKSTEP_COLLECTOR_TESTING_ALERT_SINKS_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"
#include "collector/alert/testing/http_receiver.h"
#include "collector/alert/testing/sample_incident.h"
#include "collector/alert_memory.h"
#include "collector/alert_sinks.h"
#include "collector/metrics.h"
#include "collector/store/testing/memory_store.h"

namespace lockstep {

inline AlertCourierOptions QuickPace() {
  AlertCourierOptions pace;
  pace.timeout_ns = 500 * kNanosPerMilli;
  pace.first_retry_ns = 1 * kNanosPerMilli;
  pace.longest_retry_ns = 10 * kNanosPerMilli;
  pace.longest_gap_ns = 0;
  return pace;
}

inline IncidentEvent Event(uint64_t id, IncidentEvent::Kind kind, const std::string& verdict_class = "compute_slow") {
  IncidentEvent event{kind, SlowRank()};
  event.incident.set_id(id);
  event.incident.mutable_verdict()->set_class_(verdict_class);
  if (kind == IncidentEvent::Kind::kResolved) event.incident.set_state(wire::Incident::STATE_RESOLVED);
  return event;
}

inline AlertRoutes ToOne(const ReceiverSpec& receiver) {
  AlertRoutes routes;
  routes.receivers = {receiver};
  routes.told_of_all = {receiver.name};
  return routes;
}

inline ReceiverSpec Webhook(const std::string& name, const HttpReceiver& receiver) {
  return {.name = name, .title = name, .urls = {receiver.url()}};
}

// "id status" of what a webhook took.
inline std::vector<std::string> Heard(const HttpReceiver& receiver) {
  std::vector<std::string> heard;
  for (const HttpReceiver::Request& request : receiver.requests()) {
    const nlohmann::json payload = nlohmann::json::parse(request.body);
    heard.push_back(absl::StrCat(payload["groupLabels"]["incident_id"].get<std::string>(), " ",
                                 payload["status"].get<std::string>()));
  }
  return heard;
}

class AlertSinksTest : public testing::Test {
 protected:
  std::unique_ptr<AlertSinks> MakeSinks(const AlertRoutes& routes) {
    return std::make_unique<AlertSinks>(routes, RealClock(), Random(1), MemoryIn(store_, metrics_), QuickPace());
  }

  // Critical incidents go to `critical`, all others to `other`.
  AlertRoutes BySeverity() {
    AlertRoutes routes;
    routes.receivers = {Webhook("critical", critical_), Webhook("other", other_)};
    AlertRoute& first = routes.routes.emplace_back();
    first.severities = {"critical"};
    first.receivers = {"critical"};
    routes.routes.emplace_back().receivers = {"other"};
    return routes;
  }

  MemoryStore store_;
  CollectorMetrics metrics_{"test"};
  HttpReceiver critical_;
  HttpReceiver other_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_ALERT_SINKS_FIXTURE_H_
