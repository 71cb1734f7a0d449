#include "detector/steps/class_anchor.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 4;
constexpr int32_t kLanes = 2;
constexpr int32_t kSteps = 12;
constexpr uint64_t kMuch = 1 << 23;
constexpr int64_t kMilli = 1'000'000;

// Ranks of equal duty: pairs of neighbours are groups, and those across them.
class Job {
 public:
  Job() : builder_("job") {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank))});
    }
  }

  // Rank 0 comes last, and is inside for `last_ns`; all others for 10 ms more.
  void Call(const std::string& groups, OperationKind kind, uint64_t bytes, int64_t last_ns = kMilli) {
    now_ns_ += 20 * kMilli;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const bool across = groups == "across";
      const int32_t communicator =
          builder_.AddCommunicator(absl::StrCat(groups, across ? rank % kLanes : rank / kLanes), "", kLanes);
      builder_.AddMember(communicator, across ? rank / kLanes : rank % kLanes, rank);
      builder_.Add(rank, {.enqueue_ns = now_ns_,
                          .start_ns = now_ns_ + (rank % kLanes == 0 && rank / kLanes == 0 ? 10 * kMilli : 0),
                          .end_ns = now_ns_ + 10 * kMilli + last_ns,
                          .sequence = ++sequences_[absl::StrCat(groups, rank)],
                          .bytes = bytes,
                          .communicator = communicator,
                          .kind = kind});
    }
  }

  AnchorCall Anchor() {
    const Trace trace = builder_.Build();
    const OperationInstances matched = MatchOperations(trace);
    const JobRoles roles = InferRoles(trace, matched);
    return FindClassAnchor(trace, matched, roles, roles.classes.front(), true);
  }

 private:
  TraceBuilder builder_;
  std::map<std::string, uint64_t> sequences_;
  int64_t now_ns_ = 0;
};

TEST(ClassAnchorTest, CallsOfAnotherSizeAreOtherCallsWhereSizesTell) {
  Job job;
  for (int32_t step = 0; step < kSteps; ++step) {
    for (int32_t layer = 0; layer < 3; ++layer) job.Call("near", OperationKind::kAllGather, kMuch);
    job.Call("across", OperationKind::kAllReduce, kMuch);
    for (int32_t layer = 0; layer < 3; ++layer) job.Call("across", OperationKind::kAllReduce, 2 * kMuch);
  }
  const AnchorCall anchor = job.Anchor();
  EXPECT_EQ(anchor.kind, OperationKind::kAllReduce);
  EXPECT_TRUE(anchor.by_bytes);
  EXPECT_EQ(anchor.bytes, kMuch);
  EXPECT_EQ(anchor.per_step, 1u);
}

// Batches hold four of five kinds of calls, but nothing in them connects all peers.
TEST(ClassAnchorTest, WhatDoesNotConnectAllPeersEndsNoStep) {
  Job job;
  for (int32_t step = 0; step < kSteps; ++step) {
    for (int32_t batch = 0; batch < 4; ++batch) {
      job.Call("near", OperationKind::kAllGather, kMuch);
      job.Call("near", OperationKind::kAllToAll, kMuch);
      job.Call("near", OperationKind::kBroadcast, kMuch);
      job.Call("near", OperationKind::kReduceScatter, kMuch);
    }
    job.Call("across", OperationKind::kAllReduce, kMuch);
  }
  EXPECT_EQ(job.Anchor().kind, OperationKind::kAllReduce);
}

// A norm that ranks agree on in every fourth step makes no step four times as long. All but the last wait inside.
TEST(ClassAnchorTest, WithoutSizesTheTimeOfTheLastToComeShowsWhatMovesNextToNothing) {
  const auto anchor_with = [](int64_t norm_ns) {
    Job job;
    for (int32_t step = 0; step < 4 * kSteps; ++step) {
      job.Call("across", OperationKind::kAllGather, 0, 5 * kMilli);
      job.Call("across", OperationKind::kAllGather, 0, 5 * kMilli);
      job.Call("across", OperationKind::kReduceScatter, 0, 5 * kMilli);
      if (step % 4 == 3) job.Call("across", OperationKind::kAllReduce, 0, norm_ns);
    }
    return job.Anchor().kind;
  };
  EXPECT_EQ(anchor_with(kMilli / 100), OperationKind::kReduceScatter);
  EXPECT_EQ(anchor_with(5 * kMilli), OperationKind::kAllReduce);
}

TEST(ClassAnchorTest, OfAClassWithoutRecordsNothingIsKnown) {
  Job job;
  EXPECT_FALSE(job.Anchor().known());
}

}  // namespace
}  // namespace lockstep
