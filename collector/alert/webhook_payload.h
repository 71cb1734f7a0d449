// An incident event as the JSON that receivers of Alertmanager webhooks already parse (version "4"): one alert each.
//
// Labels are identity, never values. The fingerprint and the group are over those labels that stay the same for the
// whole life of an incident (its class may become clearer), so that every later payload meets the first one.
// Pure; never fails: bytes that are no UTF-8 are replaced.

#ifndef LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_PAYLOAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_PAYLOAD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "collector/incident/incident_book.h"

namespace lockstep {

struct WebhookPayloadOptions {
  std::string receiver = "lockstep";
  std::string external_url;  // where people look; "" = nowhere
};

std::string WebhookPayload(const IncidentEvent& event, const WebhookPayloadOptions& options);

// "critical" if the job stands still or lost hardware, else "warning"; by class.
const char* SeverityOf(absl::string_view verdict_class);

// One sentence: what, who, which job.
std::string SummaryOf(const wire::Incident& incident);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_PAYLOAD_H_
