#include "collector/alert/alertmanager_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "collector/alert/testing/sample_incident.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using Outcome = AnswerVerdict::Outcome;
using nlohmann::ordered_json;

DeliveryContext Context(const wire::Incident* before = nullptr) {
  DeliveryContext context;
  context.wall_ns = kSampleOpenedNanos + 60 * kNanosPerSecond;
  context.links = {.fleet = "prod-a", .external_url = "http://lockstep/{incident}", .runbook_url = "http://wiki/r"};
  context.before = before;
  return context;
}

ordered_json Alerts(const IncidentEvent& event, const DeliveryContext& context = Context()) {
  return ordered_json::parse(AlertmanagerMessage(event, ReceiverSpec(), context).body);
}

TEST(AlertmanagerPayloadTest, ValuesAreInAnnotationsAndAFiringAlertEndsByItself) {
  EXPECT_EQ(Alerts({Kind::kOpened, SlowRank()}).dump(1), R"([
 {
  "labels": {
   "alertname": "LockstepIncident",
   "fleet": "prod-a",
   "incident_id": "42",
   "job": "llama",
   "host": "node-17",
   "class": "compute_slow",
   "severity": "warning",
   "scope": "machine"
  },
  "annotations": {
   "summary": "compute_slow on node-17 rank 3 pid 77 in job llama",
   "description": "Rank 3 arrives last in 38 of 40 steps.\nIts own time is 1.50 times that of its peers.",
   "cost": "18.0 % of the step time, 0.25 s per step, in 95 % of the steps",
   "advice": "cordon_and_replace",
   "runbook_url": "http://wiki/r#compute_slow"
  },
  "startsAt": "2026-01-02T03:04:05.678Z",
  "endsAt": "2026-01-02T03:09:05.678Z",
  "generatorURL": "http://lockstep/42"
 }
])");
}

TEST(AlertmanagerPayloadTest, TheStacksOfAHangAreLinked) {
  DeliveryContext context = Context();
  context.links.stacks_url = "http://collector/incidents/{incident}/stacks.svg";
  wire::Incident hang = SlowRank();
  hang.mutable_verdict()->set_class_("deadlock");
  EXPECT_EQ(Alerts({Kind::kOpened, hang}, context)[0]["annotations"]["stacks_url"],
            "http://collector/incidents/42/stacks.svg");
}

TEST(AlertmanagerPayloadTest, HowOftenItCameBackAndWhatItStandsForAreAnnotations) {
  wire::Incident incident = SlowRank();
  incident.set_flapping(true);
  incident.set_reopened(4);
  incident.set_folds(7);
  const ordered_json alert = Alerts({Kind::kReopened, incident})[0];
  EXPECT_EQ(alert["annotations"]["flapping"], "true");
  EXPECT_EQ(alert["annotations"]["reopened"], "4");
  EXPECT_EQ(alert["annotations"]["folded_incidents"], "7");
  EXPECT_EQ(alert["labels"], Alerts({Kind::kOpened, SlowRank()})[0]["labels"]);
}

TEST(AlertmanagerPayloadTest, NewerNumbersAreTheSameAlert) {
  wire::Incident incident = SlowRank();
  const ordered_json before = Alerts({Kind::kOpened, incident});
  incident.mutable_verdict()->mutable_cost()->set_slowdown_fraction(0.3);
  incident.mutable_verdict()->mutable_culprits(0)->set_rank(4);
  incident.mutable_acknowledgement()->set_by("alice");
  const wire::Incident told = SlowRank();
  const ordered_json after = Alerts({Kind::kUpdated, incident}, Context(&told));
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0]["labels"], before[0]["labels"]);
  EXPECT_NE(after[0]["annotations"], before[0]["annotations"]);
  EXPECT_EQ(after[0]["annotations"]["acknowledged_by"], "alice");
}

TEST(AlertmanagerPayloadTest, ALabelThatChangesEndsTheAlertOfBefore) {
  const wire::Incident told = SlowRank();
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->set_class_("process_dead");
  const ordered_json alerts = Alerts({Kind::kUpdated, incident}, Context(&told));
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0]["labels"]["severity"], "warning");
  EXPECT_EQ(alerts[0]["endsAt"], "2026-01-02T03:05:05.678Z") << "now";
  EXPECT_EQ(alerts[1]["labels"]["severity"], "critical");
  EXPECT_EQ(alerts[1]["endsAt"], "2026-01-02T03:09:05.678Z");
}

TEST(AlertmanagerPayloadTest, AnEndIsNowAndTellsWhy) {
  wire::Incident incident = SlowRank();
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.add_transitions()->set_why("the job is over");
  const ordered_json alerts = Alerts({Kind::kResolved, incident});
  EXPECT_EQ(alerts[0]["endsAt"], "2026-01-02T03:05:05.678Z");
  EXPECT_EQ(alerts[0]["annotations"]["resolution"], "the job is over");
}

TEST(AlertmanagerPayloadTest, AClockThatWasPutBackEndsNothingBeforeItBegan) {
  DeliveryContext context = Context();
  context.wall_ns = kSampleOpenedNanos - 3600 * kNanosPerSecond;
  const ordered_json alerts = Alerts({Kind::kResolved, SlowRank()}, context);
  EXPECT_EQ(alerts[0]["startsAt"], "2026-01-02T02:04:05.678Z");
  EXPECT_EQ(alerts[0]["endsAt"], "2026-01-02T02:04:05.678Z") << "an end in the future would be none";
}

TEST(AlertmanagerPayloadTest, WhatIsNotKnownIsNoLabel) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->clear_culprits();
  DeliveryContext context = Context();
  context.links.external_url.clear();
  const ordered_json alerts = Alerts({Kind::kOpened, incident}, context);
  EXPECT_FALSE(alerts[0]["labels"].contains("host"));
  EXPECT_FALSE(alerts[0].contains("generatorURL"));
}

TEST(AlertmanagerPayloadTest, APageInItsPlaceIsNoAnswer) {
  const auto judge = [](int status, const char* body) {
    HttpAnswer answer;
    answer.status = status;
    answer.body = body;
    return JudgeAlertmanager(ReceiverSpec(), answer).outcome;
  };
  EXPECT_EQ(judge(200, ""), Outcome::kTaken);
  EXPECT_EQ(judge(200, "{}\n"), Outcome::kTaken);
  EXPECT_EQ(judge(200, "<html>Please log in</html>"), Outcome::kLater);
  EXPECT_EQ(judge(400, "{\"code\":601}"), Outcome::kRefused);
  EXPECT_EQ(judge(503, ""), Outcome::kLater);
}

}  // namespace
}  // namespace lockstep
