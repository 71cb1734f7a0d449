// Pipelines in which work hides beside a Recv until a slow rank lets the Recvs end late.

#include "detector/slow/dragged_along.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kReplicas = 4, kSteps = 6;
constexpr int64_t kMillis = 1'000'000;

// Four pipelines of two stages: rank and rank + 4 send to one another. In each step a rank sends at 100 ms, while it
// receives since 0, and works 900 ms for its next Send.
class DraggedAlongTest : public ::testing::Test {
 protected:
  struct Times {
    int64_t received_ms = 900;
    int64_t sent_ms = 1'000;
  };

  void Build(const std::vector<Times>& of_rank) {
    const auto ranks = static_cast<int32_t>(of_rank.size());
    analysis_.trace = &trace_;
    analysis_.roles.families = 1;
    analysis_.roles.classes.assign(2, std::vector<int32_t>(kReplicas));
    std::iota(analysis_.roles.classes[0].begin(), analysis_.roles.classes[0].end(), 0);
    std::iota(analysis_.roles.classes[1].begin(), analysis_.roles.classes[1].end(), kReplicas);
    for (int32_t pair = 0; pair < kReplicas; ++pair) {
      trace_.communicators.push_back({.members = {pair, pair + kReplicas}});
      analysis_.roles.communicators.push_back({.family = 0});
      analysis_.matched.channels.push_back({.communicator = pair, .source = 0, .destination = 1});
    }
    analysis_.steps.steps = kSteps;
    analysis_.steps.ranks = of_rank.size();
    analysis_.steps.usual.assign(kSteps, 1);
    analysis_.profile.ranks = of_rank.size();
    analysis_.profile.steps = kSteps;
    analysis_.profile.own.assign(of_rank.size() * kSteps, 1);
    for (int32_t rank = 0; rank < ranks; ++rank) {
      analysis_.roles.class_of_rank.push_back(rank / kReplicas);
      for (int32_t step = 0; step < kSteps; ++step) AddStep(rank, step, of_rank[static_cast<size_t>(rank)]);
    }
  }

  void AddStep(int32_t rank, int32_t step, const Times& times) {
    const int64_t from = step * 10'000 * kMillis;
    const auto begin = static_cast<uint32_t>(trace_.operations.size());
    const auto add = [&](OperationKind kind, int64_t start_ms, int64_t end_ms, float own) {
      trace_.operations.push_back({.enqueue_ns = from,
                                   .start_ns = from + start_ms * kMillis,
                                   .end_ns = from + end_ms * kMillis,
                                   .communicator = rank % kReplicas,
                                   .kind = kind});
      analysis_.times.before.push_back({.seconds = own});
    };
    add(OperationKind::kRecv, 0, times.received_ms, -1);
    add(OperationKind::kSend, 100, 101, 0.1F);
    add(OperationKind::kSend, times.sent_ms, times.sent_ms + 1,
        static_cast<float>(times.sent_ms - times.received_ms) / 1'000);
    analysis_.steps.ranges.push_back({begin, begin + 3, true});
  }

  static Suspect SuspectOf(int32_t rank, double excess, int32_t first_step = 0) {
    return {.rank = rank, .first_step = first_step, .last_step = kSteps - 1, .excess_seconds = excess};
  }

  std::vector<int32_t> Left(std::vector<Suspect> suspects) const {
    DropDraggedAlong(analysis_, transfers_, &suspects);
    std::vector<int32_t> ranks;
    for (const Suspect& suspect : suspects) ranks.push_back(suspect.rank);
    return ranks;
  }

  Trace trace_;
  TraceAnalysis analysis_;
  std::vector<SlowTransfers> transfers_;
  // Of rank 4 the work takes twice as long; rank 0 receives so late that its work begins only then.
  std::vector<Times> dragged_ = {{1'000, 1'900}, {}, {}, {}, {900, 2'700}, {}, {}, {}};
};

using Ranks = std::vector<int32_t>;

TEST_F(DraggedAlongTest, WhoseWorkMerelyHidesNoMoreIsNotBelieved) {
  Build(dragged_);
  const std::vector<Suspect> suspects = {SuspectOf(4, 1.7), SuspectOf(0, 0.8)};
  EXPECT_NEAR(SureExcess(analysis_, suspects[0], suspects).value_or(-1), 0.9, 1e-3);
  EXPECT_NEAR(SureExcess(analysis_, suspects[1], suspects).value_or(-1), 0, 1e-3);
  EXPECT_EQ(Left(suspects), Ranks({4}));
}

TEST_F(DraggedAlongTest, WhoIsSlowBesideItStays) {
  dragged_[0] = {900, 2'800};
  Build(dragged_);
  EXPECT_EQ(Left({SuspectOf(4, 1.9), SuspectOf(0, 1.7)}), Ranks({4, 0}));
}

TEST_F(DraggedAlongTest, AnotherOnsetIsAnotherCause) {
  Build(dragged_);
  EXPECT_EQ(Left({SuspectOf(4, 1.7), SuspectOf(0, 0.8, 4)}), Ranks({4, 0}));
}

TEST_F(DraggedAlongTest, AnotherPipelineIsNotDraggedAlong) {
  dragged_[1] = dragged_[0];
  Build(dragged_);
  EXPECT_EQ(Left({SuspectOf(4, 1.7), SuspectOf(1, 0.8)}), Ranks({4, 1}));
}

TEST_F(DraggedAlongTest, ASlowPathDragsAsWell) {
  dragged_[4] = {};
  Build(dragged_);
  trace_.ranks.resize(dragged_.size());
  EXPECT_EQ(Left({SuspectOf(0, 0.8)}), Ranks({0}));
  transfers_ = {{.channels = {{.channel = 0, .first_step = 1}}, .first_step = 1}};
  EXPECT_EQ(Left({SuspectOf(0, 0.8)}), Ranks({})) << "the path between ranks 0 and 4, since the same step";
  transfers_[0].channels[0].first_step = 5;
  EXPECT_EQ(Left({SuspectOf(0, 0.8)}), Ranks({0})) << "another onset";
  transfers_[0].channels[0] = {.channel = 1, .first_step = 1};
  EXPECT_EQ(Left({SuspectOf(0, 0.8)}), Ranks({0})) << "another pipeline";
}

TEST_F(DraggedAlongTest, WhoIsSlowBesideASlowPathStays) {
  Build(dragged_);
  trace_.ranks.resize(dragged_.size());
  transfers_ = {{.channels = {{.channel = 0, .first_step = 1}}, .first_step = 1}};
  EXPECT_EQ(Left({SuspectOf(4, 1.7)}), Ranks({4}));
}

TEST_F(DraggedAlongTest, WhereNobodyIsSureAllStay) {
  dragged_[4] = dragged_[0];
  Build(dragged_);
  EXPECT_EQ(Left({SuspectOf(4, 0.8), SuspectOf(0, 0.7)}), Ranks({4, 0}));
}

}  // namespace
}  // namespace lockstep
