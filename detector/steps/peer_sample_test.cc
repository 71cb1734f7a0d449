#include "detector/steps/peer_sample.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Ranks of one class that are inside of operations for so many milliseconds each; what they leave open does not count.
class PeersByWaitingTest : public ::testing::Test {
 protected:
  static std::vector<int32_t> Order(const std::vector<int64_t>& inside_ms) {
    TraceBuilder builder("job");
    JobRoles roles;
    roles.classes = {{}};
    const int32_t group = builder.AddCommunicator("group", "", static_cast<int32_t>(inside_ms.size()));
    for (size_t i = 0; i < inside_ms.size(); ++i) {
      const auto rank = static_cast<int32_t>(i);
      const int32_t handle = builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))});
      builder.AddMember(group, rank, handle);
      TraceOperation operation{.communicator = group, .kind = OperationKind::kAllReduce};
      operation.start_ns = 1'000'000;
      operation.end_ns = operation.start_ns + inside_ms[i] * 1'000'000;
      builder.Add(handle, operation);
      operation.sequence = 1;
      operation.start_ns = operation.end_ns + 1;
      operation.end_ns = kNoTime;
      builder.Add(handle, operation);
      roles.classes[0].push_back(rank);
      roles.class_of_rank.push_back(0);
    }
    return OrderByWaiting(builder.Build(), roles).front();
  }
};

TEST_F(PeersByWaitingTest, WhoWaitsLeastComesFirst) {
  EXPECT_THAT(Order({30, 10, 20, 40}), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(Order({20, 10, 10, 30}), ElementsAre(1, 2, 0, 3)) << "of equals the lower number";
}

TEST_F(PeersByWaitingTest, NumbersDoNotDecideWhoIsLookedAt) {
  std::vector<int64_t> inside_ms(40), dealt_anew(40);
  std::iota(inside_ms.begin(), inside_ms.end(), 1);
  for (size_t i = 0; i < inside_ms.size(); ++i) dealt_anew[(i * 7 + 3) % 40] = inside_ms[i];
  const std::vector<char> begins_seen(40, 0);
  std::vector<int64_t> looked_at, looked_at_anew;
  for (const size_t rank : SamplePeers(Order(inside_ms), begins_seen)) looked_at.push_back(inside_ms[rank]);
  for (const size_t rank : SamplePeers(Order(dealt_anew), begins_seen)) looked_at_anew.push_back(dealt_anew[rank]);
  EXPECT_THAT(looked_at, SizeIs(kSampledPeers));
  EXPECT_EQ(looked_at, looked_at_anew);
}

TEST(SamplePeers, AreThoseWhoseBeginsAreSeenIfThereAreAny) {
  EXPECT_THAT(SamplePeers({3, 1, 0, 2}, {0, 1, 1, 0}), ElementsAre(3, 0));
  EXPECT_THAT(SamplePeers({3, 1, 0, 2}, {1, 1, 1, 1}), ElementsAre(3, 1, 0, 2));
}

}  // namespace
}  // namespace lockstep
