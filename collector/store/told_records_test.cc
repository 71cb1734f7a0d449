#include "collector/store/told_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "base/testing/status_matchers.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/incident.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ToldRecordsTest : public RocksStoreFixture {
 protected:
  void PutIncident(uint64_t id) {
    wire::Incident incident;
    incident.set_id(id);
    ASSERT_OK(store_->PutIncident(incident));
  }
};

TEST_F(ToldRecordsTest, AreKeptByIncidentAndReceiverOverARestart) {
  Open();
  for (const uint64_t id : {7, 8}) PutIncident(id);
  const ToldAlert older = {7, "chat", "C1", "17.1", 5};
  const ToldAlert newer = {7, "chat", "C1", "17.1", 6};
  const ToldAlert elsewhere = {7, "chat https://b.example.org", "C2", "17.3", 0};
  const ToldAlert other = {8, "pager", "", "", 7};
  for (const ToldAlert& told : {other, older, elsewhere, newer}) ASSERT_OK(store_->PutTold(told));
  Open();
  EXPECT_THAT(store_->LoadTold().value(), ElementsAre(newer, elsewhere, other));
}

TEST_F(ToldRecordsTest, AnEmptyOneRemovesWhatIsThere) {
  Open();
  PutIncident(7);
  ASSERT_OK(store_->PutTold({7, "pager", "", "", 7}));
  ASSERT_OK(store_->PutTold({7, "pager", "", "", 0}));
  ASSERT_OK(store_->PutTold({7, "stranger", "", "", 0})) << "of which nothing is there";
  Open();
  EXPECT_THAT(store_->LoadTold().value(), IsEmpty());
}

TEST_F(ToldRecordsTest, GoWithTheirIncidents) {
  Open();
  PutIncident(8);
  ASSERT_OK(store_->PutTold({7, "chat", "C1", "17.1"}));
  ASSERT_OK(store_->PutTold({8, "chat", "C1", "17.2"}));
  EXPECT_THAT(store_->LoadTold().value(), SizeIs(1));
  PutIncident(7);
  Open();
  EXPECT_THAT(store_->LoadTold().value(), ElementsAre(ToldAlert{8, "chat", "C1", "17.2"}));
}

TEST_F(ToldRecordsTest, TheOldestIncidentsMakeRoom) {
  Open();
  size_t removed = 0;
  for (uint64_t id = 1; id <= kMaxToldRecords; ++id) removed += store_->PutTold({id, "chat", "", "1"}).value();
  EXPECT_EQ(removed, 0u);
  Open();
  PutIncident(1);
  PutIncident(2);
  EXPECT_EQ(store_->PutTold({kMaxToldRecords + 1, "chat", "", "1"}).value(), 1u) << "the limit outlives a restart";
  EXPECT_EQ(store_->PutTold({kMaxToldRecords + 1, "chat", "", "2"}).value(), 0u) << "in the place of the same";
  EXPECT_THAT(store_->LoadTold().value(), ElementsAre(ToldAlert{2, "chat", "", "1"}));
}

TEST_F(ToldRecordsTest, LongThreadsMakeRoomForNewerOnes) {
  Open();
  const std::string thread(60'000, 't');
  const size_t fit = kMaxToldBytes / thread.size();
  size_t removed = 0;
  for (uint64_t id = 1; id <= fit + 10; ++id) {
    PutIncident(id);
    removed += store_->PutTold({id, "chat", "", thread}).value();
  }
  const std::vector<ToldAlert> kept = store_->LoadTold().value();
  EXPECT_EQ(kept.size() + removed, fit + 10);
  EXPECT_LE(kept.size() * thread.size(), kMaxToldBytes);
  EXPECT_GE(kept.size() + 1, fit);
  EXPECT_EQ(kept.back().incident, fit + 10);
}

}  // namespace
}  // namespace lockstep
