#include "collector/alert/alert_backlog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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

// What would be sent, one after the other, as "id:kind:time".
std::vector<std::string> Drain(AlertBacklog& backlog) {
  std::vector<std::string> sent;
  while (!backlog.empty()) {
    const IncidentEvent event = backlog.BeginSending().event;
    sent.push_back(std::to_string(event.incident.id()) + ":" + "OURA"[static_cast<int>(event.kind)] + ":" +
                   std::to_string(event.incident.updated_wall_ns()));
    backlog.EndSending(true);
  }
  return sent;
}

TEST(AlertBacklogTest, KeepsTheOrder) {
  AlertBacklog backlog(10);
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.Add(Event(2, Kind::kOpened, 2), 0);
  backlog.Add(Event(1, Kind::kResolved, 3), 0);
  backlog.Add(Event(1, Kind::kReopened, 4), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:1", "2:O:2", "1:R:3", "1:A:4"));
}

TEST(AlertBacklogTest, UpdatesRefreshWhatWaitsAndTheNewestWins) {
  AlertBacklog backlog(10);
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.Add(Event(1, Kind::kUpdated, 2), 0);
  backlog.Add(Event(2, Kind::kUpdated, 3), 0);
  backlog.Add(Event(2, Kind::kUpdated, 4), 0);
  backlog.Add(Event(2, Kind::kResolved, 5), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:2", "2:R:5"));
}

TEST(AlertBacklogTest, WhatIsBeingSentIsNotTouched) {
  AlertBacklog backlog(10);
  backlog.Add(Event(1, Kind::kUpdated, 1), 0);
  EXPECT_EQ(backlog.BeginSending().event.incident.updated_wall_ns(), 1);
  backlog.Add(Event(1, Kind::kUpdated, 2), 0);
  backlog.EndSending(true);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:U:2"));
}

TEST(AlertBacklogTest, WhatWasNotDeliveredIsFirstAgain) {
  AlertBacklog backlog(10);
  backlog.Add(Event(1, Kind::kOpened, 1), 0);
  backlog.BeginSending();
  backlog.Add(Event(2, Kind::kOpened, 2), 0);
  backlog.EndSending(false);
  backlog.Add(Event(1, Kind::kUpdated, 3), 0);
  EXPECT_THAT(Drain(backlog), ElementsAre("1:O:3", "2:O:2"));
}

TEST(AlertBacklogTest, WhatIsWrittenLateHasItsNumberWhenItGoes) {
  AlertBacklog backlog(10);
  backlog.Add(Event(1, Kind::kOpened), 0, {.ticket = 7});
  backlog.Add(Event(1, Kind::kUpdated), 0, {.ticket = 8});
  backlog.Add(Event(1, Kind::kResolved), 0, {.number = 103});
  backlog.BeginSending();
  EXPECT_TRUE(backlog.NoteWritten(7, 101)) << "while it is being sent";
  EXPECT_THAT(backlog.EndSending(false), IsEmpty());
  EXPECT_TRUE(backlog.NoteWritten(8, 102));
  backlog.BeginSending();
  EXPECT_THAT(backlog.EndSending(true), ElementsAre(101, 102));
  EXPECT_FALSE(backlog.NoteWritten(7, 101)) << "it is gone";
  backlog.BeginSending();
  EXPECT_THAT(backlog.EndSending(true), ElementsAre(103));
}

TEST(AlertBacklogTest, AFullBacklogGivesUpUpdatesFirst) {
  AlertBacklog backlog(2);
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

// A receiver of a large enough backlog sees the same openings, resolutions and reopenings as one without a backlog.
TEST(AlertBacklogTest, RandomSequencesKeepEveryTransitionInOrder) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    AlertBacklog backlog(10'000);
    std::map<uint64_t, std::vector<Kind>> announced, sent;
    std::map<uint64_t, bool> open;
    const auto send_one = [&] {
      const IncidentEvent event = backlog.BeginSending().event;
      const bool done = random.Below(3) > 0;
      backlog.EndSending(done);
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
      if (random.Below(2) == 0 && !backlog.empty()) send_one();
    }
    while (!backlog.empty()) send_one();
    EXPECT_EQ(sent, announced) << "seed " << seed;
    EXPECT_EQ(backlog.dropped(), 0u);
  }
}

}  // namespace
}  // namespace lockstep
