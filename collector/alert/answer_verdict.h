// What an HTTP answer means where a receiver keeps to the usual statuses. Pure.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ANSWER_VERDICT_H_
#define LOCKSTEP_COLLECTOR_ALERT_ANSWER_VERDICT_H_

#include <string>

#include "collector/alert/alert_message.h"
#include "daemon/http_client.h"

namespace lockstep {

// 2xx is taken. 400, 413 and 422 say that the message is wrong: a refusal. Anything else, and no answer, may be
// different next time: it passes, or somebody mends key, address, proxy or receiver.
AnswerVerdict VerdictOfStatus(const HttpAnswer& answer);

// A status of success with a body that the receiver would not have sent: somebody else has answered.
AnswerVerdict NotItsAnswer(const HttpAnswer& answer);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ANSWER_VERDICT_H_
