#include "collector/alert_sinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "collector/alert/testing/http_receiver.h"
#include "collector/alert_memory.h"
#include "collector/incident_outbox.h"
#include "collector/testing/alert_sinks_fixture.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST_F(AlertSinksTest, WhoHeardOfTheBeginHearsOfTheEnd) {
  auto sinks = MakeSinks(BySeverity());
  EXPECT_THAT(sinks->NamesFor(Event(1, Kind::kOpened)), ElementsAre("other"));
  sinks->Tell(Event(1, Kind::kOpened), {.number = 1});
  EXPECT_THAT(sinks->NamesFor(Event(1, Kind::kUpdated, "gpu_fault")), UnorderedElementsAre("critical", "other"));
  sinks->Tell(Event(1, Kind::kUpdated, "gpu_fault"), {.number = 2});
  ASSERT_TRUE(critical_.WaitForRequests(1)) << "it was not told of it yet: at once";
  EXPECT_THAT(sinks->NamesFor(Event(1, Kind::kResolved)), UnorderedElementsAre("critical", "other"));
  sinks->Tell(Event(1, Kind::kResolved), {.number = 3});
  sinks.reset();
  EXPECT_THAT(Heard(critical_), ElementsAre("1 firing", "1 resolved"));
  EXPECT_THAT(Heard(other_), ElementsAre("1 firing", "1 resolved"));
}

TEST_F(AlertSinksTest, AReceiverThatIsNewHearsOfWhatIsOpen) {
  auto sinks = MakeSinks(ToOne(Webhook("other", other_)));
  sinks->Tell(Event(1, Kind::kOpened), {.number = 1});
  sinks->Tell(Event(2, Kind::kOpened), {.number = 2});
  sinks->Tell(Event(2, Kind::kResolved), {.number = 3});
  AlertRoutes both = ToOne(Webhook("other", other_));
  both.receivers.push_back(Webhook("critical", critical_));
  both.told_of_all.insert("critical");
  sinks->SetRoutes(both);
  ASSERT_TRUE(critical_.WaitForRequests(1));
  sinks.reset();
  EXPECT_THAT(Heard(critical_), ElementsAre("1 firing"));
  EXPECT_THAT(Heard(other_), ElementsAre("1 firing", "2 firing", "2 resolved")) << "nothing twice";
}

TEST_F(AlertSinksTest, WhatWasKeptFromReceiversBeforeARestartIsNotSaidAgainAfterIt) {
  auto sinks = MakeSinks(ToOne(Webhook("other", other_)));
  wire::Incident quiet = Event(2, Kind::kOpened).incident;
  quiet.set_withheld(true);
  sinks->Inherit({.incidents = {Event(1, Kind::kOpened).incident, quiet}});
  AlertRoutes both = ToOne(Webhook("other", other_));
  both.receivers.push_back(Webhook("critical", critical_));
  both.told_of_all.insert("critical");
  sinks->SetRoutes(both);
  ASSERT_TRUE(critical_.WaitForRequests(1));
  sinks.reset();
  EXPECT_THAT(Heard(critical_), ElementsAre("1 firing"));
}

TEST_F(AlertSinksTest, WhatWaitsForAReceiverThatIsCorrectedIsTold) {
  ReceiverSpec wrong = Webhook("other", other_);
  wrong.urls = {"http://127.0.0.1:1/"};
  auto sinks = MakeSinks(ToOne(wrong));
  sinks->Tell(Event(1, Kind::kOpened), {.number = 1});
  sinks->SetRoutes(ToOne(Webhook("other", other_)));
  EXPECT_TRUE(other_.WaitForRequests(1));
  const auto strangers =
      sinks->Inherit({.left = {{"stranger", Event(2, Kind::kOpened), 2}, {"other", Event(2, Kind::kOpened), 3}}});
  ASSERT_EQ(strangers.size(), 1u);
  EXPECT_EQ(strangers[0].number, 2u);
  sinks.reset();
  EXPECT_THAT(Heard(other_), ElementsAre("1 firing", "2 firing"));
}

TEST_F(AlertSinksTest, AReceiverThatIsAwayOverARestartIsToldOnceItIsBack) {
  SimClock clock;
  clock.Advance(86'400 * kNanosPerSecond);
  const auto event = [&clock](uint64_t id, Kind kind) {
    IncidentEvent made = Event(id, kind);
    made.incident.set_updated_wall_ns(clock.WallNanos());
    return made;
  };
  // One life of the collector, at whose end the receiver is still away, or has taken what there was.
  const auto live = [&](const std::vector<IncidentEvent>& events, bool is_last) {
    AlertCourierOptions pace = QuickPace();
    pace.drain_ns = is_last ? 60 * kNanosPerSecond : 1;
    AlertSinks sinks(ToOne(Webhook("other", other_)), clock, Random(1), MemoryIn(store_, metrics_), pace);
    IncidentOutbox outbox(IncidentOutboxOptions(), store_, sinks, metrics_);
    EXPECT_OK(outbox.TellLeftOver(store_.LoadIncidents().value()));
    for (const IncidentEvent& one : events) outbox.Announce(one);
    outbox.Close();
    while (is_last && !store_.LoadAlerts().value().empty()) StopSignal().WaitFor(kNanosPerMilli);
    clock.Advance(2 * 3'600 * kNanosPerSecond);
  };
  live({event(1, Kind::kOpened)}, /*is_last=*/true);
  other_.AnswerBy([](const HttpReceiver::Request&) -> HttpReceiver::Answer { return {403}; });
  live({event(2, Kind::kOpened), event(3, Kind::kOpened)}, /*is_last=*/false);
  live({event(1, Kind::kResolved), event(3, Kind::kResolved)}, /*is_last=*/false);
  std::vector<std::string> taken;
  other_.AnswerBy([&taken](const HttpReceiver::Request& request) -> HttpReceiver::Answer {
    const json payload = json::parse(request.body);
    taken.push_back(absl::StrCat(payload["groupLabels"]["incident_id"].get<std::string>(), " ",
                                 payload["status"].get<std::string>()));
    return {200};
  });
  live({}, /*is_last=*/true);
  EXPECT_THAT(taken, UnorderedElementsAre("2 firing", "3 resolved", "1 resolved"));
}

TEST_F(AlertSinksTest, ManyReceiversThatStallHoldUpAReloadAndTheEndNoLongerThanOne) {
  constexpr size_t kReceivers = 15;
  constexpr int64_t kDrain = kNanosPerSecond;
  AlertCourierOptions pace = QuickPace();
  pace.timeout_ns = 600 * kNanosPerSecond;
  pace.drain_ns = kDrain;
  other_.Hold(true);
  AlertRoutes routes;
  for (size_t i = 0; i < kReceivers; ++i) {
    const std::string name = absl::StrCat("stalled", i);
    routes.receivers.push_back(Webhook(name, other_));
    routes.told_of_all.insert(name);
  }
  auto sinks = std::make_unique<AlertSinks>(routes, RealClock(), Random(1), MemoryIn(store_, metrics_), pace);
  const auto takes_ns = [](const std::function<void()>& what) {
    const int64_t start_ns = RealClock().MonotonicNanos();
    what();
    return RealClock().MonotonicNanos() - start_ns;
  };
  sinks->Tell(Event(1, Kind::kOpened), {.number = 1});
  ASSERT_TRUE(other_.WaitForRequests(1));
  routes.links.fleet = "another";
  EXPECT_LT(takes_ns([&] { sinks->SetRoutes(routes); }), 5 * kDrain) << "each of them is exchanged";
  EXPECT_LT(takes_ns([&] { sinks.reset(); }), 5 * kDrain);
}

TEST_F(AlertSinksTest, MetricsAreByReceiverAndNameNoUrl) {
  AlertRoutes routes = BySeverity();
  ReceiverSpec plain = Webhook(other_.url(), other_);
  routes.receivers.push_back(plain);
  routes.told_of_all = {plain.name};
  auto sinks = MakeSinks(routes);
  critical_.AnswerNext({{400, ""}});
  sinks->Tell(Event(7, Kind::kOpened, "gpu_fault"), {.number = 1});
  CollectorMetrics metrics("test");
  const auto counter = [&](const std::string& receiver, const std::string& outcome) {
    for (const prometheus::MetricFamily& family : metrics.registry()->Collect()) {
      if (family.name != "lockstep_collector_alerts_total") continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        std::map<std::string, std::string> labels;
        for (const auto& label : metric.label) labels[label.name] = label.value;
        if (labels["receiver"] == receiver && labels["outcome"] == outcome) return metric.counter.value;
      }
    }
    return -1.0;
  };
  while (counter("critical", "failed") < 1 || counter("webhook_url", "sent") < 1) sinks->ExportTo(metrics);
  EXPECT_EQ(counter("other", "sent"), 0);
  EXPECT_EQ(counter(other_.url(), "sent"), -1);
  std::map<std::string, std::string> labels;
  for (const prometheus::MetricFamily& family : metrics.registry()->Collect()) {
    if (family.name != "lockstep_incident_open") continue;
    ASSERT_EQ(family.metric.size(), 1u);
    for (const auto& label : family.metric[0].label) labels[label.name] = label.value;
  }
  EXPECT_EQ(labels["incident"], "7");
  EXPECT_EQ(labels["training_job"], "llama");
  EXPECT_EQ(labels["host"], "node-17");
  EXPECT_EQ(labels["class"], "gpu_fault");
  EXPECT_EQ(labels["severity"], "critical");
}

}  // namespace
}  // namespace lockstep
