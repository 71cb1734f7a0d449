// An incident event as a message for Slack: to an incoming webhook, or with a bot token by chat.postMessage, where all
// messages about one incident are one thread. Pure; never fails: bytes that are no UTF-8 are replaced.

#ifndef LOCKSTEP_COLLECTOR_ALERT_SLACK_PAYLOAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_SLACK_PAYLOAD_H_

#include "collector/alert/alert_message.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "daemon/http_client.h"

namespace lockstep {

AlertMessage SlackMessage(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context);

// A webhook says "ok". The API says {"ok": true} with where the message stands, or {"ok": false} and an error, both
// with status 200: errors that pass are tried again, others are final.
AnswerVerdict JudgeSlack(const ReceiverSpec& receiver, const HttpAnswer& answer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_SLACK_PAYLOAD_H_
