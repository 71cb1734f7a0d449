// A thousand transitions, as receivers that misbehave see them.

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
#include "base/testing/status_matchers.h"
#include "collector/alert/testing/http_receiver.h"
#include "collector/alert_memory.h"
#include "collector/alert_sinks.h"
#include "collector/incident_outbox.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/alert_sinks_fixture.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using nlohmann::json;

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
