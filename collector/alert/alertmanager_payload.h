// An incident event as Alertmanager's API takes alerts (POST /api/v2/alerts).
//
// Alertmanager knows an alert by its labels: what may change in the life of an incident without making it another one
// (numbers, ranks, texts) is in annotations. Class, severity, scope and host are labels, since alerts are routed by
// them; when one of them changes, the same message ends the alert of before. What fires has an end in the future, so
// that the alerts of a collector that is gone end by themselves. Pure; never fails: bytes that are no UTF-8 are
// replaced.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERTMANAGER_PAYLOAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERTMANAGER_PAYLOAD_H_

#include <cstdint>

#include "collector/alert/alert_message.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "daemon/http_client.h"

namespace lockstep {

// After how many missed repetitions an alert ends by itself.
inline constexpr int64_t kRepeatsUntilEnd = 4;

AlertMessage AlertmanagerMessage(const IncidentEvent& event, const ReceiverSpec& receiver,
                                 const DeliveryContext& context);

// 200 has an empty body, or JSON: a page that wants somebody to log in is none of Alertmanager's.
AnswerVerdict JudgeAlertmanager(const ReceiverSpec& receiver, const HttpAnswer& answer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERTMANAGER_PAYLOAD_H_
