// What receivers hear over several lives of the collector.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
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
#include "collector/alert_sinks.h"
#include "collector/incident_outbox.h"
#include "collector/testing/alert_sinks_fixture.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using nlohmann::json;
using ::testing::ElementsAre;

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

}  // namespace
}  // namespace lockstep
