#include "detector/hang/artefact_causes.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/hang/hang.h"
#include "detector/hang/trace_frontier.h"
#include "detector/hang/wait_graph.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/testing/scripted_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Four ranks on two hosts. Ranks 0 and 3 are missing from the operation that is node 4, and rank 3 from node 5 as well:
// rank 1 stands in the one, rank 2 in the other.
class ArtefactCausesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Random random(1);
    ScriptedJob job{.gpus_per_host = 2,
                    .communicators = {{0, 1, 2, 3}},
                    .programs = std::vector<std::vector<ScriptedCall>>(4, {{.communicator = 0}}),
                    .host_stops_at = std::vector<size_t>(4, ScriptedJob::kNever),
                    .gpu_stops_at = std::vector<size_t>(4, ScriptedJob::kNever)};
    trace_ = RunScript(job, ScriptedRecords::kFull, random).trace;
    trace_.lost_records = 1;
  }

  static Hang Missing(std::vector<int32_t> ranks, int32_t victims) {
    return {.kind = HangKind::kNotEntered, .ranks = std::move(ranks), .victims = victims};
  }

  std::vector<std::vector<int32_t>> Left(std::vector<Hang> hangs) const {
    const std::vector<std::vector<int32_t>> waited_for = {{4}, {}, {}, {4, 5}, {1}, {2}};
    const auto victims_of = [&](const Hang& hang) { return ReachedFrom(hang.ranks, waited_for); };
    DropArtefacts(FrontierOf(trace_), waited_for, victims_of, &hangs);
    std::vector<std::vector<int32_t>> left;
    for (const Hang& hang : hangs) left.push_back(hang.ranks);
    return left;
  }

  using Ranks = std::vector<std::vector<int32_t>>;
  Trace trace_;
};

TEST_F(ArtefactCausesTest, AreLikelyWhereManyRanksMayHaveLostTheirNewestRecord) {
  EXPECT_TRUE(ArtefactsAreLikely(FrontierOf(trace_))) << "1 of 5 records, 4 ranks";
  trace_.lost_records = 0;
  EXPECT_FALSE(ArtefactsAreLikely(FrontierOf(trace_)));
}

TEST_F(ArtefactCausesTest, TheCauseThatMostWaitForIsKept) {
  EXPECT_EQ(Left({Missing({0}, 1), Missing({3}, 2)}), (Ranks{{3}}));
  EXPECT_EQ(Left({Missing({0}, 2), Missing({3}, 2)}), (Ranks{{0}, {3}})) << "lanes of one machine";
}

TEST_F(ArtefactCausesTest, WhatNoLossShowsComesFirst) {
  const Hang mismatch{.kind = HangKind::kMismatch, .ranks = {1}, .victims = 1};
  const Hang deadlock{.kind = HangKind::kDeadlock, .ranks = {2}, .victims = 1};
  EXPECT_EQ(Left({Missing({3}, 2), mismatch, deadlock}), (Ranks{{1}}));
  EXPECT_EQ(Left({Missing({3}, 2), deadlock}), (Ranks{{2}}));
  trace_.ranks[3].process_state = ProcessState::kZombie;
  EXPECT_EQ(Left({Missing({3}, 2), deadlock}), (Ranks{{3}}));
}

TEST_F(ArtefactCausesTest, OfThoseMissingTogetherTheSureOneOrTheMostAwaitedIsKept) {
  EXPECT_EQ(Left({Missing({0, 3}, 2)}), (Ranks{{3}}));
  trace_.ranks[0].process_state = ProcessState::kGone;
  EXPECT_EQ(Left({Missing({0, 3}, 2)}), (Ranks{{0}}));
}

TEST_F(ArtefactCausesTest, RecordsThatEndEarlyAreSureForMostOfAHostOnly) {
  // Looked at were ranks 0, 1 and 3 alone, but for rank 2 there is another one of its host: it is not unseen.
  for (const size_t rank : {0, 1, 3}) trace_.ranks[rank].last_seen_ns = 1;
  EXPECT_EQ(Left({Missing({0}, 2), Missing({3}, 1)}), (Ranks{{0}}));
  // Nobody looked at host 1, most at the others.
  trace_.ranks[2].host = 0;
  trace_.ranks[2].last_seen_ns = 1;
  trace_.ranks[3].last_seen_ns = kNoTime;
  EXPECT_EQ(Left({Missing({0}, 2), Missing({3}, 1)}), (Ranks{{3}}));
}

}  // namespace
}  // namespace lockstep
