#include "collector/alert/slack_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "collector/alert/testing/sample_incident.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using Outcome = AnswerVerdict::Outcome;
using nlohmann::ordered_json;
using ::testing::HasSubstr;

ReceiverSpec Webhook() { return {.type = ReceiverType::kSlack}; }

ReceiverSpec Bot() { return {.type = ReceiverType::kSlack, .token = "xoxb-0", .channel = "C1"}; }

ordered_json Message(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context = {}) {
  return ordered_json::parse(SlackMessage(event, receiver, context).body);
}

TEST(SlackPayloadTest, AWebhookIsToldInTextAndColour) {
  DeliveryContext context;
  context.links = {.fleet = "prod-a", .external_url = "http://lockstep/{incident}", .runbook_url = "http://wiki"};
  EXPECT_EQ(Message({Kind::kOpened, SlowRank()}, Webhook(), context).dump(1), R"({
 "text": "<http://lockstep/42|Incident 42> opened: compute_slow on node-17 rank 3 pid 77 in job llama",
 "attachments": [
  {
   "color": "#f9a825",
   "text": "Rank 3 arrives last in 38 of 40 steps.\nIts own time is 1.50 times that of its peers.\n18.0 % of the step time, 0.25 s per step, in 95 % of the steps\nAdvice: cordon_and_replace\n<http://wiki#compute_slow|Runbook>",
   "footer": "prod-a, warning, machine"
  }
 ]
})");
}

TEST(SlackPayloadTest, TheStacksOfAHangAreLinked) {
  DeliveryContext context;
  context.links.stacks_url = "http://collector/incidents/{incident}/stacks.svg";
  wire::Incident hang = SlowRank();
  hang.mutable_verdict()->set_class_("deadlock");
  EXPECT_THAT(Message({Kind::kOpened, hang}, Webhook(), context).dump(),
              HasSubstr("<http://collector/incidents/42/stacks.svg|Stacks>"));
}

TEST(SlackPayloadTest, WhatHappenedIsInWordsAndColour) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->set_class_("deadlock");
  EXPECT_EQ(Message({Kind::kReopened, incident}, Webhook())["attachments"][0]["color"], "#c62828");
  incident.mutable_acknowledgement()->set_by("alice");
  incident.mutable_acknowledgement()->set_note("drained");
  const ordered_json taken = Message({Kind::kAcknowledged, incident}, Webhook());
  EXPECT_THAT(taken["text"].get<std::string>(), HasSubstr("Incident 42 acknowledged by alice: deadlock"));
  EXPECT_EQ(taken["attachments"][0]["text"], "drained");
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.add_transitions()->set_why("the cause is gone");
  const ordered_json over = Message({Kind::kResolved, incident}, Webhook());
  EXPECT_THAT(over["text"].get<std::string>(), HasSubstr("Incident 42 resolved: "));
  EXPECT_EQ(over["attachments"][0]["color"], "#2e7d32");
  EXPECT_EQ(over["attachments"][0]["text"], "the cause is gone");
}

TEST(SlackPayloadTest, ABotWritesIntoTheThreadOfTheIncident) {
  const ordered_json first = Message({Kind::kOpened, SlowRank()}, Bot());
  EXPECT_EQ(first["channel"], "C1");
  EXPECT_FALSE(first.contains("thread_ts"));
  DeliveryContext context;
  context.thread = "17.3";
  const ordered_json update = Message({Kind::kUpdated, SlowRank()}, Bot(), context);
  EXPECT_EQ(update["thread_ts"], "17.3");
  EXPECT_FALSE(update.contains("reply_broadcast"));
  EXPECT_EQ(Message({Kind::kReopened, SlowRank()}, Bot(), context)["reply_broadcast"], true);
}

TEST(SlackPayloadTest, SaysHowOftenItCameBackAndWhatItStandsFor) {
  wire::Incident incident = SlowRank();
  incident.set_flapping(true);
  incident.set_reopened(4);
  incident.set_folds(7);
  const AlertMessage message = SlackMessage({Kind::kReopened, incident}, ReceiverSpec(), DeliveryContext());
  EXPECT_THAT(message.body, HasSubstr("It comes and goes (reopened 4 times). It stands for 7 more."));
}

TEST(SlackPayloadTest, TextFromOutsideIsNoMarkup) {
  wire::Incident incident = SlowRank();
  incident.set_job("<!channel> & co");
  const ordered_json message = Message({Kind::kOpened, incident}, Webhook());
  EXPECT_THAT(message["text"].get<std::string>(), HasSubstr("in job &lt;!channel&gt; &amp; co"));
}

TEST(SlackPayloadTest, SlackSaysNoWithStatus200) {
  const auto judge = [](const ReceiverSpec& receiver, int status, const char* body) {
    HttpAnswer answer;
    answer.status = status;
    answer.body = body;
    return JudgeSlack(receiver, answer);
  };
  EXPECT_EQ(judge(Webhook(), 200, "ok").outcome, Outcome::kTaken);
  EXPECT_EQ(judge(Webhook(), 200, "<html>").outcome, Outcome::kLater);
  EXPECT_EQ(judge(Webhook(), 404, "no_service").outcome, Outcome::kLater) << "somebody can mend it";
  EXPECT_EQ(judge(Webhook(), 400, "invalid_payload").outcome, Outcome::kRefused);
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": true, "ts": "17.3"})").outcome, Outcome::kTaken);
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": true, "ts": "17.3"})").thread, "17.3");
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": false, "error": "ratelimited"})").outcome, Outcome::kLater);
  for (const char* error : {"channel_not_found", "not_in_channel", "invalid_auth", "token_revoked"}) {
    const std::string body = R"({"ok": false, "error": ")" + std::string(error) + R"("})";
    EXPECT_EQ(judge(Bot(), 200, body.c_str()).outcome, Outcome::kLater) << error;
  }
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": false, "error": "msg_too_long"})").outcome, Outcome::kRefused);
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": false, "error": "cannot_reply_to_message"})").outcome, Outcome::kRefused);
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": false, "error": "channel_not_found"})").why, "Slack says channel_not_found");
  EXPECT_EQ(judge(Bot(), 200, R"({"ok": "yes"})").outcome, Outcome::kLater);
  EXPECT_EQ(judge(Bot(), 200, "ok").outcome, Outcome::kLater);
  EXPECT_EQ(judge(Bot(), 429, "").outcome, Outcome::kLater);
}

}  // namespace
}  // namespace lockstep
