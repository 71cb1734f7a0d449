// Receivers that take nothing for a while, or something never: what they are told of it afterwards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/stop_signal.h"
#include "collector/alert/alert_courier.h"
#include "collector/alert/testing/alert_courier_fixture.h"
#include "collector/alert/testing/http_receiver.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = 1});
  while (courier->stats().sent == 0) std::this_thread::yield();
  IsAwayUntil(clock_.MonotonicNanos() + 3 * kHour);
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = 2});
  courier->Announce(CourierEvent(2, Kind::kOpened), {.number = 3});
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = 1});
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = 2});
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
    IncidentEvent event = CourierEvent(id, kind);
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
  courier->Announce(CourierEvent(1, Kind::kOpened), {.number = 1});
  while (courier->stats().failed == 0) std::this_thread::yield();
  courier->Announce(CourierEvent(1, Kind::kUpdated), {.number = 2});
  EXPECT_EQ(receiver.requests().size(), 1u) << "a receiver that refuses is asked no oftener than one that takes";
  clock_.Advance(60 * kNanosPerSecond);
  while (courier->stats().sent < 1) std::this_thread::yield();
  courier->Announce(CourierEvent(1, Kind::kResolved), {.number = 3});
  while (courier->stats().sent < 2) std::this_thread::yield();
  std::vector<std::string> actions;
  for (const HttpReceiver::Request& request : receiver.requests()) {
    actions.push_back(nlohmann::json::parse(request.body)["event_action"].get<std::string>());
  }
  EXPECT_THAT(actions, ElementsAre("trigger", "trigger", "resolve"));
  EXPECT_THAT(told(), ElementsAre("1  open", "1  over"));
}

}  // namespace
}  // namespace lockstep
