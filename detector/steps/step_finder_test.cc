#include "detector/steps/step_finder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"

namespace lockstep {
namespace {

constexpr int32_t kLayers = 4;
constexpr int32_t kRanks = 16;
constexpr int32_t kLanes = 4;
constexpr int64_t kCallNs = 1'000'000;

// Tensor groups of neighbours and data groups across them, calls of one size: a call in the tensor group per layer and
// direction, and beside each of the backward pass one in the data group. As a real job on a GPU made them.
class LayeredJob {
 public:
  // Of a rank whose recorder begins late, the first `missing` calls are not there. `bytes_apart` > 0: data groups
  // gather before a step and scatter behind it, instead of a call per layer, each other group so much more than the one
  // before.
  explicit LayeredJob(int32_t steps, std::map<int32_t, int32_t> missing = {}, uint64_t bytes_apart = 0)
      : missing_(std::move(missing)), bytes_apart_(bytes_apart), builder_("job") {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank))});
    }
    for (int32_t step = 0; step < steps; ++step) Step();
  }

  StepTable Steps() {
    const Trace trace = builder_.Build();
    const OperationInstances matched = MatchOperations(trace);
    return FindSteps(trace, matched, InferRoles(trace, matched));
  }

 private:
  void Step() {
    if (bytes_apart_ > 0) {
      Call("data", OperationKind::kAllGather);
      for (int32_t layer = 0; layer < 2 * kLayers; ++layer) Call("tensor", OperationKind::kAllReduce);
      Call("data", OperationKind::kReduceScatter);
      return;
    }
    for (int32_t layer = 0; layer < kLayers; ++layer) Call("tensor", OperationKind::kAllReduce);
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      Call("tensor", OperationKind::kAllReduce);
      Call("data", OperationKind::kAllReduce);
    }
  }

  void Call(const std::string& kind, OperationKind operation) {
    now_ns_ += kCallNs;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const bool tensor = kind == "tensor";
      const int32_t group = tensor ? rank / kLanes : rank % kLanes;
      const int32_t place = tensor ? rank % kLanes : rank / kLanes;
      const int32_t communicator = builder_.AddCommunicator(absl::StrCat(kind, group), "", kLanes);
      builder_.AddMember(communicator, place, rank);
      const uint64_t sequence = ++sequences_[absl::StrCat(kind, rank)];
      if (--missing_[rank] >= 0) continue;
      builder_.Add(rank, {.enqueue_ns = now_ns_,
                          .start_ns = now_ns_,
                          .end_ns = now_ns_ + kCallNs / 2,
                          .sequence = sequence,
                          .bytes = (1 << 23) + (tensor ? 0 : bytes_apart_ * static_cast<uint64_t>(group)),
                          .communicator = communicator,
                          .kind = operation});
    }
  }

  std::map<int32_t, int32_t> missing_;
  const uint64_t bytes_apart_;
  TraceBuilder builder_;
  std::map<std::string, uint64_t> sequences_;
  int64_t now_ns_ = 0;
};

TEST(StepFinderTest, LayersAreNoSteps) {
  const StepTable table = LayeredJob(20).Steps();
  EXPECT_NEAR(table.steps, 20, 1);
  EXPECT_NEAR(table.usual_seconds, 3 * kLayers * 1e-9 * kCallNs, 1e-9);
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    const StepRange& range = table.Of(static_cast<size_t>(rank), 5);
    EXPECT_EQ(range.end - range.begin, 3 * kLayers) << rank;
  }
}

TEST(StepFinderTest, RanksThatAreRecordedLaterAreCutAtTheSamePlaces) {
  const StepTable table = LayeredJob(20, {{1, 17}, {2, 40}, {3, 5}, {7, 24}, {13, 3}}).Steps();
  ASSERT_GE(table.steps, 15);
  for (int32_t step = 6; step < 15; ++step) {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const StepRange& range = table.Of(static_cast<size_t>(rank), step);
      EXPECT_EQ(range.end - range.begin, 3 * kLayers) << rank << " in step " << step;
    }
  }
  EXPECT_NEAR(table.usual_spread_seconds, 0, 1e-9) << "all at once";
}

TEST(StepFinderTest, GroupsOfEqualDutyMayHoldPartsOfSlightlyOtherSizes) {
  const StepTable table = LayeredJob(20, {}, 4'096).Steps();
  EXPECT_NEAR(table.steps, 20, 1);
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    const StepRange& range = table.Of(static_cast<size_t>(rank), 5);
    EXPECT_EQ(range.end - range.begin, 2 * kLayers + 2) << rank;
  }
}

}  // namespace
}  // namespace lockstep
