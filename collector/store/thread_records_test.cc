#include "collector/store/thread_records.h"

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
using ::testing::SizeIs;

class ThreadRecordsTest : public RocksStoreFixture {
 protected:
  void PutIncident(uint64_t id) {
    wire::Incident incident;
    incident.set_id(id);
    ASSERT_OK(store_->PutIncident(incident));
  }
};

TEST_F(ThreadRecordsTest, AreKeptByIncidentAndReceiverOverARestart) {
  Open();
  for (const uint64_t id : {7, 8}) PutIncident(id);
  const AlertThread older = {7, "chat", "C1", "17.1"};
  const AlertThread newer = {7, "chat", "C1", "17.2"};
  const AlertThread elsewhere = {7, "chat https://b.example.org", "C2", "17.3"};
  const AlertThread other = {8, "chat", "C1", "17.4"};
  for (const AlertThread& thread : {other, older, elsewhere, newer}) ASSERT_OK(store_->PutThread(thread));
  Open();
  EXPECT_THAT(store_->LoadThreads().value(), ElementsAre(newer, elsewhere, other));
}

TEST_F(ThreadRecordsTest, GoWithTheirIncidents) {
  Open();
  PutIncident(8);
  ASSERT_OK(store_->PutThread({7, "chat", "C1", "17.1"}));
  ASSERT_OK(store_->PutThread({8, "chat", "C1", "17.2"}));
  EXPECT_THAT(store_->LoadThreads().value(), SizeIs(1));
  PutIncident(7);
  Open();
  EXPECT_THAT(store_->LoadThreads().value(), ElementsAre(AlertThread{8, "chat", "C1", "17.2"}));
}

TEST_F(ThreadRecordsTest, TheOldestIncidentsMakeRoom) {
  Open();
  size_t removed = 0;
  for (uint64_t id = 1; id <= kMaxThreadRecords; ++id) removed += store_->PutThread({id, "chat", "", "1"}).value();
  EXPECT_EQ(removed, 0u);
  Open();
  PutIncident(1);
  PutIncident(2);
  EXPECT_EQ(store_->PutThread({kMaxThreadRecords + 1, "chat", "", "1"}).value(), 1u) << "the limit outlives a restart";
  EXPECT_EQ(store_->PutThread({kMaxThreadRecords + 1, "chat", "", "2"}).value(), 0u) << "in the place of the same";
  EXPECT_THAT(store_->LoadThreads().value(), ElementsAre(AlertThread{2, "chat", "", "1"}));
}

}  // namespace
}  // namespace lockstep
