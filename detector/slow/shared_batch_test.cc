#include "detector/slow/shared_batch.h"

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/trace.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/step_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// 12 hosts of 2 ranks: replica r works on hosts 3r to 3r + 2, each of them one stage.
class SharedBatchTest : public ::testing::Test {
 protected:
  SharedBatchTest() {
    for (int32_t host = 0; host < 12; ++host) {
      trace_.hosts.push_back("h" + std::to_string(host));
      for (int32_t rank = 2 * host; rank < 2 * host + 2; ++rank) {
        trace_.ranks.push_back({.rank = rank, .host = host});
        places_.push_back({.stage = host % 3, .replica = host / 3, .lane = rank % 2});
      }
    }
  }

  void SlowHost(int32_t host, int32_t onset = 5, SlowKind kind = SlowKind::kHost) {
    SlowCause cause;
    cause.kind = kind;
    cause.whole_host = true;
    cause.suspects = {{.rank = 2 * host, .first_step = onset}, {.rank = 2 * host + 1, .first_step = onset}};
    causes_.push_back(cause);
  }

  std::vector<SharedBatch> Found() const { return FindSharedBatches(trace_, places_, causes_); }

  Trace trace_;
  std::vector<PlaceInJob> places_;
  std::vector<SlowCause> causes_;
};

TEST_F(SharedBatchTest, AllHostsOfAReplicaAreOne) {
  for (const int32_t host : {8, 1, 6, 7}) SlowHost(host, host == 7 ? 6 : 5);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].replica, 2);
  EXPECT_EQ(Found()[0].causes, (std::vector<size_t>{0, 2, 3})) << "host 1 stays a cause of its own";
}

TEST_F(SharedBatchTest, OneMissingIsNoReplica) {
  for (const int32_t host : {6, 7}) SlowHost(host);
  EXPECT_TRUE(Found().empty());
}

TEST_F(SharedBatchTest, OtherOnsetsAndKindsAreOtherCauses) {
  for (const int32_t host : {6, 7}) SlowHost(host);
  SlowHost(8, 9);
  EXPECT_TRUE(Found().empty());
  causes_.pop_back();
  SlowHost(8, 5, SlowKind::kInput);
  EXPECT_TRUE(Found().empty());
}

TEST_F(SharedBatchTest, SingleRanksAreNoHosts) {
  for (const int32_t host : {6, 7, 8}) SlowHost(host);
  causes_[1].whole_host = false;
  EXPECT_TRUE(Found().empty());
}

TEST_F(SharedBatchTest, AReplicaOfTwoHostsOrOfTheWholeJobTellsNothing) {
  for (size_t rank = 0; rank < places_.size(); ++rank) places_[rank].replica = static_cast<int32_t>(rank) / 4;
  for (const int32_t host : {6, 7}) SlowHost(host);
  EXPECT_TRUE(Found().empty());
  for (PlaceInJob& place : places_) place.replica = 0;
  for (const int32_t host : {0, 1, 2, 3, 4, 5, 8, 9, 10, 11}) SlowHost(host);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace lockstep
