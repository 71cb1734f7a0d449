#include "collector/alert/pagerduty_payload.h"

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

ordered_json Event(const IncidentEvent& event, const AlertLinks& links = {}) {
  ReceiverSpec receiver;
  receiver.key = "R0";
  DeliveryContext context;
  context.links = links;
  return ordered_json::parse(PagerdutyMessage(event, receiver, context).body);
}

TEST(PagerdutyPayloadTest, AnOpeningTriggers) {
  const AlertLinks links = {
      .fleet = "prod-a", .external_url = "http://lockstep/{incident}", .runbook_url = "http://wiki"};
  EXPECT_EQ(Event({Kind::kOpened, SlowRank()}, links).dump(1), R"({
 "routing_key": "R0",
 "event_action": "trigger",
 "dedup_key": "prod-a/incident-42",
 "client": "Lockstep prod-a",
 "client_url": "http://lockstep/42",
 "links": [
  {
   "href": "http://wiki#compute_slow",
   "text": "runbook"
  }
 ],
 "payload": {
  "summary": "compute_slow on node-17 rank 3 pid 77 in job llama",
  "source": "node-17",
  "severity": "warning",
  "timestamp": "2026-01-02T03:04:05.678Z",
  "component": "rank 3",
  "group": "llama",
  "class": "compute_slow",
  "custom_details": {
   "incident": "42",
   "job": "llama",
   "scope": "machine",
   "evidence": "Rank 3 arrives last in 38 of 40 steps.\nIts own time is 1.50 times that of its peers.",
   "cost": "18.0 % of the step time, 0.25 s per step, in 95 % of the steps",
   "advice": "cordon_and_replace"
  }
 }
})");
}

TEST(PagerdutyPayloadTest, TheStacksOfAHangAreLinked) {
  wire::Incident hang = SlowRank();
  hang.mutable_verdict()->set_class_("deadlock");
  AlertLinks links;
  links.runbook_url = "http://wiki";
  links.stacks_url = "http://collector/incidents/{incident}/stacks.svg";
  const ordered_json event = Event({Kind::kOpened, hang}, links);
  ASSERT_EQ(event["links"].size(), 2u);
  EXPECT_EQ(event["links"][1]["href"], "http://collector/incidents/42/stacks.svg");
  EXPECT_EQ(event["links"][1]["text"], "stacks");
}

TEST(PagerdutyPayloadTest, TheKeyStaysAndTheActionFollowsTheIncident) {
  wire::Incident incident = SlowRank();
  const std::string key = Event({Kind::kOpened, incident})["dedup_key"];
  const auto action = [&](Kind kind) {
    const ordered_json event = Event({kind, incident});
    EXPECT_EQ(event["dedup_key"], key);
    return event["event_action"].get<std::string>();
  };
  EXPECT_EQ(action(Kind::kUpdated), "trigger");
  incident.mutable_acknowledgement()->set_by("alice");
  EXPECT_EQ(action(Kind::kAcknowledged), "acknowledge");
  EXPECT_EQ(action(Kind::kUpdated), "acknowledge");
  EXPECT_EQ(action(Kind::kOpened), "trigger") << "it was not told of the opening yet";
  EXPECT_EQ(action(Kind::kResolved), "resolve");
  incident.clear_acknowledgement();
  EXPECT_EQ(action(Kind::kAcknowledged), "trigger") << "taken back";
  EXPECT_EQ(action(Kind::kReopened), "trigger");
}

TEST(PagerdutyPayloadTest, HowOftenItCameBackAndWhatItStandsForAreDetails) {
  wire::Incident incident = SlowRank();
  EXPECT_FALSE(Event({Kind::kOpened, incident})["payload"]["custom_details"].contains("reopened"));
  incident.set_flapping(true);
  incident.set_reopened(4);
  incident.set_folds(7);
  const ordered_json details = Event({Kind::kReopened, incident})["payload"]["custom_details"];
  EXPECT_EQ(details["flapping"], "true");
  EXPECT_EQ(details["reopened"], "4");
  EXPECT_EQ(details["folded_incidents"], "7");
}

TEST(PagerdutyPayloadTest, LengthsKeepToTheLimits) {
  wire::Incident incident = SlowRank();
  std::string umlauts;
  for (int i = 0; i < 3'000; ++i) umlauts += "\xc3\xbc";
  incident.set_job(umlauts);
  incident.mutable_verdict()->add_evidence()->set_text(umlauts + umlauts);
  const ordered_json event = Event({Kind::kOpened, incident}, {.fleet = std::string(300, 'f')});
  EXPECT_LE(event["payload"]["summary"].get<std::string>().size(), 1'024u);
  EXPECT_LE(event["dedup_key"].get<std::string>().size(), 255u);
  EXPECT_LE(event["payload"]["custom_details"]["evidence"].get<std::string>().size(), 8'192u);
  EXPECT_EQ(event.dump().find("\xef\xbf\xbd"), std::string::npos) << "no character was cut in two";
}

TEST(PagerdutyPayloadTest, ACriticalClassIsCriticalAndWithoutAHostTheJobIsTheSource) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->set_class_("deadlock");
  incident.mutable_verdict()->clear_culprits();
  const ordered_json event = Event({Kind::kOpened, incident});
  EXPECT_EQ(event["payload"]["severity"], "critical");
  EXPECT_EQ(event["payload"]["source"], "llama");
  EXPECT_FALSE(event["payload"].contains("component"));
}

TEST(PagerdutyPayloadTest, OnlyItsOwnWordForSuccessCounts) {
  const auto judge = [](int status, const char* body) {
    HttpAnswer answer;
    answer.status = status;
    answer.body = body;
    return JudgePagerduty(ReceiverSpec(), answer);
  };
  EXPECT_EQ(judge(202, R"({"status": "success", "message": "Event processed", "dedup_key": "k"})").outcome,
            Outcome::kTaken);
  EXPECT_EQ(judge(202, "").outcome, Outcome::kLater);
  EXPECT_EQ(judge(202, R"({"status": "throttled"})").outcome, Outcome::kLater);
  EXPECT_EQ(judge(202, R"(["status"])").outcome, Outcome::kLater);
  EXPECT_EQ(judge(200, R"({"status": "success"})").outcome, Outcome::kLater);
  EXPECT_EQ(judge(429, "").outcome, Outcome::kLater);
  EXPECT_EQ(judge(500, "").outcome, Outcome::kLater);
  EXPECT_EQ(judge(400, R"({"status": "invalid event"})").outcome, Outcome::kRefused);
  EXPECT_EQ(judge(400, R"({"status": "invalid event"})").why, R"(status 400: {"status": "invalid event"})");
}

}  // namespace
}  // namespace lockstep
