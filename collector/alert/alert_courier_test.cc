#include "collector/alert/alert_courier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "collector/alert/testing/http_receiver.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

IncidentEvent Event(uint64_t id, Kind kind) {
  IncidentEvent event{kind, {}};
  event.incident.set_id(id);
  event.incident.set_job("job");
  return event;
}

class AlertCourierTest : public ::testing::Test {
 protected:
  AlertCourierTest() {
    options_.first_retry_ns = 1 * kNanosPerMilli;
    options_.longest_retry_ns = 20 * kNanosPerMilli;
    options_.drain_ns = 10 * kNanosPerSecond;
  }

  std::unique_ptr<AlertCourier> NewCourier(const std::string& url) {
    options_.receiver.urls = {url};
    options_.url = url;
    return std::make_unique<AlertCourier>(
        options_, clock_, Random(1), [this](const std::vector<uint64_t>& numbers) { NoteDone(numbers); },
        [this](uint64_t incident, const std::string& thread, int64_t wall_ns) { NoteTold(incident, thread, wall_ns); });
  }

  // Destroys the courier, which sends what waits, and tells what the receiver has seen: "id status".
  std::vector<std::string> Received(std::unique_ptr<AlertCourier> courier, const HttpReceiver& receiver) {
    courier.reset();
    std::vector<std::string> received;
    for (const HttpReceiver::Request& request : receiver.requests()) {
      const auto payload = nlohmann::json::parse(request.body);
      received.push_back(payload["groupLabels"]["incident_id"].get<std::string>() + " " +
                         payload["status"].get<std::string>());
    }
    return received;
  }

  // Waits until `attempts` were in vain, one after the other, and lets the pause pass after each.
  void LetItFail(const AlertCourier& courier, uint64_t attempts) {
    const uint64_t before = courier.stats().retried;
    for (uint64_t failed = 1; failed <= attempts; ++failed) {
      while (courier.stats().retried < before + failed) std::this_thread::yield();
      clock_.Advance(options_.longest_retry_ns);
    }
  }

  void NoteDone(const std::vector<uint64_t>& numbers) {
    MutexLock lock(mutex_);
    done_.insert(done_.end(), numbers.begin(), numbers.end());
  }
  // Of the events that history may forget.
  std::vector<uint64_t> done() {
    MutexLock lock(mutex_);
    return done_;
  }

  void NoteTold(uint64_t incident, const std::string& thread, int64_t wall_ns) {
    MutexLock lock(mutex_);
    told_.push_back(absl::StrCat(incident, " ", thread, " ", wall_ns == 0 ? "over" : "open"));
  }
  // "incident thread state" of what history has to keep.
  std::vector<std::string> told() {
    MutexLock lock(mutex_);
    return told_;
  }

  SimClock clock_;
  AlertCourierOptions options_;
  uint64_t number_ = 0;

 private:
  Mutex mutex_;
  std::vector<uint64_t> done_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(AlertCourierTest, PostsJsonOncePerEvent) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  courier->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "1 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 2));
  EXPECT_EQ(receiver.requests()[0].method, "POST");
  EXPECT_EQ(receiver.requests()[0].headers.at("Content-Type"), "application/json");
}

TEST_F(AlertCourierTest, AFailingReceiverIsTriedAgainUntilItTakesTheEvent) {
  HttpReceiver receiver;
  receiver.AnswerNext({{500, ""}, {503, ""}, {408, ""}, {429, "Retry-After: 0"}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  LetItFail(*courier, 4);
  ASSERT_TRUE(receiver.WaitForRequests(5));
  courier->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(6));
  const AlertCourierStats stats = courier->stats();
  EXPECT_EQ(stats.retried, 4u);
  EXPECT_GE(stats.sent, 1u);
  EXPECT_EQ(stats.failed, 0u);
  EXPECT_EQ(Received(std::move(courier), receiver).back(), "2 firing");
}

TEST_F(AlertCourierTest, WhatTheReceiverCannotTakeHoldsUpNoOtherIncident) {
  HttpReceiver receiver;
  receiver.AnswerBy([](const HttpReceiver::Request& request) -> HttpReceiver::Answer {
    const auto payload = nlohmann::json::parse(request.body);
    return {payload["groupLabels"]["incident_id"] == "1" ? 500 : 200};
  });
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  courier->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  for (uint64_t id = 2; id <= 5; ++id) courier->Announce(Event(id, Kind::kOpened), {.number = ++number_});
  LetItFail(*courier, 3);
  ASSERT_TRUE(receiver.WaitForRequests(8)) << "the fourth attempt of the one";
  while (courier->stats().retried < 4) std::this_thread::yield();
  EXPECT_EQ(courier->stats().sent, 4u);
  EXPECT_EQ(courier->stats().failed, 0u);
  EXPECT_THAT(done(), ElementsAre(3, 4, 5, 6));
  receiver.AnswerBy([](const HttpReceiver::Request&) -> HttpReceiver::Answer { return {200}; });
  clock_.Advance(options_.longest_retry_ns);
  while (courier->stats().sent < 6) std::this_thread::yield();
  const std::vector<std::string> received = Received(std::move(courier), receiver);
  EXPECT_THAT(std::vector(received.end() - 2, received.end()), ElementsAre("1 firing", "1 resolved"))
      << "the order of one incident is kept";
  EXPECT_EQ(received.size(), 10u);
}

TEST_F(AlertCourierTest, AReceiverThatTakesNothingIsLeftAlone) {
  constexpr uint64_t kIncidents = 100, kPauses = 10;
  HttpReceiver receiver;
  receiver.AnswerBy([](const HttpReceiver::Request&) -> HttpReceiver::Answer { return {503}; });
  auto courier = NewCourier(receiver.url());
  for (uint64_t id = 1; id <= kIncidents; ++id) courier->Announce(Event(id, Kind::kOpened), {.number = ++number_});
  while (courier->stats().retried < 2) std::this_thread::yield();
  for (uint64_t pause = 1; pause <= kPauses; ++pause) {
    clock_.Advance(options_.longest_retry_ns);
    while (courier->stats().retried < 2 + pause) std::this_thread::yield();
  }
  receiver.AnswerBy([](const HttpReceiver::Request&) -> HttpReceiver::Answer { return {200}; });
  clock_.Advance(options_.longest_retry_ns);
  while (courier->stats().sent < kIncidents) std::this_thread::yield();
  EXPECT_EQ(courier->stats().retried, 2 + kPauses) << "two tell that it is the receiver, and then one attempt a pause";
  EXPECT_EQ(receiver.requests().size(), 2 + kPauses + kIncidents);
}

TEST_F(AlertCourierTest, ARefusalIsFinalAndTheNextEventGoesOn) {
  HttpReceiver receiver;
  receiver.AnswerNext({{400, ""}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  courier->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  EXPECT_EQ(courier->stats().failed, 1u);
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "2 firing"));
  EXPECT_THAT(done(), ElementsAre(1, 2));
}

TEST_F(AlertCourierTest, AReceiverThatIsDownGetsTheEventWhenItIsUp) {
  auto receiver = std::make_unique<HttpReceiver>();
  const int port = receiver->port();
  const std::string url = receiver->url();
  receiver.reset();
  auto courier = NewCourier(url);
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().retried == 0) std::this_thread::yield();
  receiver = std::make_unique<HttpReceiver>(port);
  clock_.Advance(options_.longest_retry_ns);
  ASSERT_TRUE(receiver->WaitForRequests(1));
  EXPECT_THAT(Received(std::move(courier), *receiver), ElementsAre("1 firing"));
}

TEST_F(AlertCourierTest, AnEventThatIsWrittenWhileItWaitsIsForgottenOnceItIsTaken) {
  HttpReceiver receiver;
  receiver.AnswerNext({{503, "Retry-After: 1"}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.ticket = 7});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  EXPECT_TRUE(courier->NoteWritten(7, 42));
  EXPECT_FALSE(courier->NoteWritten(8, 43)) << "never heard of";
  while (courier->stats().retried == 0) std::this_thread::yield();
  clock_.Advance(kNanosPerSecond);
  ASSERT_TRUE(receiver.WaitForRequests(2));
  courier.reset();
  EXPECT_THAT(done(), ElementsAre(42));
}

TEST_F(AlertCourierTest, RetryAfterIsHonoured) {
  HttpReceiver receiver;
  receiver.AnswerNext({{429, "Retry-After: 1"}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().retried == 0) std::this_thread::yield();
  clock_.Advance(kNanosPerSecond - 1);
  courier->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  while (courier->stats().sent == 0) std::this_thread::yield();
  clock_.Advance(1);
  ASSERT_TRUE(receiver.WaitForRequests(3));
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "2 firing", "1 firing"));
}

TEST_F(AlertCourierTest, ASlowReceiverBlocksNobodyAndGetsOnlyTheNewest) {
  options_.max_waiting = 3;
  HttpReceiver receiver;
  receiver.Hold(true);
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  for (int i = 0; i < 1'000; ++i) courier->Announce(Event(1, Kind::kUpdated), {.number = ++number_});
  EXPECT_EQ(courier->stats().waiting, 2u) << "the one being sent and the newest update";
  for (uint64_t id = 2; id <= 10; ++id) courier->Announce(Event(id, Kind::kOpened), {.number = ++number_});
  EXPECT_EQ(courier->stats().waiting, 3u);
  EXPECT_EQ(courier->stats().dropped, 8u) << "the update made room for one opening";
  receiver.Hold(false);
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "2 firing", "3 firing"));
  std::vector<uint64_t> all(number_);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_THAT(done(), UnorderedElementsAreArray(all)) << "sent, folded into what was sent, or dropped";
}

// Statuses that pass, and those that somebody has to mend.
class AReceiverThatIsAwayForHoursTest : public AlertCourierTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr int64_t kHour = 3'600 * kNanosPerSecond;

  // Until then it takes nothing, and then remembers what it takes.
  void IsAwayUntil(int64_t monotonic_ns) {
    receiver_.AnswerBy([this, monotonic_ns](const HttpReceiver::Request& request) -> HttpReceiver::Answer {
      if (clock_.MonotonicNanos() < monotonic_ns) return {GetParam()};
      const auto payload = nlohmann::json::parse(request.body);
      taken_.push_back(payload["groupLabels"]["incident_id"].get<std::string>() + " " +
                       payload["status"].get<std::string>());
      return {200};
    });
  }

  // Lets time pass, a pause after each attempt, until so many were in vain, or taken.
  void LetPass(const AlertCourier& courier, uint64_t AlertCourierStats::*attempts, uint64_t count) {
    while (courier.stats().*attempts < count) {
      StopSignal().WaitFor(kNanosPerMilli);
      clock_.Advance(options_.longest_retry_ns);
    }
  }

  std::vector<std::string> taken_;  // by then, as Received
  HttpReceiver receiver_;
};

INSTANTIATE_TEST_SUITE_P(Statuses, AReceiverThatIsAwayForHoursTest, testing::Values(401, 404, 503));

TEST_P(AReceiverThatIsAwayForHoursTest, IsToldWhatIsOpenAndTheEndOfWhatItKnows) {
  auto courier = NewCourier(receiver_.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = 1});
  while (courier->stats().sent == 0) std::this_thread::yield();
  IsAwayUntil(clock_.MonotonicNanos() + 3 * kHour);
  courier->Announce(Event(1, Kind::kResolved), {.number = 2});
  courier->Announce(Event(2, Kind::kOpened), {.number = 3});
  LetPass(*courier, &AlertCourierStats::retried, 3);
  clock_.Advance(2 * kHour);
  LetPass(*courier, &AlertCourierStats::retried, courier->stats().retried + 3);
  EXPECT_THAT(done(), ElementsAre(1)) << "the others stay on disk";
  clock_.Advance(kHour);
  LetPass(*courier, &AlertCourierStats::sent, 3);
  EXPECT_EQ(courier->stats().failed, 0u);
  courier.reset();
  EXPECT_THAT(taken_, UnorderedElementsAre("1 resolved", "2 firing"));
  EXPECT_THAT(done(), UnorderedElementsAre(1, 2, 3));
}

TEST_P(AReceiverThatIsAwayForHoursTest, IsNotCalledForWhatIsOver) {
  IsAwayUntil(clock_.MonotonicNanos() + 3 * kHour);
  auto courier = NewCourier(receiver_.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = 1});
  courier->Announce(Event(1, Kind::kResolved), {.number = 2});
  LetPass(*courier, &AlertCourierStats::retried, 1);
  clock_.Advance(2 * kHour);
  LetPass(*courier, &AlertCourierStats::retried, courier->stats().retried + 2);
  clock_.Advance(kHour);
  LetPass(*courier, &AlertCourierStats::sent, 1);
  EXPECT_EQ(courier->stats().failed, 0u);
  courier.reset();
  EXPECT_THAT(taken_, ElementsAre("1 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 2));
}

TEST_F(AlertCourierTest, WhatAnEarlierLifeCouldNotTellIsAsOldAsItIs) {
  constexpr int64_t kHour = 3'600 * kNanosPerSecond;
  HttpReceiver receiver;
  clock_.Advance(5 * kHour);
  const auto at = [this](uint64_t id, Kind kind, int64_t ago_ns) {
    IncidentEvent event = Event(id, kind);
    event.incident.set_updated_wall_ns(clock_.WallNanos() - ago_ns);
    return event;
  };
  auto courier = NewCourier(receiver.url());
  courier->Inherit({.left = {{at(1, Kind::kOpened, 3 * kHour), 1},
                             {at(2, Kind::kOpened, 2 * kHour), 2},
                             {at(1, Kind::kResolved, kHour), 3},
                             {at(3, Kind::kOpened, kHour / 2), 4},
                             {at(3, Kind::kResolved, kHour / 3), 5}}});
  ASSERT_TRUE(receiver.WaitForRequests(4));
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 resolved", "2 firing", "3 firing", "3 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 3, 2, 4, 5));
}

TEST_F(AlertCourierTest, WhatWasGivenUpIsNotToldAndTheNextOfItsIncidentIs) {
  options_.receiver.type = ReceiverType::kPagerduty;
  const HttpReceiver::Answer taken = {202, "", R"({"status": "success"})"};
  HttpReceiver receiver;
  receiver.AnswerNext({{400, ""}, taken, taken});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = 1});
  while (courier->stats().failed == 0) std::this_thread::yield();
  courier->Announce(Event(1, Kind::kUpdated), {.number = 2});
  EXPECT_EQ(receiver.requests().size(), 1u) << "a receiver that refuses is asked no oftener than one that takes";
  clock_.Advance(60 * kNanosPerSecond);
  while (courier->stats().sent < 1) std::this_thread::yield();
  courier->Announce(Event(1, Kind::kResolved), {.number = 3});
  while (courier->stats().sent < 2) std::this_thread::yield();
  std::vector<std::string> actions;
  for (const HttpReceiver::Request& request : receiver.requests()) {
    actions.push_back(nlohmann::json::parse(request.body)["event_action"].get<std::string>());
  }
  EXPECT_THAT(actions, ElementsAre("trigger", "trigger", "resolve"));
  EXPECT_THAT(told(), ElementsAre("1  open", "1  over"));
}

TEST_F(AlertCourierTest, StoppingDoesNotWaitForAReceiverThatHangs) {
  options_.drain_ns = 1;
  HttpReceiver receiver;
  receiver.Hold(true);
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  courier->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  const int64_t start = RealClock().MonotonicNanos();
  courier.reset();
  EXPECT_LT(RealClock().MonotonicNanos() - start, 5 * kNanosPerSecond);
  EXPECT_THAT(done(), IsEmpty()) << "what was not sent is for the next life to send";
}

TEST_F(AlertCourierTest, WhoRedirectsOrHangsUpIsTriedAgain) {
  HttpReceiver receiver;
  receiver.AnswerNext({{302, "Location: http://127.0.0.1:1/"}, {200, "", "cut", /*is_cut=*/true}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  LetItFail(*courier, 2);
  while (courier->stats().sent == 0) std::this_thread::yield();
  EXPECT_EQ(courier->stats().retried, 2u);
  EXPECT_EQ(courier->stats().failed, 0u);
}

TEST_F(AlertCourierTest, WhoStallsIsTriedAgain) {
  options_.timeout_ns = 200 * kNanosPerMilli;
  HttpReceiver receiver;
  receiver.Hold(true);
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().retried == 0) std::this_thread::yield();
  EXPECT_EQ(courier->stats().sent, 0u);
  receiver.Hold(false);
  clock_.Advance(options_.longest_retry_ns);
  while (courier->stats().sent == 0) std::this_thread::yield();
  EXPECT_EQ(courier->stats().failed, 0u);
}

TEST_F(AlertCourierTest, AnUpdateIsHeldBackForAMinuteAndAnEndIsNot) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  while (courier->stats().sent == 0) std::this_thread::yield();
  courier->Announce(Event(1, Kind::kUpdated), {.number = ++number_});
  EXPECT_EQ(courier->stats().waiting, 0u) << "it may not go yet";
  clock_.Advance(60 * kNanosPerSecond);
  ASSERT_TRUE(receiver.WaitForRequests(2));
  while (courier->stats().sent == 1) std::this_thread::yield();
  courier->Announce(Event(1, Kind::kUpdated), {.number = ++number_});
  courier->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "1 firing", "1 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 2, 3, 4));
}

TEST_F(AlertCourierTest, WhatIsHeldBackAtTheEndIsForTheNextLife) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().sent == 0) std::this_thread::yield();
  courier->Announce(Event(1, Kind::kUpdated), {.number = ++number_});
  auto left = courier->Stop();
  EXPECT_THAT(done(), ElementsAre(1));
  ASSERT_EQ(left.size(), 1u);
  auto next = NewCourier(receiver.url());
  next->Inherit({.waiting = std::move(left)});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  next.reset();
  EXPECT_THAT(done(), ElementsAre(1, 2));
}

TEST_F(AlertCourierTest, AWebhookIsNotToldWhoHasItInHandAndPagerdutyIs) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kAcknowledged), {.number = ++number_});
  EXPECT_THAT(done(), ElementsAre(1));
  EXPECT_THAT(Received(std::move(courier), receiver), IsEmpty());
  options_.receiver.type = ReceiverType::kPagerduty;
  receiver.AnswerNext({{202, "", R"({"status": "success"})"}});
  courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kAcknowledged), {.number = ++number_});
  courier.reset();
  EXPECT_EQ(receiver.requests().size(), 1u);
}

TEST_F(AlertCourierTest, AlertmanagerIsToldAgainWhatFiresUntilItIsOver) {
  options_.receiver.type = ReceiverType::kAlertmanager;
  HttpReceiver receiver;
  auto courier = NewCourier(absl::StrCat("http://127.0.0.1:", receiver.port()));
  courier->Inherit({.open = {Event(2, Kind::kOpened).incident}});
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  EXPECT_EQ(receiver.requests()[0].path, "/api/v2/alerts");
  while (courier->stats().sent < 2) std::this_thread::yield();
  clock_.Advance(60 * kNanosPerSecond);
  ASSERT_TRUE(receiver.WaitForRequests(4));
  while (courier->stats().sent < 4) std::this_thread::yield();
  courier->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  courier->Announce(Event(2, Kind::kResolved), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(6));
  while (courier->stats().sent < 6) std::this_thread::yield();
  clock_.Advance(600 * kNanosPerSecond);
  courier->Announce(Event(3, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(7));
  EXPECT_NE(receiver.requests().back().body.find(R"("incident_id":"3")"), std::string::npos);
}

TEST_F(AlertCourierTest, SlackGetsAThreadPerIncidentAndAMessagePerSecond) {
  options_.receiver = {.type = ReceiverType::kSlack, .token = "xoxb-0", .channel = "C1"};
  HttpReceiver receiver;
  const std::string taken = R"({"ok": true, "ts": "17.3"})";
  receiver.AnswerNext(
      {{200, "", R"({"ok": false, "error": "internal_error"})"}, {200, "", "<html>"}, {200, "", taken}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  for (uint64_t tried = 1; tried <= 3; ++tried) {
    ASSERT_TRUE(receiver.WaitForRequests(tried));
    while (courier->stats().retried + courier->stats().sent < tried) std::this_thread::yield();
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_EQ(courier->stats().sent, 1u);
  receiver.AnswerNext({{200, "", R"({"ok": true, "ts": "17.4"})"}});
  courier->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(4));
  EXPECT_EQ(receiver.requests()[3].headers.at("Authorization"), "Bearer xoxb-0");
  EXPECT_EQ(nlohmann::json::parse(receiver.requests()[3].body)["thread_ts"], "17.3");
  while (courier->stats().sent < 2) std::this_thread::yield();
  EXPECT_THAT(told(), ElementsAre("1 17.3 open", "1 17.3 over")) << "where the first message is, not an answer to it";
  courier->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  clock_.Advance(kNanosPerSecond - 1);
  EXPECT_EQ(courier->stats().sent, 2u) << "not before a second has passed";
  EXPECT_EQ(receiver.requests().size(), 4u);
  clock_.Advance(1);
  receiver.AnswerNext({{200, "", taken}});
  ASSERT_TRUE(receiver.WaitForRequests(5));
}

// What fires is told again at once when a life begins: not before its end of last time, which it would seem to follow.
TEST_F(AlertCourierTest, WhatIsSaidAgainPassesNothingThatAnEarlierLifeLeft) {
  options_.receiver.type = ReceiverType::kAlertmanager;
  HttpReceiver receiver;
  auto courier = NewCourier(absl::StrCat("http://127.0.0.1:", receiver.port()));
  courier->Inherit({.open = {Event(1, Kind::kReopened).incident},
                    .left = {{Event(1, Kind::kResolved), 1}, {Event(1, Kind::kReopened), 2}}});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  courier.reset();
  std::vector<bool> fires;
  for (const HttpReceiver::Request& request : receiver.requests()) {
    absl::Time ends;
    const std::string text = nlohmann::json::parse(request.body).at(0)["endsAt"].get<std::string>();
    ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &ends, nullptr));
    fires.push_back(absl::ToUnixNanos(ends) > clock_.WallNanos());
  }
  EXPECT_THAT(fires, ElementsAre(false, true));
  EXPECT_THAT(done(), ElementsAre(1, 2));
}

TEST_F(AlertCourierTest, AThreadThatIsGoneBeginsAgain) {
  options_.receiver = {.type = ReceiverType::kSlack, .token = "xoxb-0", .channel = "C1"};
  HttpReceiver receiver;
  receiver.AnswerNext({{200, "", R"({"ok": false, "error": "cannot_reply_to_message"})"},
                       {200, "", R"({"ok": true, "ts": "18.1"})"},
                       {200, "", R"({"ok": true, "ts": "18.2"})"}});
  auto courier = NewCourier(receiver.url());
  courier->Inherit({.last = {{1, "17.3", clock_.MonotonicNanos()}}});
  courier->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  courier->Announce(Event(1, Kind::kReopened), {.number = ++number_});
  for (uint64_t tried = 1; tried <= 3; ++tried) {
    ASSERT_TRUE(receiver.WaitForRequests(tried));
    while (courier->stats().retried + courier->stats().sent < tried) std::this_thread::yield();
    clock_.Advance(kNanosPerSecond);
  }
  std::vector<std::string> into;
  for (const HttpReceiver::Request& request : receiver.requests()) {
    into.push_back(nlohmann::json::parse(request.body).value("thread_ts", ""));
  }
  EXPECT_THAT(into, ElementsAre("17.3", "", "18.1"));
  EXPECT_THAT(told(), ElementsAre("1 18.1 over", "1 18.1 open"));
  ASSERT_EQ(courier->AllLast().size(), 1u);
  EXPECT_EQ(courier->AllLast()[0].thread, "18.1");
  EXPECT_EQ(courier->stats().failed, 0u);
}

}  // namespace
}  // namespace lockstep
