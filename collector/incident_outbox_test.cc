#include "collector/incident_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/alert/alert_inheritance.h"
#include "collector/store/testing/memory_store.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kPatience = 20 * kNanosPerSecond;

IncidentEvent Event(uint64_t id, Kind kind) {
  IncidentEvent event{kind, {}};
  event.incident.set_id(id);
  return event;
}

class FakeReceivers final : public AlertReceivers {
 public:
  std::vector<std::string> NamesFor(const IncidentEvent&) const override { return {"a", "b"}; }
  std::vector<AlertInheritance::Left> Inherit(const AlertInheritance& inheritance) override {
    MutexLock lock(mutex_);
    std::vector<AlertInheritance::Left> strangers;
    for (const AlertInheritance::Left& left : inheritance.left) {
      if (left.receiver == "a" && left.number != 0) {
        told_.push_back(std::to_string(left.event.incident.id()) + " again");
      } else {
        strangers.push_back(left);
      }
    }
    return strangers;
  }
  void Tell(const IncidentEvent& event, const ChangeId& id) override {
    MutexLock lock(mutex_);
    told_.push_back(std::to_string(event.incident.id()) + (id.number == 0 ? " unwritten" : " written"));
    changed_.NotifyAll();
  }
  void NoteUntold(const wire::Incident& incident) override {
    MutexLock lock(mutex_);
    untold_.push_back(incident.id());
  }
  std::vector<std::string> NoteWritten(uint64_t ticket, uint64_t number) override {
    MutexLock lock(mutex_);
    return b_hangs_ ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
  }
  // From now on the second receiver takes nothing.
  void LetSecondHang() {
    MutexLock lock(mutex_);
    b_hangs_ = true;
  }

  std::vector<std::string> WaitForTold(size_t count) {
    const int64_t until = RealClock().MonotonicNanos() + kPatience;
    MutexLock lock(mutex_);
    while (told_.size() < count && RealClock().MonotonicNanos() < until) changed_.WaitFor(mutex_, kNanosPerSecond);
    return told_;
  }

  std::vector<uint64_t> untold() {
    MutexLock lock(mutex_);
    return untold_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> told_;
  std::vector<uint64_t> untold_;
  bool b_hangs_ = false;
};

class IncidentOutboxTest : public testing::Test {
 protected:
  std::unique_ptr<IncidentOutbox> MakeOutbox() {
    return std::make_unique<IncidentOutbox>(options_, store_, receivers_, metrics_);
  }

  // "number of the incident, receiver" of what history has to tell.
  std::vector<std::string> LeftOver() {
    std::vector<std::string> left;
    const std::vector<PendingAlert> alerts = store_.LoadAlerts().value();
    for (const PendingAlert& alert : alerts) {
      left.push_back(std::to_string(alert.event.incident().id()) + " " + alert.receiver);
    }
    return left;
  }

  // What WhenWritten says, while time passes.
  static absl::Status WaitUntilWritten(IncidentOutbox& outbox) {
    struct Said {
      Mutex mutex;
      std::optional<absl::Status> status;
    };
    const auto said = std::make_shared<Said>();
    outbox.WhenWritten([said](const absl::Status& status) {
      MutexLock lock(said->mutex);
      said->status = status;
    });
    while (true) {
      {
        MutexLock lock(said->mutex);
        if (said->status.has_value()) return *said->status;
      }
      StopSignal().WaitFor(kNanosPerMilli);
      outbox.TellOverdue();
    }
  }

  IncidentOutboxOptions options_;
  MemoryStore store_;
  FakeReceivers receivers_;
  CollectorMetrics metrics_{"test"};
};

TEST_F(IncidentOutboxTest, AChangeIsWrittenForEachReceiverBeforeItIsTold) {
  auto outbox = MakeOutbox();
  outbox->Announce(Event(1, Kind::kOpened));
  outbox->Announce(Event(1, Kind::kResolved));
  EXPECT_THAT(receivers_.WaitForTold(2), ElementsAre("1 written", "1 written"));
  EXPECT_THAT(LeftOver(), ElementsAre("1 a", "1 b", "1 a", "1 b"));
  EXPECT_EQ(store_.LoadIncidents()->size(), 1u);
}

TEST_F(IncidentOutboxTest, WhatAnEarlierLifeLeftIsToldOnceItsReceiverIsKnown) {
  ASSERT_OK(store_.PutEvent(wire::IncidentEvent(), {"a"}));  // of a kind that nobody knows
  wire::IncidentEvent event;
  event.set_kind(wire::IncidentEvent::KIND_OPENED);
  event.mutable_incident()->set_id(7);
  ASSERT_OK(store_.PutEvent(event, {"a", "gone"}));
  auto outbox = MakeOutbox();
  EXPECT_OK(outbox->TellLeftOver({}));
  EXPECT_THAT(receivers_.WaitForTold(1), ElementsAre("7 again"));
  EXPECT_THAT(LeftOver(), ElementsAre("7 a")) << "until the receiver has taken it";
}

TEST_F(IncidentOutboxTest, AStoreThatRefusesHoldsNoAlertBackAndHasThemAllLater) {
  options_.retry_ns = 10 * kNanosPerMilli;
  store_.set_refuses(true);
  auto outbox = MakeOutbox();
  for (uint64_t id = 1; id <= 3; ++id) outbox->Announce(Event(id, Kind::kOpened));
  EXPECT_THAT(receivers_.WaitForTold(3), ElementsAre("1 unwritten", "2 unwritten", "3 unwritten"));
  EXPECT_GE(metrics_.store_write_failures.Value(), 1);
  store_.set_refuses(false);
  while (store_.LoadIncidents()->size() < 3) {
  }
  outbox->Close();
  EXPECT_THAT(LeftOver(), IsEmpty()) << "they were told";
  EXPECT_EQ(receivers_.WaitForTold(3).size(), 3u);
}

TEST_F(IncidentOutboxTest, WhatWasToldBeforeItWasWrittenIsKeptForWhoeverHasNotTakenIt) {
  options_.retry_ns = 10 * kNanosPerMilli;
  store_.set_refuses(true);
  receivers_.LetSecondHang();
  auto outbox = MakeOutbox();
  outbox->Announce(Event(1, Kind::kOpened));
  EXPECT_THAT(receivers_.WaitForTold(1), ElementsAre("1 unwritten"));
  store_.set_refuses(false);
  while (store_.LoadIncidents()->empty()) {
  }
  outbox->Close();
  EXPECT_THAT(LeftOver(), ElementsAre("1 b"));
}

// A collector that dies before the end is written has the incident open again after its restart.
TEST_F(IncidentOutboxTest, TheEndOfAnIncidentAndWhatComesAfterItWaitUntilTheyAreWritten) {
  options_.retry_ns = 10 * kNanosPerMilli;
  store_.set_refuses(true);
  auto outbox = MakeOutbox();
  outbox->Announce(Event(1, Kind::kOpened));
  outbox->Announce(Event(1, Kind::kResolved));
  outbox->Announce(Event(1, Kind::kReopened));
  outbox->Announce(Event(2, Kind::kOpened));
  EXPECT_THAT(receivers_.WaitForTold(2), ElementsAre("1 unwritten", "2 unwritten"));
  const double failures = metrics_.store_write_failures.Value();
  while (metrics_.store_write_failures.Value() < failures + 3) {
  }
  EXPECT_EQ(receivers_.WaitForTold(2).size(), 2u);
  store_.set_refuses(false);
  EXPECT_THAT(receivers_.WaitForTold(4), ElementsAre("1 unwritten", "2 unwritten", "1 written", "1 written"));
  outbox->Close();
  EXPECT_THAT(LeftOver(), ElementsAre("1 a", "1 b", "1 a", "1 b")) << "who was told after the writing";
}

TEST_F(IncidentOutboxTest, AStoreThatHangsHoldsAlertsBackForAMomentOnly) {
  options_.longest_hold_ns = 1;
  store_.set_blocked(true);
  auto outbox = MakeOutbox();
  outbox->Announce(Event(1, Kind::kOpened));
  outbox->Announce(Event(2, Kind::kOpened));
  while (receivers_.WaitForTold(0).size() < 2) outbox->TellOverdue();
  EXPECT_THAT(receivers_.WaitForTold(2), ElementsAre("1 unwritten", "2 unwritten"));
  store_.set_blocked(false);
  outbox->Close();
  EXPECT_EQ(receivers_.WaitForTold(2).size(), 2u) << "nobody is told twice";
  EXPECT_THAT(LeftOver(), IsEmpty());
  EXPECT_EQ(store_.LoadIncidents()->size(), 2u);
}

TEST_F(IncidentOutboxTest, BeyondItsLimitTheOldestIsGivenUpAndCounted) {
  options_.max_waiting = 2;
  options_.retry_ns = kPatience;
  store_.set_refuses(true);
  auto outbox = MakeOutbox();
  for (uint64_t id = 1; id <= 5; ++id) {
    outbox->Announce(Event(id, Kind::kOpened));
    receivers_.WaitForTold(id);
  }
  store_.set_refuses(false);
  outbox->Close();
  EXPECT_EQ(receivers_.WaitForTold(5).size(), 5u) << "all were told";
  EXPECT_EQ(store_.LoadIncidents()->size(), 2u) << "the first, and the newest";
}

TEST_F(IncidentOutboxTest, AnAcknowledgementIsWrittenAndToldWithoutBeingRemembered) {
  auto outbox = MakeOutbox();
  outbox->Announce(Event(1, Kind::kOpened));
  IncidentEvent acknowledged = Event(1, Kind::kAcknowledged);
  acknowledged.incident.mutable_acknowledgement()->set_by("alice");
  outbox->Announce(acknowledged);
  const absl::Status written = WaitUntilWritten(*outbox);
  EXPECT_OK(written);
  EXPECT_EQ(store_.LoadIncidents()->at(0).acknowledgement().by(), "alice");
  outbox->Announce(Event(2, Kind::kOpened));
  EXPECT_THAT(receivers_.WaitForTold(3), ElementsAre("1 written", "1 unwritten", "2 written"));
  EXPECT_THAT(receivers_.untold(), ElementsAre(1));
  EXPECT_THAT(LeftOver(), ElementsAre("1 a", "1 b", "2 a", "2 b"));
}

TEST_F(IncidentOutboxTest, WhoWaitsForAStoreThatRefusesOrHangsIsToldSo) {
  options_.retry_ns = 10 * kNanosPerMilli;
  options_.longest_hold_ns = kNanosPerSecond;  // a refusal comes sooner
  auto outbox = MakeOutbox();
  EXPECT_OK(WaitUntilWritten(*outbox)) << "nothing waits";
  store_.set_refuses(true);
  outbox->Announce(Event(1, Kind::kAcknowledged));
  EXPECT_THAT(WaitUntilWritten(*outbox), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no space")));
  store_.set_refuses(false);
  while (store_.LoadIncidents()->empty()) {
  }
  store_.set_blocked(true);
  outbox->Announce(Event(2, Kind::kAcknowledged));
  EXPECT_THAT(WaitUntilWritten(*outbox), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
  store_.set_blocked(false);
  outbox->Close();
  EXPECT_EQ(store_.LoadIncidents()->size(), 2u) << "it is written all the same";
  EXPECT_THAT(LeftOver(), IsEmpty());
}

TEST_F(IncidentOutboxTest, ClosingWritesWhatWaits) {
  auto outbox = MakeOutbox();
  for (uint64_t id = 1; id <= 20; ++id) outbox->Announce(Event(id, Kind::kOpened));
  outbox.reset();
  EXPECT_EQ(store_.LoadIncidents()->size(), 20u);
  EXPECT_EQ(receivers_.WaitForTold(20).size(), 20u);
}

}  // namespace
}  // namespace lockstep
