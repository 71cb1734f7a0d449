#include "collector/alert_sinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "collector/alert/testing/http_receiver.h"
#include "collector/alert/testing/sample_incident.h"
#include "collector/alert_memory.h"
#include "collector/incident_outbox.h"
#include "collector/store/testing/memory_store.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

AlertCourierOptions QuickPace() {
  AlertCourierOptions pace;
  pace.timeout_ns = 500 * kNanosPerMilli;
  pace.first_retry_ns = 1 * kNanosPerMilli;
  pace.longest_retry_ns = 10 * kNanosPerMilli;
  pace.longest_gap_ns = 0;
  return pace;
}

IncidentEvent Event(uint64_t id, Kind kind, const std::string& verdict_class = "compute_slow") {
  IncidentEvent event{kind, SlowRank()};
  event.incident.set_id(id);
  event.incident.mutable_verdict()->set_class_(verdict_class);
  if (kind == Kind::kResolved) event.incident.set_state(wire::Incident::STATE_RESOLVED);
  return event;
}

AlertRoutes ToOne(const ReceiverSpec& receiver) {
  AlertRoutes routes;
  routes.receivers = {receiver};
  routes.told_of_all = {receiver.name};
  return routes;
}

ReceiverSpec Webhook(const std::string& name, const HttpReceiver& receiver) {
  return {.name = name, .title = name, .urls = {receiver.url()}};
}

// "id status" of what a webhook took.
std::vector<std::string> Heard(const HttpReceiver& receiver) {
  std::vector<std::string> heard;
  for (const HttpReceiver::Request& request : receiver.requests()) {
    const json payload = json::parse(request.body);
    heard.push_back(absl::StrCat(payload["groupLabels"]["incident_id"].get<std::string>(), " ",
                                 payload["status"].get<std::string>()));
  }
  return heard;
}

class AlertSinksTest : public testing::Test {
 protected:
  std::unique_ptr<AlertSinks> MakeSinks(const AlertRoutes& routes) {
    return std::make_unique<AlertSinks>(routes, RealClock(), Random(1), MemoryIn(store_, metrics_), QuickPace());
  }

  // Critical incidents go to `critical`, all others to `other`.
  AlertRoutes BySeverity() {
    AlertRoutes routes;
    routes.receivers = {Webhook("critical", critical_), Webhook("other", other_)};
    AlertRoute& first = routes.routes.emplace_back();
    first.severities = {"critical"};
    first.receivers = {"critical"};
    routes.routes.emplace_back().receivers = {"other"};
    return routes;
  }

  MemoryStore store_;
  CollectorMetrics metrics_{"test"};
  HttpReceiver critical_;
  HttpReceiver other_;
};

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

// A receiver that is told of one incident over three lives of the collector.
class SlackOverRestartsTest : public AlertSinksTest {
 protected:
  SlackOverRestartsTest() {
    bot_ = {.name = "chat",
            .title = "chat",
            .type = ReceiverType::kSlack,
            .urls = {other_.url()},
            .token = "xoxb-0",
            .channel = "C1"};
    other_.AnswerBy([said = 0](const HttpReceiver::Request&) mutable {
      return HttpReceiver::Answer{200, "", absl::StrCat(R"({"ok": true, "ts": "17.)", ++said, R"("})")};
    });
  }

  // "channel thread" of its messages; "" = in none.
  std::vector<std::string> ToldInto(const AlertMemory& memory, const std::function<void(AlertSinks&)>& before_last) {
    constexpr Kind kKinds[] = {Kind::kOpened, Kind::kResolved, Kind::kReopened};
    for (const Kind kind : kKinds) {
      AlertSinks sinks(ToOne(bot_), RealClock(), Random(1), memory, QuickPace());
      IncidentOutbox outbox(IncidentOutboxOptions(), store_, sinks, metrics_);
      EXPECT_OK(outbox.TellLeftOver(store_.LoadIncidents().value()));
      if (kind == Kind::kReopened) before_last(sinks);
      outbox.Announce(Event(1, kind));
      outbox.Close();
      while (!store_.LoadAlerts().value().empty()) StopSignal().WaitFor(kNanosPerMilli);
    }
    std::vector<std::string> into;
    for (const HttpReceiver::Request& request : other_.requests()) {
      const json message = json::parse(request.body);
      into.push_back(absl::StrCat(message["channel"].get<std::string>(), " ", message.value("thread_ts", "")));
    }
    return into;
  }

  ReceiverSpec bot_;
};

TEST_F(SlackOverRestartsTest, AnIncidentStaysOneThread) {
  EXPECT_THAT(ToldInto(MemoryIn(store_, metrics_), [](AlertSinks&) {}), ElementsAre("C1 ", "C1 17.1", "C1 17.1"));
}

TEST_F(SlackOverRestartsTest, WithoutMemoryOfThreadsEachLifeBeginsAnotherOne) {
  AlertMemory memory = MemoryIn(store_, metrics_);
  memory.keep_told = [](const ToldAlert&) {};
  EXPECT_THAT(ToldInto(memory, [](AlertSinks&) {}), ElementsAre("C1 ", "C1 ", "C1 "));
}

TEST_F(SlackOverRestartsTest, AThreadOutlivesOtherSettingsAndNotAnotherChannel) {
  const auto change = [this](AlertSinks& sinks) {
    AlertRoutes routes = ToOne(bot_);
    routes.links.external_url = "https://lockstep.example.org/{incident}";
    sinks.SetRoutes(routes);
  };
  EXPECT_THAT(ToldInto(MemoryIn(store_, metrics_), change), ElementsAre("C1 ", "C1 17.1", "C1 17.1"));
  bot_.channel = "C2";
  EXPECT_THAT(ToldInto(MemoryIn(store_, metrics_), change),
              ElementsAre("C1 ", "C1 17.1", "C1 17.1", "C2 ", "C2 17.4", "C2 17.4"));
}

// Two lives of the collector, the second ten seconds after the first: when a webhook hears of what is news then.
class NewsAfterARestartTest : public AlertSinksTest {
 protected:
  static constexpr int64_t kDay = 86'400 * kNanosPerSecond;

  NewsAfterARestartTest() { clock_.Advance(2 * kDay); }

  void Live(Kind kind, const std::string& verdict_class, const AlertMemory& memory,
            const std::function<void()>& check) {
    AlertSinks sinks(ToOne(Webhook("other", other_)), clock_, Random(1), memory, QuickPace());
    IncidentOutbox outbox(IncidentOutboxOptions(), store_, sinks, metrics_);
    EXPECT_OK(outbox.TellLeftOver(store_.LoadIncidents().value()));
    outbox.Announce(Event(1, kind, verdict_class));
    check();
    outbox.Close();
  }

  void TellOfTheBegin(const AlertMemory& memory) {
    Live(Kind::kOpened, "compute_slow", memory, [this] { ASSERT_TRUE(other_.WaitForRequests(1)); });
    clock_.Advance(10 * kNanosPerSecond);
  }

  SimClock clock_;
};

TEST_F(NewsAfterARestartTest, WaitAMinuteFromWhatTheLifeBeforeHasTold) {
  const AlertMemory memory = MemoryIn(store_, metrics_);
  TellOfTheBegin(memory);
  Live(Kind::kUpdated, "host_slow", memory, [this] {
    StopSignal().WaitFor(300 * kNanosPerMilli);
    clock_.Advance(50 * kNanosPerSecond - 1);
    StopSignal().WaitFor(300 * kNanosPerMilli);
    EXPECT_EQ(other_.requests().size(), 1u) << "not before the minute is over";
    clock_.Advance(1);
    EXPECT_TRUE(other_.WaitForRequests(2));
  });
}

TEST_F(NewsAfterARestartTest, WithoutMemoryTheyComeAtOnce) {
  AlertMemory memory = MemoryIn(store_, metrics_);
  memory.keep_told = [](const ToldAlert&) {};
  TellOfTheBegin(memory);
  Live(Kind::kUpdated, "host_slow", memory, [this] { EXPECT_TRUE(other_.WaitForRequests(2)); });
}

TEST_F(NewsAfterARestartTest, AClockThatWasPutBackMakesThemWaitAMinuteAndNoLonger) {
  const AlertMemory memory = MemoryIn(store_, metrics_);
  TellOfTheBegin(memory);
  clock_.Advance(-kDay);
  Live(Kind::kUpdated, "host_slow", memory, [this] {
    clock_.Advance(60 * kNanosPerSecond);
    EXPECT_TRUE(other_.WaitForRequests(2));
  });
}

TEST_F(NewsAfterARestartTest, WhatIsOverLeavesNothingToRemember) {
  const AlertMemory memory = MemoryIn(store_, metrics_);
  TellOfTheBegin(memory);
  EXPECT_EQ(store_.LoadTold().value().size(), 1u);
  Live(Kind::kResolved, "compute_slow", memory, [this] { EXPECT_TRUE(other_.WaitForRequests(2)); });
  EXPECT_TRUE(store_.LoadTold().value().empty());
}

// A thousand transitions to receivers that misbehave, over collectors that are restarted.
class ThousandTransitionsTest : public testing::Test {
 protected:
  static constexpr int kIncidents = 50;
  static constexpr int kTurns = 20;  // of each incident: it begins and ends ten times
  static constexpr int kRestartEvery = 100;
  static constexpr int kLives = kIncidents * kTurns / kRestartEvery;

  // How a receiver treats one message.
  struct Manner {
    const char* name;
    HttpReceiver::Answer answer;
    bool takes;
  };

  // Most manners are bad ones. `lies`: answers of success that are not the receiver's own. `own`: more of its manners.
  // Gives how many messages it will have taken without its answer being heard.
  std::shared_ptr<const size_t> MisbehaveLike(HttpReceiver& receiver, std::vector<std::string>& taken,
                                              const std::string& success, int status, bool lies,
                                              const std::function<std::string(const json&)>& read,
                                              const std::vector<Manner>& own = {}) {
    const auto unheard = std::make_shared<size_t>(0);
    const auto chance = std::make_shared<Random>(random_.Next());
    std::vector<Manner> manners(4, {"takes", {status, "", success}, true});
    manners.push_back({"fails", {503, ""}, false});
    manners.push_back({"is busy", {429, "Retry-After: 0"}, false});
    manners.push_back({"redirects", {302, "Location: http://127.0.0.1:1/"}, false});
    manners.push_back({"takes and hangs up", {status, "", success, /*is_cut=*/true}, true});
    manners.push_back({"hangs up", {503, "", "", /*is_cut=*/true}, false});
    if (lies) manners.push_back({"lies", {status, "", "<html>It works</html>"}, false});
    manners.insert(manners.end(), own.begin(), own.end());
    receiver.AnswerBy([chance, manners, &taken, read, unheard](const HttpReceiver::Request& request) {
      const Manner& manner = manners[chance->Below(manners.size())];
      if (manner.takes && manner.answer.is_cut) ++*unheard;
      if (manner.takes) taken.push_back(read(json::parse(request.body)));
      return manner.answer;
    });
    return unheard;
  }

  // "id word" of all transitions, in order of each incident.
  std::map<std::string, std::vector<std::string>> ByIncident(const std::vector<std::string>& taken) {
    std::map<std::string, std::vector<std::string>> words;
    for (const std::string& entry : taken) {
      const std::vector<std::string> parts = absl::StrSplit(entry, ' ');
      std::vector<std::string>& own = words[parts[0]];
      // What came twice in a row has the same identity and state: nobody is called a second time.
      if (own.empty() || own.back() != parts[1]) own.push_back(parts[1]);
    }
    return words;
  }

  void Run(const AlertRoutes& routes) {
    MemoryStore store;
    CollectorMetrics metrics("test");
    std::vector<int> turns(kIncidents, 0);
    std::vector<wire::Incident> open;
    for (int done = 0; done < kIncidents * kTurns;) {
      // One life of the collector. At its end it has no time to send what waits.
      AlertCourierOptions pace = QuickPace();
      const bool is_last = done + kRestartEvery >= kIncidents * kTurns;
      pace.drain_ns = is_last ? 60 * kNanosPerSecond : 1;
      AlertSinks sinks(routes, RealClock(), Random(random_.Next()), MemoryIn(store, metrics), pace);
      IncidentOutbox outbox(IncidentOutboxOptions(), store, sinks, metrics);
      ASSERT_OK(outbox.TellLeftOver(store.LoadIncidents().value()));
      for (int i = 0; i < kRestartEvery; ++i, ++done) {
        const int incident = Unfinished(turns);
        const int turn = turns[incident]++;
        const Kind kind = turn % 2 == 1 ? Kind::kResolved : turn == 0 ? Kind::kOpened : Kind::kReopened;
        IncidentEvent event = Event(static_cast<uint64_t>(incident) + 1, kind);
        event.incident.set_reopened(static_cast<uint32_t>(turn / 2));
        event.incident.set_updated_wall_ns(RealClock().WallNanos());
        outbox.Announce(event);
      }
      outbox.Close();
      while (is_last && !store.LoadAlerts().value().empty()) StopSignal().WaitFor(kNanosPerMilli);
    }
  }

  int Unfinished(const std::vector<int>& turns) {
    int incident = static_cast<int>(random_.Below(kIncidents));
    while (turns[incident] == kTurns) incident = (incident + 1) % kIncidents;
    return incident;
  }

  void ExpectAll(const std::vector<std::string>& taken, const std::string& begins, const std::string& ends) {
    const auto words = ByIncident(taken);
    EXPECT_EQ(words.size(), static_cast<size_t>(kIncidents));
    std::vector<std::string> expected;
    for (int turn = 0; turn < kTurns; ++turn) expected.push_back(turn % 2 == 0 ? begins : ends);
    for (const auto& [incident, own] : words) EXPECT_EQ(own, expected) << "incident " << incident;
  }

  Random random_{18};
};

TEST_F(ThousandTransitionsTest, NoneIsLostAndNoneIsDoubledAsTheReceiversSeeIt) {
  HttpReceiver webhook, alertmanager, pagerduty, slack;
  std::vector<std::string> by_webhook, by_alertmanager, by_pagerduty, by_slack;
  MisbehaveLike(webhook, by_webhook, "", 200, /*lies=*/false, [](const json& payload) {
    return absl::StrCat(payload["alerts"][0]["labels"]["incident_id"].get<std::string>(), " ",
                        payload["status"].get<std::string>());
  });
  MisbehaveLike(alertmanager, by_alertmanager, "", 200, /*lies=*/true, [](const json& alerts) {
    absl::Time ends;
    EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, alerts.at(0)["endsAt"].get<std::string>(), &ends, nullptr));
    const bool over = absl::ToUnixNanos(ends) <= RealClock().WallNanos();
    return absl::StrCat(alerts[0]["labels"]["incident_id"].get<std::string>(), over ? " resolved" : " firing");
  });
  MisbehaveLike(pagerduty, by_pagerduty, R"({"status": "success"})", 202, /*lies=*/true, [](const json& event) {
    return absl::StrCat(event["dedup_key"].get<std::string>(), " ", event["event_action"].get<std::string>());
  });
  const HttpReceiver::Answer busy = {200, "", R"({"ok": false, "error": "ratelimited"})"};
  const auto unheard =
      MisbehaveLike(slack, by_slack, R"({"ok": true, "ts": "17.3"})", 200, /*lies=*/true,
                    [](const json& message) {
                      // "Incident 12 resolved: ..."
                      const std::vector<std::string> words =
                          absl::StrSplit(message["text"].get<std::string>(), absl::ByAnyChar(" :"));
                      return absl::StrCat(words.at(1), " ", words.at(2) == "resolved" ? "resolved" : "firing");
                    },
                    {{"is busy in its own words", busy, false}});
  AlertRoutes routes;
  routes.receivers = {
      Webhook("webhook", webhook),
      {.name = "am",
       .title = "am",
       .type = ReceiverType::kAlertmanager,
       .urls = {absl::StrCat("http://127.0.0.1:", alertmanager.port())}},
      {.name = "pd", .title = "pd", .type = ReceiverType::kPagerduty, .urls = {pagerduty.url()}, .key = "R0"},
      {.name = "chat",
       .title = "chat",
       .type = ReceiverType::kSlack,
       .urls = {slack.url()},
       .token = "xoxb-0",
       .channel = "C1"},
  };
  routes.told_of_all = {"webhook", "am", "pd", "chat"};
  Run(routes);
  ExpectAll(by_webhook, "firing", "resolved");
  ExpectAll(by_alertmanager, "firing", "resolved");
  std::set<std::string> deliveries;
  for (const HttpReceiver::Request& request : webhook.requests()) {
    deliveries.insert(request.headers.at("X-Lockstep-Delivery"));
  }
  EXPECT_EQ(deliveries.size(), static_cast<size_t>(kIncidents * kTurns)) << "a name per transition";
  ExpectAll(by_pagerduty, "trigger", "resolve");
  ExpectAll(by_slack, "firing", "resolved");
  // Two messages have no name in common there: one is shown twice only if its answer was lost, or a life ended
  // meanwhile.
  EXPECT_LE(by_slack.size(), kIncidents * kTurns + *unheard + kLives);
}

}  // namespace
}  // namespace lockstep
