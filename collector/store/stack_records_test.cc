#include "collector/store/stack_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/testing/status_matchers.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class StackRecordsTest : public RocksStoreFixture {};

wire::StackDump Dump(int32_t rank, size_t bytes = 0) {
  wire::StackDump dump;
  dump.set_rank(rank);
  dump.add_names(std::string(bytes, 'x'));
  return dump;
}

TEST_F(StackRecordsTest, AreKeptByIncidentAndPlaceOverARestart) {
  Open();
  ASSERT_OK(store_->PutStacks(7, 1, Dump(11)));
  ASSERT_OK(store_->PutStacks(7, 0, Dump(9)));
  ASSERT_OK(store_->PutStacks(8, 0, Dump(1)));
  ASSERT_OK(store_->PutStacks(7, 0, Dump(10)));
  Open();
  const auto kept = store_->LoadStacks(7);
  ASSERT_OK(kept);
  ASSERT_THAT(*kept, SizeIs(2));
  EXPECT_EQ((*kept)[0].rank(), 10);
  EXPECT_EQ((*kept)[1].rank(), 11);
  EXPECT_THAT(*store_->LoadStacks(9), IsEmpty());
}

TEST_F(StackRecordsTest, TheOldestIncidentsMakeRoom) {
  Open();
  const size_t large = kMaxStackRecordBytes / 4;
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(store_->PutStacks(id, 0, Dump(0, large)).value(), 0u);
  Open();
  EXPECT_EQ(store_->PutStacks(4, 0, Dump(0, large)).value(), 1u) << "the limit outlives a restart";
  EXPECT_THAT(*store_->LoadStacks(1), IsEmpty());
  EXPECT_THAT(*store_->LoadStacks(2), SizeIs(1));
  EXPECT_EQ(store_->PutStacks(4, 0, Dump(0, large)).value(), 0u) << "in the place of the same";
  EXPECT_THAT(*store_->LoadStacks(4), SizeIs(1));
}

}  // namespace
}  // namespace lockstep
