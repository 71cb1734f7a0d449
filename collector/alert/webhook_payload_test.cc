#include "collector/alert/webhook_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;

// 2026-01-02T03:04:05.678Z
constexpr int64_t kOpened = 1'767'323'045'678'000'000;

wire::Incident SlowRank() {
  wire::Incident incident;
  incident.set_id(42);
  incident.set_job("llama");
  incident.set_key("slow/node-17/3");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(kOpened);
  wire::Verdict& verdict = *incident.mutable_verdict();
  verdict.set_scope("machine");
  verdict.set_class_("compute_slow");
  wire::Culprit& culprit = *verdict.add_culprits();
  culprit.set_host("node-17");
  culprit.set_rank(3);
  culprit.set_gpu(-1);
  culprit.set_pid(77);
  verdict.mutable_cost()->set_slowdown_fraction(0.18);
  verdict.mutable_cost()->set_seconds_per_step(0.25);
  verdict.mutable_cost()->set_steps_affected_fraction(0.95);
  verdict.add_evidence()->set_text("Rank 3 arrives last in 38 of 40 steps.");
  verdict.add_evidence()->set_text("Its own time is 1.50 times that of its peers.");
  verdict.set_advice("cordon_and_replace");
  return incident;
}

TEST(WebhookPayloadTest, FiringAlertIsWhatReceiversOfAlertmanagerParse) {
  const std::string payload =
      WebhookPayload({Kind::kOpened, SlowRank()}, {.receiver = "oncall", .external_url = "http://lockstep:7071"});
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
 "externalURL": "http://lockstep:7071",
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
   "generatorURL": "http://lockstep:7071",
   "fingerprint": "712b15e44271b2ff"
  }
 ]
})");
}

TEST(WebhookPayloadTest, ResolvedAlertHasAnEnd) {
  wire::Incident incident = SlowRank();
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(kOpened + 60'000'000'000);
  const auto payload = nlohmann::json::parse(WebhookPayload({Kind::kResolved, incident}, {}));
  EXPECT_EQ(payload["status"], "resolved");
  EXPECT_EQ(payload["alerts"][0]["status"], "resolved");
  EXPECT_EQ(payload["alerts"][0]["startsAt"], "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(payload["alerts"][0]["endsAt"], "2026-01-02T03:05:05.678Z");
  EXPECT_FALSE(payload["commonAnnotations"].contains("resolution"));
  incident.add_transitions()->set_why("the job had died with this open, and was started again");
  const auto told = nlohmann::json::parse(WebhookPayload({Kind::kResolved, incident}, {}));
  EXPECT_EQ(told["commonAnnotations"]["resolution"], "the job had died with this open, and was started again");
}

TEST(WebhookPayloadTest, IdentityStaysTheSameWhenTheClassBecomesClearerAndDiffersBetweenIncidents) {
  const auto parse = [](const wire::Incident& incident) {
    return nlohmann::json::parse(WebhookPayload({Kind::kUpdated, incident}, {}));
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
  const auto payload = nlohmann::json::parse(WebhookPayload({Kind::kOpened, incident}, {}));
  EXPECT_EQ(payload["commonLabels"]["job"], "a\"b\\\n\xef\xbf\xbd");
}

TEST(WebhookPayloadTest, WhoHasItInHandIsTold) {
  IncidentEvent event{Kind::kUpdated, SlowRank()};
  EXPECT_EQ(WebhookPayload(event, {}).find("acknowledg"), std::string::npos);
  event.incident.mutable_acknowledgement()->set_by("certificate alice");
  event.incident.mutable_acknowledgement()->set_note("drained");
  const auto json = nlohmann::json::parse(WebhookPayload(event, {}));
  EXPECT_EQ(json["commonAnnotations"]["acknowledged_by"], "certificate alice");
  EXPECT_EQ(json["commonAnnotations"]["acknowledgement_note"], "drained");
}

TEST(WebhookPayloadTest, CostOfNothingIsNotMentioned) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->clear_cost();
  EXPECT_FALSE(
      nlohmann::json::parse(WebhookPayload({Kind::kOpened, incident}, {}))["commonAnnotations"].contains("cost"));
}

}  // namespace
}  // namespace lockstep
