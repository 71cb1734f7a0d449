// An incident event as PagerDuty's Events API v2 takes it: trigger, acknowledge and resolve, under one dedup_key for
// the whole life of an incident. Texts are cut to PagerDuty's limits. Pure; never fails: bytes that are no UTF-8 are
// replaced.

#ifndef LOCKSTEP_COLLECTOR_ALERT_PAGERDUTY_PAYLOAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_PAGERDUTY_PAYLOAD_H_

#include "collector/alert/alert_message.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "daemon/http_client.h"

namespace lockstep {

AlertMessage PagerdutyMessage(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context);

// 202 with {"status": "success"} is taken, 400 is final, 429 and 5xx are not.
AnswerVerdict JudgePagerduty(const ReceiverSpec& receiver, const HttpAnswer& answer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_PAGERDUTY_PAYLOAD_H_
