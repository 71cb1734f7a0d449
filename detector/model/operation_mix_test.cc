#include "detector/model/operation_mix.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/executor.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Trace TwoGroups() {
  Trace trace;
  trace.communicators.resize(3);
  const auto add = [&](int32_t communicator, OperationKind kind, uint64_t bytes) {
    trace.operations.push_back({.bytes = bytes, .communicator = communicator, .kind = kind});
  };
  for (const uint64_t bytes : {kMuchBytes - 1, kMuchBytes, 2 * kMuchBytes}) {
    add(0, OperationKind::kAllReduce, bytes);
    add(0, OperationKind::kReduceScatter, bytes);
    add(0, OperationKind::kBroadcast, bytes);
  }
  add(2, OperationKind::kAllToAll, kMuchBytes);
  add(2, OperationKind::kSend, kMuchBytes);
  add(2, OperationKind::kRecv, kMuchBytes);
  return trace;
}

void ExpectTwoGroups(const std::vector<OperationMix>& mixes) {
  ASSERT_EQ(mixes.size(), 3u);
  EXPECT_EQ(mixes[0].collectives, 9u);
  EXPECT_EQ(mixes[0].large, 5u) << "neither broadcasts nor small sums, but all that is reduced and scattered";
  EXPECT_EQ(mixes[0].all_to_alls, 0u);
  EXPECT_EQ(mixes[0].sends, 0u);
  EXPECT_EQ(mixes[1].collectives, 0u);
  EXPECT_EQ(mixes[2].collectives, 1u);
  EXPECT_EQ(mixes[2].all_to_alls, 1u);
  EXPECT_EQ(mixes[2].large, 0u);
  EXPECT_EQ(mixes[2].sends, 2u);
}

TEST(OperationMixTest, KindsAndSizesOfEachCommunicatorAreCounted) {
  ExpectTwoGroups(MixOperations(TwoGroups(), nullptr));
}

TEST(OperationMixTest, PartsAddUpWhereverTheyAreCut) {
  class Lanes : public Executor {
   public:
    size_t lanes() const override { return 5; }
    void Run(size_t count, absl::FunctionRef<void(size_t)> piece) override {
      for (size_t i = count; i-- > 0;) piece(i);
    }
  };
  Lanes lanes;
  ExpectTwoGroups(MixOperations(TwoGroups(), &lanes));
}

}  // namespace
}  // namespace lockstep
