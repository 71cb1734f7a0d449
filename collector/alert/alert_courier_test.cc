#include "collector/alert/alert_courier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/alert/testing/alert_courier_fixture.h"
#include "collector/alert/testing/http_receiver.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

// An update of incident 1 with newer numbers.
IncidentEvent Newer() {
  IncidentEvent event = CourierEvent(1, Kind::kUpdated);
  event.incident.mutable_verdict()->add_evidence()->set_text("15 of 16 ranks wait for it, the longest for 60 s.");
  return event;
}

TEST_F(AlertCourierTest, PostsJsonOncePerEvent) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = ++number_});
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "1 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 2));
  EXPECT_EQ(receiver.requests()[0].method, "POST");
  EXPECT_EQ(receiver.requests()[0].headers.at("Content-Type"), "application/json");
}

TEST_F(AlertCourierTest, AFailingReceiverIsTriedAgainUntilItTakesTheEvent) {
  HttpReceiver receiver;
  receiver.AnswerNext({{500, ""}, {503, ""}, {408, ""}, {429, "Retry-After: 0"}});
  auto courier = NewCourier(receiver.url());
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  LetItFail(*courier, 4);
  ASSERT_TRUE(receiver.WaitForRequests(5));
  courier->Announce(CourierEvent(2, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = ++number_});
  for (uint64_t id = 2; id <= 5; ++id) courier->Announce(CourierEvent(id, Kind::kOpened), {.number = ++number_});
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
  for (uint64_t id = 1; id <= kIncidents; ++id)
    courier->Announce(CourierEvent(id, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  courier->Announce(CourierEvent(2, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.ticket = 7});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().retried == 0) std::this_thread::yield();
  clock_.Advance(kNanosPerSecond - 1);
  courier->Announce(CourierEvent(2, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  for (int i = 0; i < 1'000; ++i) courier->Announce(CourierEvent(1, Kind::kUpdated), {.number = ++number_});
  EXPECT_EQ(courier->stats().waiting, 2u) << "the one being sent and the newest update";
  for (uint64_t id = 2; id <= 10; ++id) courier->Announce(CourierEvent(id, Kind::kOpened), {.number = ++number_});
  EXPECT_EQ(courier->stats().waiting, 3u);
  EXPECT_EQ(courier->stats().dropped, 8u) << "the update made room for one opening";
  receiver.Hold(false);
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "2 firing", "3 firing"));
  std::vector<uint64_t> all(number_);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_THAT(done(), UnorderedElementsAreArray(all)) << "sent, folded into what was sent, or dropped";
}

TEST_F(AlertCourierTest, StoppingDoesNotWaitForAReceiverThatHangs) {
  options_.drain_ns = 1;
  HttpReceiver receiver;
  receiver.Hold(true);
  auto courier = NewCourier(receiver.url());
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  courier->Announce(CourierEvent(2, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  while (courier->stats().sent == 0) std::this_thread::yield();
  courier->Announce(Newer(), {.number = ++number_});
  EXPECT_EQ(courier->stats().waiting, 0u) << "it may not go yet";
  clock_.Advance(60 * kNanosPerSecond);
  ASSERT_TRUE(receiver.WaitForRequests(2));
  while (courier->stats().sent == 1) std::this_thread::yield();
  courier->Announce(CourierEvent(1, Kind::kUpdated), {.number = ++number_});
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = ++number_});
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing", "1 firing", "1 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 2, 3, 4));
}

TEST_F(AlertCourierTest, AnUpdateThatSaysWhatWasSaidIsNotSent) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().sent == 0) std::this_thread::yield();
  courier->Announce(Newer(), {.number = ++number_});
  courier->Announce(CourierEvent(1, Kind::kUpdated), {.number = ++number_});
  clock_.Advance(60 * kNanosPerSecond);
  while (done().size() < 3) std::this_thread::yield();
  EXPECT_EQ(courier->stats().sent, 1u);
  EXPECT_THAT(Received(std::move(courier), receiver), ElementsAre("1 firing"));
  EXPECT_THAT(done(), ElementsAre(1, 2, 3));
}

TEST_F(AlertCourierTest, WhatIsHeldBackAtTheEndIsForTheNextLife) {
  HttpReceiver receiver;
  auto courier = NewCourier(receiver.url());
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  while (courier->stats().sent == 0) std::this_thread::yield();
  courier->Announce(Newer(), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kAcknowledged), {.number = ++number_});
  EXPECT_THAT(done(), ElementsAre(1));
  EXPECT_THAT(Received(std::move(courier), receiver), IsEmpty());
  options_.receiver.type = ReceiverType::kPagerduty;
  receiver.AnswerNext({{202, "", R"({"status": "success"})"}});
  courier = NewCourier(receiver.url());
  courier->Announce(CourierEvent(1, Kind::kAcknowledged), {.number = ++number_});
  courier.reset();
  EXPECT_EQ(receiver.requests().size(), 1u);
}

TEST_F(AlertCourierTest, AlertmanagerIsToldAgainWhatFiresUntilItIsOver) {
  options_.receiver.type = ReceiverType::kAlertmanager;
  HttpReceiver receiver;
  auto courier = NewCourier(absl::StrCat("http://127.0.0.1:", receiver.port()));
  courier->Inherit({.open = {CourierEvent(2, Kind::kOpened).incident}});
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  EXPECT_EQ(receiver.requests()[0].path, "/api/v2/alerts");
  while (courier->stats().sent < 2) std::this_thread::yield();
  clock_.Advance(60 * kNanosPerSecond);
  ASSERT_TRUE(receiver.WaitForRequests(4));
  while (courier->stats().sent < 4) std::this_thread::yield();
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = ++number_});
  courier->Announce(CourierEvent(2, Kind::kResolved), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(6));
  while (courier->stats().sent < 6) std::this_thread::yield();
  clock_.Advance(600 * kNanosPerSecond);
  courier->Announce(CourierEvent(3, Kind::kOpened), {.number = ++number_});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = ++number_});
  for (uint64_t tried = 1; tried <= 3; ++tried) {
    ASSERT_TRUE(receiver.WaitForRequests(tried));
    while (courier->stats().retried + courier->stats().sent < tried) std::this_thread::yield();
    clock_.Advance(kNanosPerSecond);
  }
  EXPECT_EQ(courier->stats().sent, 1u);
  receiver.AnswerNext({{200, "", R"({"ok": true, "ts": "17.4"})"}});
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(4));
  EXPECT_EQ(receiver.requests()[3].headers.at("Authorization"), "Bearer xoxb-0");
  EXPECT_EQ(nlohmann::json::parse(receiver.requests()[3].body)["thread_ts"], "17.3");
  while (courier->stats().sent < 2) std::this_thread::yield();
  EXPECT_THAT(told(), ElementsAre("1 17.3 open", "1 17.3 over")) << "where the first message is, not an answer to it";
  courier->Announce(CourierEvent(2, Kind::kOpened), {.number = ++number_});
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
  courier->Inherit({.open = {CourierEvent(1, Kind::kReopened).incident},
                    .left = {{CourierEvent(1, Kind::kResolved), 1}, {CourierEvent(1, Kind::kReopened), 2}}});
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
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = ++number_});
  courier->Announce(CourierEvent(1, Kind::kReopened), {.number = ++number_});
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
