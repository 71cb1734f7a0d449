// What an HTTP answer means where a receiver keeps to the usual statuses. Pure.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ANSWER_VERDICT_H_
#define LOCKSTEP_COLLECTOR_ALERT_ANSWER_VERDICT_H_

#include <string>

#include "collector/alert/alert_message.h"
#include "daemon/http_client.h"

namespace lockstep {

// 2xx is taken. No answer, 408, 429 and 5xx may be different next time; so may a redirect, which somebody in between
// answers in the receiver's place. Anything else is a refusal.
AnswerVerdict VerdictOfStatus(const HttpAnswer& answer);

// A status of success with a body that the receiver would not have sent: somebody else has answered.
AnswerVerdict NotItsAnswer(const HttpAnswer& answer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ANSWER_VERDICT_H_
