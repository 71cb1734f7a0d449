#include "collector/alert/alert_protocol.h"

#include <iterator>

#include "base/clock.h"
#include "collector/alert/alertmanager_payload.h"
#include "collector/alert/pagerduty_payload.h"
#include "collector/alert/slack_payload.h"
#include "collector/alert/webhook_payload.h"

namespace lockstep {
namespace {

// Alertmanager learns who has an incident in hand when it is told again. Those who read as people do are not told that
// a cost went from 18.1 % to 18.2 %.
constexpr AlertProtocol kProtocols[] = {
    {ReceiverType::kWebhook, "webhook", "", false, true, false, 0, WebhookMessage, JudgeWebhook},
    {ReceiverType::kAlertmanager, "alertmanager", "/api/v2/alerts", false, true, true, 0, AlertmanagerMessage,
     JudgeAlertmanager},
    {ReceiverType::kPagerduty, "pagerduty", "", true, false, false, 0, PagerdutyMessage, JudgePagerduty},
    {ReceiverType::kSlack, "slack", "", true, false, false, kNanosPerSecond, SlackMessage, JudgeSlack},
    {ReceiverType::kNvsentinel, "nvsentinel", "", false, false, false, 0, nullptr, nullptr},
};
static_assert(std::size(kProtocols) == static_cast<size_t>(ReceiverType::kNvsentinel) + 1);

}  // namespace

absl::Span<const AlertProtocol> AllAlertProtocols() { return kProtocols; }

}  // namespace lockstep
