#include "collector/alert/webhook_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "collector/alert/hmac_signature.h"
#include "collector/alert/testing/sample_incident.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;

ReceiverSpec Receiver(const std::string& title = "lockstep") {
  ReceiverSpec receiver;
  receiver.title = title;
  return receiver;
}

std::string Body(const IncidentEvent& event) { return WebhookMessage(event, Receiver(), {}).body; }

TEST(WebhookPayloadTest, TheStacksOfAHangAreLinked) {
  DeliveryContext context;
  context.links.stacks_url = "http://collector/incidents/{incident}/stacks.svg";
  wire::Incident hang = SlowRank();
  hang.mutable_verdict()->set_class_("deadlock");
  const auto payload = nlohmann::ordered_json::parse(WebhookMessage({Kind::kOpened, hang}, Receiver(), context).body);
  EXPECT_EQ(payload["commonAnnotations"]["stacks_url"], "http://collector/incidents/42/stacks.svg");
}

TEST(WebhookPayloadTest, FiringAlertIsWhatReceiversOfAlertmanagerParse) {
  DeliveryContext context;
  context.links.external_url = "http://lockstep/incidents/{incident}?job={job}";
  const std::string payload = WebhookMessage({Kind::kOpened, SlowRank()}, Receiver("oncall"), context).body;
  EXPECT_EQ(nlohmann::ordered_json::parse(payload).dump(1), R"({
 "version": "4",
 "groupKey": "{}:{alertname=\"LockstepIncident\", incident_id=\"42\"}",
 "truncatedAlerts": 0,
 "status": "firing",
 "receiver": "oncall",
 "groupLabels": {
  "alertname": "LockstepIncident",
  "incident_id": "42",
  "job": "llama"
 },
 "commonLabels": {
  "alertname": "LockstepIncident",
  "incident_id": "42",
  "job": "llama",
  "severity": "warning",
  "class": "compute_slow",
  "scope": "machine"
 },
 "commonAnnotations": {
  "summary": "compute_slow on node-17 rank 3 pid 77 in job llama",
  "description": "Rank 3 arrives last in 38 of 40 steps.\nIts own time is 1.50 times that of its peers.",
  "cost": "18.0 % of the step time, 0.25 s per step, in 95 % of the steps",
  "advice": "cordon_and_replace"
 },
 "externalURL": "http://lockstep/incidents/42?job=llama",
 "alerts": [
  {
   "status": "firing",
   "labels": {
    "alertname": "LockstepIncident",
    "incident_id": "42",
    "job": "llama",
    "severity": "warning",
    "class": "compute_slow",
    "scope": "machine"
   },
   "annotations": {
    "summary": "compute_slow on node-17 rank 3 pid 77 in job llama",
    "description": "Rank 3 arrives last in 38 of 40 steps.\nIts own time is 1.50 times that of its peers.",
    "cost": "18.0 % of the step time, 0.25 s per step, in 95 % of the steps",
    "advice": "cordon_and_replace"
   },
   "startsAt": "2026-01-02T03:04:05.678Z",
   "endsAt": "0001-01-01T00:00:00Z",
   "generatorURL": "http://lockstep/incidents/42?job=llama",
   "fingerprint": "712b15e44271b2ff"
  }
 ]
})");
}

TEST(WebhookPayloadTest, ResolvedAlertHasAnEnd) {
  wire::Incident incident = SlowRank();
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(kSampleOpenedNanos + 60'000'000'000);
  const auto payload = nlohmann::json::parse(Body({Kind::kResolved, incident}));
  EXPECT_EQ(payload["status"], "resolved");
  EXPECT_EQ(payload["alerts"][0]["status"], "resolved");
  EXPECT_EQ(payload["alerts"][0]["startsAt"], "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(payload["alerts"][0]["endsAt"], "2026-01-02T03:05:05.678Z");
  EXPECT_FALSE(payload["commonAnnotations"].contains("resolution"));
  incident.add_transitions()->set_why("the job had died with this open, and was started again");
  const auto told = nlohmann::json::parse(Body({Kind::kResolved, incident}));
  EXPECT_EQ(told["commonAnnotations"]["resolution"], "the job had died with this open, and was started again");
}

TEST(WebhookPayloadTest, IdentityStaysTheSameWhenTheClassBecomesClearerAndDiffersBetweenIncidents) {
  const auto parse = [](const wire::Incident& incident) {
    return nlohmann::json::parse(Body({Kind::kUpdated, incident}));
  };
  wire::Incident incident = SlowRank();
  const auto before = parse(incident);
  incident.mutable_verdict()->set_class_("process_dead");
  incident.mutable_verdict()->mutable_culprits(0)->set_confidence(1);
  const auto after = parse(incident);
  EXPECT_EQ(before["groupKey"], after["groupKey"]);
  EXPECT_EQ(before["alerts"][0]["fingerprint"], after["alerts"][0]["fingerprint"]);
  EXPECT_EQ(after["alerts"][0]["labels"]["severity"], "critical");
  incident.set_id(43);
  EXPECT_NE(after["alerts"][0]["fingerprint"], parse(incident)["alerts"][0]["fingerprint"]);
}

TEST(WebhookPayloadTest, TextFromOutsideCannotBreakTheJson) {
  wire::Incident incident = SlowRank();
  incident.set_job("a\"b\\\n\xff");
  incident.mutable_verdict()->clear_culprits();
  const auto payload = nlohmann::json::parse(Body({Kind::kOpened, incident}));
  EXPECT_EQ(payload["commonLabels"]["job"], "a\"b\\\n\xef\xbf\xbd");
}

TEST(WebhookPayloadTest, WhoHasItInHandIsTold) {
  IncidentEvent event{Kind::kUpdated, SlowRank()};
  EXPECT_EQ(Body(event).find("acknowledg"), std::string::npos);
  event.incident.mutable_acknowledgement()->set_by("certificate alice");
  event.incident.mutable_acknowledgement()->set_note("drained");
  const auto json = nlohmann::json::parse(Body(event));
  EXPECT_EQ(json["commonAnnotations"]["acknowledged_by"], "certificate alice");
  EXPECT_EQ(json["commonAnnotations"]["acknowledgement_note"], "drained");
}

TEST(WebhookPayloadTest, TheRunbookHasASectionPerClass) {
  DeliveryContext context;
  context.links.runbook_url = "https://wiki/runbook";
  const std::string body = WebhookMessage({Kind::kOpened, SlowRank()}, Receiver(), context).body;
  EXPECT_EQ(nlohmann::json::parse(body)["commonAnnotations"]["runbook_url"], "https://wiki/runbook#compute_slow");
}

TEST(WebhookPayloadTest, ADeliveryHasANameThatStaysWhenItIsSentAgain) {
  const auto name = [](Kind kind, const wire::Incident& incident) {
    return WebhookMessage({kind, incident}, Receiver(), {}).headers.at(0);
  };
  wire::Incident incident = SlowRank();
  EXPECT_EQ(name(Kind::kOpened, incident), "X-Lockstep-Delivery: lockstep/incident-42/opened/0");
  incident.set_updated_wall_ns(17);
  EXPECT_EQ(name(Kind::kOpened, incident), "X-Lockstep-Delivery: lockstep/incident-42/opened/0") << "with newer text";
  EXPECT_EQ(name(Kind::kUpdated, incident), "X-Lockstep-Delivery: lockstep/incident-42/updated/17");
  incident.set_reopened(3);
  EXPECT_EQ(name(Kind::kResolved, incident), "X-Lockstep-Delivery: lockstep/incident-42/resolved/3");
}

TEST(WebhookPayloadTest, WhoHasASecretCanSeeThatItIsGenuine) {
  ReceiverSpec receiver = Receiver();
  EXPECT_EQ(WebhookMessage({Kind::kOpened, SlowRank()}, receiver, {}).headers.size(), 1u);
  receiver.secret = "key";
  DeliveryContext context;
  context.wall_ns = kSampleOpenedNanos;
  const AlertMessage message = WebhookMessage({Kind::kOpened, SlowRank()}, receiver, context);
  EXPECT_EQ(message.headers.at(1), "X-Lockstep-Signature: " + HmacSignature("key", kSampleOpenedNanos, message.body));
  // As `printf '1767323045.{}' | openssl dgst -sha256 -hmac key` computes it.
  EXPECT_EQ(HmacSignature("key", kSampleOpenedNanos, "{}"),
            "t=1767323045,v1=1d533de0941004dfdb6d222b1e197476ea94db2c6b6bca39a2ed148ff4b23910");
}

TEST(WebhookPayloadTest, AnyStatusOfSuccessIsAnAnswerAndWhatSomebodyCanMendIsTriedAgain) {
  const auto outcome = [](int status) {
    HttpAnswer answer;
    answer.status = status;
    return JudgeWebhook(Receiver(), answer).outcome;
  };
  using Outcome = AnswerVerdict::Outcome;
  for (const int status : {200, 201, 204, 299}) EXPECT_EQ(outcome(status), Outcome::kTaken) << status;
  for (const int status : {0, 301, 302, 307, 401, 403, 404, 407, 408, 410, 425, 429, 500, 503}) {
    EXPECT_EQ(outcome(status), Outcome::kLater) << status;
  }
  for (const int status : {400, 413, 422}) EXPECT_EQ(outcome(status), Outcome::kRefused) << status;
}

TEST(WebhookPayloadTest, ForHowManyItStandsAndThatItComesAndGoesIsTold) {
  wire::Incident incident = SlowRank();
  incident.set_folds(12);
  incident.set_flapping(true);
  const auto annotations = [](const wire::Incident& told) {
    return nlohmann::json::parse(WebhookMessage({Kind::kUpdated, told}, Receiver(), {}).body)["commonAnnotations"];
  };
  EXPECT_EQ(annotations(incident)["folded_incidents"], "12");
  EXPECT_EQ(annotations(incident)["flapping"], "true");
  const auto usual = annotations(SlowRank());
  EXPECT_FALSE(usual.contains("folded_incidents") || usual.contains("flapping"));
}

TEST(WebhookPayloadTest, CostOfNothingIsNotMentioned) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->clear_cost();
  EXPECT_FALSE(nlohmann::json::parse(Body({Kind::kOpened, incident}))["commonAnnotations"].contains("cost"));
}

}  // namespace
}  // namespace lockstep
