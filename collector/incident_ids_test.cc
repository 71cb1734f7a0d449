#include "collector/incident_ids.h"

#include <gtest/gtest.h>

#include "base/testing/status_matchers.h"
#include "collector/incident_index.h"
#include "collector/store/testing/memory_store.h"

namespace lockstep {
namespace {

constexpr size_t kMaxIncidents = 10;

// A collector between its start and its end, as far as ids go.
struct Life {
  explicit Life(MemoryStore& store) : ids(store, index) {}

  IncidentIndex index{kMaxIncidents};
  IncidentIds ids;
};

TEST(IncidentIdsTest, WhatDiedWhileTheDiskRefusedIsNeverAnotherIncident) {
  MemoryStore store;
  Life first(store);
  ASSERT_OK(first.ids.Restore());
  EXPECT_EQ(first.index.NextId(), 1u);
  store.set_refuses(true);
  const uint64_t told = first.index.NextId();  // and never written
  first.ids.Renew();
  store.set_refuses(false);

  Life second(store);
  ASSERT_OK(second.ids.Restore());
  EXPECT_GT(second.index.NextId(), told);
}

TEST(IncidentIdsTest, AnOrderlyEndLeavesNoGap) {
  MemoryStore store;
  Life first(store);
  ASSERT_OK(first.ids.Restore());
  EXPECT_EQ(first.index.NextId(), 1u);
  first.ids.GiveBack();

  Life second(store);
  ASSERT_OK(second.ids.Restore());
  EXPECT_EQ(second.index.NextId(), 2u);
}

TEST(IncidentIdsTest, HistoryHasTakenHalfAtLeastOfWhatMayComeNext) {
  MemoryStore store;
  Life life(store);
  ASSERT_OK(life.ids.Restore());
  for (uint64_t id = 1; id <= 1'000; ++id) {
    EXPECT_EQ(life.index.NextId(), id);
    life.ids.Renew();
    EXPECT_GE(*store.LoadIncidentIds(), id + IncidentIds::kAhead / 2);
    EXPECT_LE(*store.LoadIncidentIds(), id + IncidentIds::kAhead);
  }
}

TEST(IncidentIdsTest, ADiskThatRefusesAtTheStartTakesThemLater) {
  MemoryStore store;
  store.set_refuses(true);
  Life life(store);
  ASSERT_OK(life.ids.Restore());
  EXPECT_EQ(life.index.NextId(), 1u);
  store.set_refuses(false);
  life.ids.Renew();
  EXPECT_EQ(*store.LoadIncidentIds(), 1 + IncidentIds::kAhead);
}

}  // namespace
}  // namespace lockstep
