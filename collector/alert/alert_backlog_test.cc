#include "collector/alert/alert_backlog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

IncidentEvent Event(uint64_t id, Kind kind, int64_t updated_wall_ns = 0) {
  IncidentEvent event{kind, {}};
  event.incident.set_id(id);
  event.incident.set_updated_wall_ns(updated_wall_ns);
  return event;
}

constexpr int64_t kMinute = 60 * kNanosPerSecond;

AlertBacklogOptions Room(size_t max_waiting) { return {.max_waiting = max_waiting}; }

std::string Text(const IncidentEvent& event) {
  return std::to_string(event.incident.id()) + ":" + "OURAK"[static_cast<int>(event.kind)] + ":" +
         std::to_string(event.incident.updated_wall_ns());
}

// What may be sent at `now_ns`, one after the other, as "id:kind:time".
std::vector<std::string> Drain(AlertBacklog& backlog, int64_t now_ns = 0) {
  std::vector<std::string> sent;
  while (backlog.NextDue().value_or(now_ns + 1) <= now_ns) {
    sent.push_back(Text(backlog.BeginSending(now_ns)->event));
    backlog.EndSending(now_ns);
  }
  return sent;
}

TEST(AlertBacklogTest, KeepsTheOrder) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.Add(Event(2, Kind::kOpened, 2), 0);
  backlog.Add(Event(1, Kind::kResolved, 3), 0);
  backlog.Add(Event(1, Kind::kReopened, 4), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:1", "2:O:2", "1:R:3", "1:A:4"));
}

TEST(AlertBacklogTest, UpdatesRefreshWhatWaitsAndTheNewestWins) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.Add(Event(1, Kind::kUpdated, 2), 0);
  backlog.Add(Event(2, Kind::kUpdated, 3), 0);
  backlog.Add(Event(2, Kind::kUpdated, 4), 0);
  backlog.Add(Event(2, Kind::kResolved, 5), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:2", "2:R:5"));
}

TEST(AlertBacklogTest, WhatIsBeingSentIsNotTouched) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kUpdated, 1), 0);
  EXPECT_EQ(backlog.BeginSending(0)->event.incident.updated_wall_ns(), 1);
  backlog.Add(Event(1, Kind::kUpdated, 2), 0);
  backlog.EndSending(0);
  EXPECT_THAT(Drain(backlog, kMinute), ElementsAre("1:U:2"));
}

TEST(AlertBacklogTest, AnUpdateWaitsUntilAMinuteAfterWhatWasToldAndNothingElseDoes) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:1"));
  backlog.Add(Event(1, Kind::kUpdated, 2), 5);
  backlog.Add(Event(1, Kind::kUpdated, 3), 10);
  EXPECT_EQ(backlog.NextDue(), kMinute);
  EXPECT_EQ(backlog.CountDue(10), 0u);
  backlog.Add(Event(2, Kind::kOpened, 4), 10);
  EXPECT_THAT(Drain(backlog, 10), ElementsAre("2:O:4")) << "another incident goes before";
  EXPECT_THAT(Drain(backlog, kMinute - 1), IsEmpty());
  EXPECT_THAT(Drain(backlog, kMinute), ElementsAre("1:U:3")) << "the newest";
  backlog.Add(Event(1, Kind::kUpdated, 5), kMinute + 1);
  EXPECT_EQ(backlog.LongestWait(kMinute + 1), 0) << "it has to wait";
  backlog.Add(Event(1, Kind::kAcknowledged, 6), kMinute + 2);
  EXPECT_THAT(Drain(backlog, kMinute + 2), ElementsAre("1:K:6"));
  backlog.Add(Event(1, Kind::kUpdated, 7), kMinute + 3);
  backlog.Add(Event(1, Kind::kResolved, 8), kMinute + 4);
  EXPECT_EQ(backlog.LongestWait(kMinute + 7), 3) << "of what may go";
  EXPECT_THAT(Drain(backlog, kMinute + 4), ElementsAre("1:R:8"));
}

TEST(AlertBacklogTest, AnAcknowledgementIsNotFoldedIntoTheBeginThatWaits) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.Add(Event(1, Kind::kAcknowledged, 2), 0);
  backlog.Add(Event(1, Kind::kAcknowledged, 3), 0);
  backlog.Add(Event(2, Kind::kAcknowledged, 4), 0);
  backlog.Add(Event(2, Kind::kResolved, 5), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:1", "1:K:3", "2:R:5"));
}

TEST(AlertBacklogTest, WhatIsOpenIsSaidAgainUntilItIsOver) {
  AlertBacklog backlog({.update_every_ns = 10, .repeat_every_ns = 10});
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.Inherit(Event(2, Kind::kOpened, 2).incident, 5);
  EXPECT_THAT(Drain(backlog, 5), ElementsAre("1:O:1", "2:U:2")) << "an earlier life may have told it long ago";
  EXPECT_EQ(backlog.NextDue(), 15);
  EXPECT_THAT(Drain(backlog, 15), ElementsAre("1:U:1", "2:U:2"));
  backlog.Add(Event(1, Kind::kUpdated, 3), 16);
  EXPECT_THAT(Drain(backlog, 24), IsEmpty()) << "news wait for the next time";
  EXPECT_THAT(Drain(backlog, 25), ElementsAre("1:U:3", "2:U:2"));
  backlog.Add(Event(1, Kind::kResolved, 4), 26);
  EXPECT_THAT(Drain(backlog, 35), ElementsAre("1:R:4", "2:U:2"));
  backlog.BeginSending(45);
  backlog.PutBack(45);
  EXPECT_THAT(Drain(backlog, 45), ElementsAre("2:U:2")) << "it is tried again, once";
}

TEST(AlertBacklogTest, WhatIsQuietIsNotSaidAgainUntilItIsNotAnyMore) {
  AlertBacklog backlog({.update_every_ns = 10, .repeat_every_ns = 10});
  wire::Incident silenced = Event(1, Kind::kNoted, 2).incident;
  silenced.mutable_silence()->set_until_wall_ns(1'000);
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  EXPECT_THAT(Drain(backlog, 0), ElementsAre("1:O:1"));
  backlog.NoteQuiet(silenced);
  EXPECT_THAT(Drain(backlog, 100), IsEmpty());
  EXPECT_EQ(backlog.NextDue(), std::nullopt);
  backlog.NoteQuiet(Event(1, Kind::kNoted, 3).incident);
  EXPECT_THAT(Drain(backlog, 110), ElementsAre("1:U:1"));
  backlog.NoteQuiet(silenced);
  backlog.Add(Event(1, Kind::kResolved, 4), 120);
  EXPECT_THAT(Drain(backlog, 120), ElementsAre("1:R:4")) << "its end is told all the same";
}

TEST(AlertBacklogTest, WhatBecameQuietBeforeItCouldBeToldIsToldOnce) {
  AlertBacklog backlog({.update_every_ns = 10, .repeat_every_ns = 10});
  wire::Incident folded = Event(1, Kind::kNoted, 2).incident;
  folded.set_folded_under(7);
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.NoteQuiet(folded);
  EXPECT_THAT(Drain(backlog, 0), ElementsAre("1:O:1"));
  EXPECT_THAT(Drain(backlog, 100), IsEmpty());
  backlog.Inherit(folded, 100);
  EXPECT_THAT(Drain(backlog, 200), IsEmpty()) << "nor after a restart";
}

TEST(AlertBacklogTest, WhoDoesNotHearNumbersIsToldWhenSomethingElseHasChanged) {
  AlertBacklog backlog({.hears_numbers = false});
  const auto event = [](Kind kind, const char* verdict_class, int64_t time) {
    IncidentEvent made = Event(1, kind, time);
    made.incident.mutable_verdict()->set_class_(verdict_class);
    return made;
  };
  backlog.Add(event(Kind::kOpened, "hang_not_entered", 1), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:1"));
  EXPECT_THAT(backlog.Add(event(Kind::kUpdated, "hang_not_entered", 2), 1, {.number = 9}), ElementsAre(9));
  EXPECT_EQ(backlog.size(), 0u);
  EXPECT_EQ(backlog.dropped(), 0u);
  backlog.Add(event(Kind::kUpdated, "hang_not_entered", 3), 1, {.number = 10}, /*is_left_over=*/true);
  EXPECT_THAT(Drain(backlog, kMinute), ElementsAre("1:U:3")) << "who knows what was told before it";
  backlog.Add(event(Kind::kUpdated, "process_dead", 4), kMinute);
  EXPECT_THAT(Drain(backlog, 2 * kMinute), ElementsAre("1:U:4"));
}

TEST(AlertBacklogTest, NewsWaitForWhatAnotherHasToldLast) {
  AlertBacklog before({}), after({});
  before.Add(Event(1, Kind::kOpened), 0);
  before.BeginSending(0);
  before.EndSending(0, "17.3");
  EXPECT_EQ(before.AllLast(), (std::vector<ToldIncidents::Last>{{1, "17.3", 0}}));
  after.Inherit(Event(1, Kind::kOpened).incident, 10);
  after.Add(Event(1, Kind::kUpdated), 10);
  EXPECT_EQ(after.NextDue(), 10) << "nobody knows when it was told";
  for (const ToldIncidents::Last& last : before.AllLast()) after.InheritLast(last);
  EXPECT_EQ(after.NextDue(), kMinute);
  EXPECT_EQ(after.told(1)->thread, "17.3");
  EXPECT_TRUE(after.told(1)->is_open);
}

TEST(AlertBacklogTest, AThreadIsRememberedBeyondTheEnd) {
  AlertBacklog backlog(Room(10));
  for (const Kind kind : {Kind::kOpened, Kind::kResolved}) {
    backlog.Add(Event(1, kind), 0);
    backlog.BeginSending(0);
    backlog.EndSending(0, kind == Kind::kOpened ? "17.3" : "");
  }
  EXPECT_EQ(backlog.told(1)->thread, "17.3");
  EXPECT_FALSE(backlog.told(1)->is_open);
  EXPECT_EQ(backlog.told(2), nullptr);
}

TEST(AlertBacklogTest, RemembersSoManyIncidentsAndForgetsTheOldest) {
  AlertBacklog backlog({.max_told = 2, .repeat_every_ns = 10});
  for (uint64_t id = 1; id <= 3; ++id) backlog.Inherit(Event(id, Kind::kOpened, 0).incident, 0);
  EXPECT_EQ(backlog.told(1), nullptr);
  EXPECT_THAT(Drain(backlog), ElementsAre("2:U:0", "3:U:0"));
}

TEST(AlertBacklogTest, WhatIsLeftGoesToAnother) {
  AlertBacklog backlog(Room(10)), next(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0, {.number = 7});
  for (AlertBacklog::Waiting& left : backlog.TakeAll()) next.Resume(std::move(left));
  EXPECT_EQ(backlog.size(), 0u);
  next.BeginSending(0);
  EXPECT_THAT(next.EndSending(0), ElementsAre(7));
}

TEST(AlertBacklogTest, OthersPassWhatWasNotDeliveredAndItsOwnIncidentDoesNot) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.BeginSending(0);
  backlog.Add(Event(2, Kind::kOpened, 2), 0);
  backlog.Add(Event(1, Kind::kResolved, 3), 0);
  backlog.PutBack(100);
  EXPECT_THAT(Drain(backlog), ElementsAre("2:O:2"));
  EXPECT_EQ(backlog.NextDue(), 100);
  EXPECT_EQ(backlog.CountDue(10), 2u) << "they wait, if not for a time of theirs";
  EXPECT_EQ(backlog.LongestWait(10), 10);
  EXPECT_EQ(backlog.BeginSending(100)->failures, 1u);
  backlog.PutBack(300);
  backlog.Add(Event(3, Kind::kOpened, 4), 250);
  EXPECT_THAT(Drain(backlog, 299), ElementsAre("3:O:4"));
  backlog.Add(Event(4, Kind::kOpened, 5), 299);
  EXPECT_THAT(Drain(backlog, 300), ElementsAre("4:O:5", "1:O:1", "1:R:3")) << "who has waited for longest is first";
}

TEST(AlertBacklogTest, NewsOfWhatWasNotDeliveredAreFoldedIntoIt) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.BeginSending(0);
  backlog.PutBack(100);
  backlog.Add(Event(1, Kind::kUpdated, 3), 50);
  EXPECT_THAT(Drain(backlog, 50), IsEmpty());
  EXPECT_THAT(Drain(backlog, 100), ElementsAre("1:O:3"));
}

TEST(AlertBacklogTest, OneThatCannotBeSaidAgainHoldsUpNoOther) {
  AlertBacklog backlog({.update_every_ns = 10, .repeat_every_ns = 10});
  for (uint64_t id = 1; id <= 3; ++id) backlog.Inherit(Event(id, Kind::kOpened, 0).incident, 0);
  EXPECT_EQ(backlog.BeginSending(0)->event.incident.id(), 1u);
  backlog.PutBack(1'000);
  EXPECT_THAT(Drain(backlog, 0), ElementsAre("2:U:0", "3:U:0"));
  EXPECT_THAT(Drain(backlog, 10), ElementsAre("2:U:0", "3:U:0"));
}

TEST(AlertBacklogTest, AnotherReceiverKnowsNothingOfFailures) {
  AlertBacklog backlog(Room(10)), next(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.BeginSending(0);
  backlog.PutBack(100);
  for (AlertBacklog::Waiting& left : backlog.TakeAll()) next.Resume(std::move(left));
  EXPECT_EQ(next.NextDue(), 0);
  EXPECT_EQ(next.BeginSending(0)->failures, 0u);
}

TEST(AlertBacklogTest, WhatIsWrittenLateHasItsNumberWhenItGoes) {
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened), 0, {.ticket = 7});
  backlog.Add(Event(1, Kind::kUpdated), 0, {.ticket = 8});
  backlog.Add(Event(1, Kind::kResolved), 0, {.number = 103});
  backlog.BeginSending(0);
  EXPECT_TRUE(backlog.NoteWritten(7, 101)) << "while it is being sent";
  backlog.PutBack(0);
  EXPECT_TRUE(backlog.NoteWritten(8, 102));
  backlog.BeginSending(0);
  EXPECT_THAT(backlog.EndSending(0), ElementsAre(101, 102));
  EXPECT_FALSE(backlog.NoteWritten(7, 101)) << "it is gone";
  backlog.BeginSending(0);
  EXPECT_THAT(backlog.EndSending(0), ElementsAre(103));
}

TEST(AlertBacklogTest, AFullBacklogGivesUpUpdatesFirst) {
  AlertBacklog backlog(Room(2));
  backlog.Add(Event(1, Kind::kUpdated), 0);
  backlog.Add(Event(2, Kind::kOpened), 0);
  backlog.Add(Event(3, Kind::kUpdated), 0);
  EXPECT_EQ(backlog.dropped(), 1u) << "an update does not displace anything";
  backlog.Add(Event(4, Kind::kOpened), 0);
  EXPECT_EQ(backlog.dropped(), 2u) << "an opening displaces an update";
  backlog.Add(Event(5, Kind::kOpened), 0);
  EXPECT_EQ(backlog.dropped(), 3u) << "nothing but openings: the newest is dropped";
  EXPECT_THAT(Drain(backlog), ElementsAre("2:O:0", "4:O:0"));
}

TEST(AlertBacklogTest, OfWhatBeganAndEndedLongAgoTheEndAloneIsTold) {
  constexpr int64_t kHour = 60 * kMinute;
  AlertBacklog backlog(Room(10));
  backlog.Add(Event(1, Kind::kOpened, 1), 0, {.number = 1});
  backlog.Add(Event(2, Kind::kOpened, 2), 0, {.number = 2});
  backlog.Add(Event(1, Kind::kAcknowledged, 3), 1, {.number = 3});
  backlog.Add(Event(1, Kind::kResolved, 4), 2, {.number = 4});
  backlog.Add(Event(1, Kind::kReopened, 5), 3, {.number = 5});
  backlog.Add(Event(3, Kind::kOpened, 6), 4, {.ticket = 7});
  backlog.Add(Event(3, Kind::kResolved, 7), 5);
  EXPECT_EQ(Text(backlog.BeginSending(kHour - 1)->event), "1:O:1");
  backlog.PutBack(kHour);
  EXPECT_EQ(Text(backlog.BeginSending(kHour)->event), "2:O:2") << "it is open: told however late";
  backlog.EndSending(kHour);
  EXPECT_EQ(Text(backlog.BeginSending(kHour)->event), "3:O:6") << "not old enough";
  backlog.PutBack(2 * kHour);
  EXPECT_EQ(Text(backlog.BeginSending(kHour)->event), "1:R:4");
  EXPECT_EQ(backlog.size(), 4u);
  backlog.PutBack(kHour);
  EXPECT_TRUE(backlog.NoteWritten(7, 6));
  backlog.BeginSending(kHour);
  EXPECT_THAT(backlog.EndSending(kHour), ElementsAre(1, 3, 4)) << "until then all of it stays in history";
  EXPECT_THAT(Drain(backlog, kHour), ElementsAre("1:A:5")) << "what is open now";
  EXPECT_EQ(Text(backlog.BeginSending(2 * kHour)->event), "3:R:7");
  EXPECT_THAT(backlog.EndSending(2 * kHour), ElementsAre(6));
  EXPECT_EQ(backlog.size(), 0u);
  EXPECT_EQ(backlog.bytes(), 0u);
  EXPECT_EQ(backlog.dropped(), 0u);
}

TEST(AlertBacklogTest, AFullBacklogKeepsWhatIsOpenRatherThanTheBeginOfWhatIsOver) {
  AlertBacklog backlog(Room(2));
  backlog.Add(Event(1, Kind::kOpened, 1), 0, {.number = 1});
  backlog.Add(Event(2, Kind::kOpened, 2), 0, {.number = 2});
  EXPECT_THAT(backlog.Add(Event(1, Kind::kResolved, 3), 0, {.number = 3}), IsEmpty());
  EXPECT_EQ(backlog.size(), 2u);
  EXPECT_THAT(backlog.Add(Event(3, Kind::kResolved, 4), 0, {.number = 4}), ElementsAre(4));
  EXPECT_EQ(backlog.dropped(), 1u);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:R:3", "2:O:2"));
  backlog.Add(Event(4, Kind::kOpened, 5), 0);
  backlog.Add(Event(4, Kind::kResolved, 6), 0);
  backlog.Add(Event(5, Kind::kOpened, 7), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("4:R:6", "5:O:7"));
  EXPECT_EQ(backlog.dropped(), 1u);
}

TEST(AlertBacklogTest, WhatWasGivenUpWasNotTold) {
  AlertBacklog backlog({.repeat_every_ns = 10, .hears_numbers = false});
  const auto give_up = [&backlog](Kind kind) {
    backlog.Add(Event(1, kind, 1), 0, {.number = 7});
    backlog.BeginSending(0);
    EXPECT_THAT(backlog.GiveUp(0), ElementsAre(7));
  };
  give_up(Kind::kOpened);
  EXPECT_EQ(backlog.NextDue(), std::nullopt) << "it is not said again";
  backlog.Add(Event(1, Kind::kUpdated, 2), 1);
  EXPECT_EQ(backlog.NextDue(), kMinute) << "and no oftener than what is taken";
  EXPECT_THAT(Drain(backlog, kMinute), ElementsAre("1:U:2"));
  EXPECT_EQ(backlog.NextDue(), kMinute + 10);
  give_up(Kind::kResolved);
  EXPECT_EQ(backlog.NextDue(), std::nullopt) << "what is over is not said again";
}

TEST(AlertBacklogTest, AfterARestartWhatNobodyConfirmsWasPerhapsNotTold) {
  AlertBacklog backlog({.hears_numbers = false});
  for (uint64_t id = 1; id <= 3; ++id) backlog.Inherit(Event(id, Kind::kOpened).incident, 0);
  backlog.InheritLast({1, "", 0});
  backlog.InheritLast({2, "17.3", 0, /*is_open=*/false});
  for (uint64_t id = 1; id <= 3; ++id) backlog.Add(Event(id, Kind::kUpdated, 2), 0);
  EXPECT_THAT(Drain(backlog, kMinute), ElementsAre("3:U:2", "2:U:2")) << "of the first it has heard all";
}

TEST(AlertBacklogTest, ItsBytesAreBoundedAsItsEventsAre) {
  const auto event = [](uint64_t id, Kind kind) {
    IncidentEvent long_one = Event(id, kind);
    long_one.incident.set_job(std::string(1'000, 'j'));
    return long_one;
  };
  AlertBacklog backlog({.max_bytes = 4'000});
  backlog.Add(event(1, Kind::kOpened), 0, {.number = 1});
  backlog.Add(event(2, Kind::kUpdated), 0, {.number = 2});
  backlog.Add(event(3, Kind::kOpened), 0, {.number = 3});
  EXPECT_THAT(backlog.Add(event(4, Kind::kUpdated), 0, {.number = 4}), ElementsAre(4)) << "it does not fit";
  EXPECT_THAT(backlog.Add(event(4, Kind::kOpened), 0, {.number = 5}), ElementsAre(2)) << "the update makes room";
  EXPECT_EQ(backlog.dropped(), 2u);
  EXPECT_GT(backlog.bytes(), 3'000u);
  EXPECT_LE(backlog.bytes(), 4'000u);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:0", "3:O:0", "4:O:0"));
  EXPECT_EQ(backlog.bytes(), 0u);
}

TEST(AlertBacklogTest, HistoryKeepsTheFirstAndTheNewestOfWhatWasFolded) {
  AlertBacklog backlog(Room(10));
  uint64_t number = 1;
  backlog.Add(Event(1, Kind::kOpened), 0, {.number = number});
  std::vector<uint64_t> gone;
  while (gone.empty()) gone = backlog.Add(Event(1, Kind::kUpdated), 0, {.number = ++number});
  EXPECT_EQ(number, AlertBacklog::kMaxFolded + 1);
  EXPECT_EQ(gone.size(), number - 2);
  EXPECT_EQ(backlog.dropped(), 0u) << "nothing is lost by it";
  backlog.BeginSending(0);
  EXPECT_THAT(backlog.EndSending(0), ElementsAre(1, number));
}

// A receiver of a large enough backlog sees the same openings, resolutions and reopenings as one without a backlog.
TEST(AlertBacklogTest, RandomSequencesKeepEveryTransitionInOrder) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    AlertBacklog backlog({.max_waiting = 10'000, .update_every_ns = 0});
    std::map<uint64_t, std::vector<Kind>> announced, sent;
    std::map<uint64_t, bool> open;
    const auto send_one = [&] {
      const IncidentEvent event = backlog.BeginSending(0)->event;
      const bool done = random.Below(3) > 0;
      if (done) backlog.EndSending(0);
      if (!done) backlog.PutBack(0);
      if (done && event.kind != Kind::kUpdated) sent[event.incident.id()].push_back(event.kind);
    };
    for (int step = 0; step < 500; ++step) {
      const uint64_t id = random.Below(5);
      Kind kind = Kind::kUpdated;
      if (!open[id]) kind = announced[id].empty() ? Kind::kOpened : Kind::kReopened;
      if (open[id] && random.Below(3) == 0) kind = Kind::kResolved;
      open[id] = kind != Kind::kResolved;
      backlog.Add(Event(id, kind), 0);
      if (kind != Kind::kUpdated) announced[id].push_back(kind);
      if (random.Below(2) == 0 && backlog.size() > 0) send_one();
    }
    while (backlog.size() > 0) send_one();
    EXPECT_EQ(sent, announced) << "seed " << seed;
    EXPECT_EQ(backlog.dropped(), 0u);
  }
}

}  // namespace
}  // namespace lockstep
