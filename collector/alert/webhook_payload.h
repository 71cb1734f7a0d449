// An incident event as the JSON that receivers of Alertmanager webhooks already parse (version "4"): one alert each.
//
// Labels are identity, never values. The fingerprint and the group are over those labels that stay the same for the
// whole life of an incident (its class may become clearer), so that every later payload meets the first one.
// Headers: X-Lockstep-Delivery names the change, the same whenever it is sent again; X-Lockstep-Signature is there
// where the receiver has a secret. Pure; never fails: bytes that are no UTF-8 are replaced.

#ifndef LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_PAYLOAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_PAYLOAD_H_

#include "collector/alert/alert_message.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "daemon/http_client.h"

namespace lockstep {

AlertMessage WebhookMessage(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context);

// Any 2xx will do.
AnswerVerdict JudgeWebhook(const ReceiverSpec& receiver, const HttpAnswer& answer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_WEBHOOK_PAYLOAD_H_
