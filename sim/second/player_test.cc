// How a job is played: in order, in time, and alike with and without what goes wrong.

#include "sim/second/player.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {
namespace {

// Sixteen ranks on two hosts: two tensor groups of four to a stage of a pipeline of two.
World SmallWorld() {
  World world;
  world.seed = 7;
  world.shape.tensor = 4;
  world.shape.data = 2;
  world.shape.pipeline = 2;
  world.shape.microbatches = 4;
  world.shape.layers = 2;
  world.work.forward_ns = 5e6;
  world.calendar.steps = 6;
  return world;
}

// All on one data dimension: two hosts, nothing but gradients.
World ReplicaWorld() {
  World world;
  world.seed = 8;
  world.shape.data = 16;
  world.shape.layers = 3;
  world.work.static_spread = 0;
  world.work.noise = 0;
  world.calendar.steps = 8;
  return world;
}

// The end of an operation by its group, its direction and its number.
using Key = std::tuple<int, int, int, uint64_t>;

Key KeyOf(const Layout& layout, int rank, const OperationPlayed& played) {
  if (played.peer < 0) return {played.group, -1, -1, played.sequence};
  const int own = layout.MemberOf(played.group, rank);
  const bool sends = played.operation == OperationKind::kSend;
  return {played.group, sends ? own : played.peer, sends ? played.peer : own, played.sequence};
}

std::set<int> RanksWithOpenOperations(const Playback& playback) {
  std::set<int> open;
  for (size_t rank = 0; rank < playback.operations.size(); ++rank) {
    const auto& all = playback.operations[rank];
    if (std::any_of(all.begin(), all.end(), [](const OperationPlayed& op) { return op.end_ns == kNever; })) {
      open.insert(static_cast<int>(rank));
    }
  }
  return open;
}

double LastStepSeconds(const Playback& playback) {
  const size_t last = playback.step_end_ns.size() - 1;
  return static_cast<double>(playback.step_end_ns[last] - playback.step_end_ns[last - 1]) / 1e9;
}

TEST(PlayerTest, EverySchedulePlaysToItsEnd) {
  for (const Schedule schedule :
       {Schedule::kAllForwardFirst, Schedule::kOneForwardOneBackward, Schedule::kInterleaved, Schedule::kZeroBubble}) {
    for (const bool sync_transfers : {false, true}) {
      World world = SmallWorld();
      world.shape.schedule = schedule;
      world.shape.pipeline = 4;
      world.shape.chunks = schedule == Schedule::kInterleaved ? 2 : 1;
      world.host.sync_transfers = sync_transfers;
      world.host.queue_depth = 6;
      const Playback playback = Play(world, Layout(world), {});
      EXPECT_FALSE(playback.hung) << static_cast<int>(schedule) << sync_transfers;
      EXPECT_TRUE(RanksWithOpenOperations(playback).empty());
    }
  }
}

TEST(PlayerTest, ShardedAndContextAndExpertJobsPlayToTheirEnd) {
  World sharded = ReplicaWorld();
  sharded.shape.sharded = true;
  World context = SmallWorld();
  context.shape = {.tensor = 2, .context = 4, .data = 2, .microbatches = 2, .context_ring = true};
  World experts = ReplicaWorld();
  experts.shape.expert = 8;
  for (const World& world : {sharded, context, experts}) {
    const Playback playback = Play(world, Layout(world), {});
    EXPECT_FALSE(playback.hung);
    EXPECT_EQ(playback.step_end_ns.size(), static_cast<size_t>(world.calendar.steps));
  }
}

TEST(PlayerTest, NoOperationEndsBeforeAllMembersHaveBegun) {
  const World world = SmallWorld();
  const Layout layout(world);
  const Playback playback = Play(world, layout, {});
  std::map<Key, int64_t> last_start_ns;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (const OperationPlayed& played : playback.operations[static_cast<size_t>(rank)]) {
      int64_t& last = last_start_ns[KeyOf(layout, rank, played)];
      last = std::max(last, played.start_ns);
    }
  }
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (const OperationPlayed& played : playback.operations[static_cast<size_t>(rank)]) {
      EXPECT_GE(played.start_ns, played.enqueue_ns);
      EXPECT_GT(played.end_ns, last_start_ns[KeyOf(layout, rank, played)]);
    }
  }
}

TEST(PlayerTest, OperationsOfOneStreamDoNotOverlap) {
  World world = SmallWorld();
  world.network.exit_skew_ns = 30e3;
  const Playback playback = Play(world, Layout(world), {});
  for (const auto& operations : playback.operations) {
    std::map<uint8_t, int64_t> end_ns;
    for (const OperationPlayed& played : operations) {
      EXPECT_GE(played.start_ns, end_ns[played.stream]);
      end_ns[played.stream] = played.end_ns;
    }
  }
}

TEST(PlayerTest, EqualWorldsArePlayedAlike) {
  const World world = SmallWorld();
  const Playback one = Play(world, Layout(world), {});
  const Playback two = Play(world, Layout(world), {});
  EXPECT_EQ(one.step_end_ns, two.step_end_ns);
  EXPECT_EQ(one.last_event_ns, two.last_event_ns);
}

TEST(PlayerTest, AShallowQueueKeepsTheHostNearItsGpu) {
  const auto longest_lead = [](int depth) {
    World world = ReplicaWorld();
    world.host.queue_depth = depth;
    int64_t lead = 0;
    const Playback playback = Play(world, Layout(world), {});
    for (const OperationPlayed& played : playback.operations[0]) {
      lead = std::max(lead, played.start_ns - played.enqueue_ns);
    }
    return lead;
  };
  EXPECT_LT(longest_lead(3), longest_lead(1000) / 2);
}

TEST(PlayerTest, ASlowGpuCostsWhatItComputesLonger) {
  const World world = ReplicaWorld();
  const Layout layout(world);
  const Playback healthy = Play(world, layout, {});
  const Fault fault{.kind = FaultKind::kComputeSlow, .severity = 1.5, .onset_step = 4, .ranks = {3}, .hosts = {0}};
  const Playback slow = Play(world, layout, {fault});
  for (size_t step = 0; step < 4; ++step) EXPECT_EQ(slow.step_end_ns[step], healthy.step_end_ns[step]);
  // Three layers, forward and twice as long backward, and the optimizer.
  const double computing = 3 * 3 * world.work.forward_ns + world.work.optimizer_ns;
  EXPECT_NEAR(LastStepSeconds(slow) - LastStepSeconds(healthy), 0.5 * computing / 1e9, 0.1 * computing / 1e9);
}

TEST(PlayerTest, ASlowAdapterStretchesWhatGoesThroughIt) {
  World world = ReplicaWorld();
  world.traffic.overlapped = false;
  world.network.nics_per_host = 1;
  world.network.path_spread = 0;
  const Layout layout(world);
  const auto reduce_ns = [&](const std::vector<Fault>& faults) {
    const Playback playback = Play(world, layout, faults);
    int64_t longest = 0;
    for (const OperationPlayed& played : playback.operations[0]) {
      if (played.step == 6) longest = std::max(longest, played.end_ns - played.start_ns);
    }
    return static_cast<double>(longest);
  };
  for (const FaultKind kind : {FaultKind::kNicTxSlow, FaultKind::kNicRxSlow}) {
    const Fault fault{.kind = kind, .severity = 0.25, .onset_step = 2, .hosts = {1}};
    EXPECT_NEAR(reduce_ns({fault}) / reduce_ns({}), 4, 0.2);
  }
}

TEST(PlayerTest, AHostThatStarvesItsGpusHoldsUpTheJob) {
  const World world = ReplicaWorld();
  const Layout layout(world);
  const double healthy = LastStepSeconds(Play(world, layout, {}));
  const Fault fault{
      .kind = FaultKind::kHostSlow, .severity = 1.5 / world.host.launch_share, .onset_step = 2, .hosts = {1}};
  const double starved = LastStepSeconds(Play(world, layout, {fault}));
  EXPECT_GT(starved, 1.2 * healthy);
  EXPECT_LT(starved, 1.7 * healthy);
}

TEST(PlayerTest, ARankThatStandsStillHasNotEnteredWhatTheOthersWaitIn) {
  const World world = ReplicaWorld();
  const Layout layout(world);
  for (const FaultKind kind : {FaultKind::kHangNotEntered, FaultKind::kHangKernel}) {
    const Fault fault{.kind = kind, .onset_step = 5, .ranks = {9}, .position = 0.5};
    const Playback playback = Play(world, layout, {fault});
    EXPECT_TRUE(playback.hung);
    EXPECT_EQ(playback.step_end_ns.size(), 5u);
    const auto begun = [&](size_t rank) {
      const auto& all = playback.operations[rank];
      return std::count_if(all.begin(), all.end(), [](const OperationPlayed& op) { return op.start_ns != kNever; });
    };
    for (size_t rank = 0; rank < 16; ++rank) {
      if (rank != 9) {
        EXPECT_GT(begun(rank), begun(9)) << static_cast<int>(kind) << " " << rank;
      }
    }
  }
}

TEST(PlayerTest, AStuckRingHasBegunOnAllMembersAndEndsOnNone) {
  const World world = ReplicaWorld();
  const Layout layout(world);
  const int data = layout.GroupOf(0, Role::kData);
  const Fault fault{.kind = FaultKind::kHangInCommunication, .onset_step = 5, .ranks = {7, 8}, .group = data};
  const Playback playback = Play(world, layout, {fault});
  EXPECT_TRUE(playback.hung);
  for (const auto& operations : playback.operations) {
    const auto stuck = std::find_if(operations.begin(), operations.end(), [&](const OperationPlayed& played) {
      return played.group == data && played.step == 5;
    });
    ASSERT_NE(stuck, operations.end());
    EXPECT_NE(stuck->start_ns, kNever);
    EXPECT_EQ(stuck->end_ns, kNever);
  }
}

TEST(PlayerTest, AMismatchIsOneRankInAnotherOperation) {
  const World world = ReplicaWorld();
  const Layout layout(world);
  const Fault fault{
      .kind = FaultKind::kMismatch, .onset_step = 5, .ranks = {4}, .group = layout.GroupOf(4, Role::kData)};
  const Playback playback = Play(world, layout, {fault});
  EXPECT_TRUE(playback.hung);
  std::map<OperationKind, int> open;
  for (const auto& operations : playback.operations) {
    const auto stuck = std::find_if(operations.begin(), operations.end(), [](const OperationPlayed& played) {
      return played.start_ns != kNever && played.end_ns == kNever;
    });
    ASSERT_NE(stuck, operations.end());
    ++open[stuck->operation];
  }
  EXPECT_EQ(open[OperationKind::kAllReduce], 15);
  EXPECT_EQ(open[OperationKind::kReduceScatter], 1);
}

TEST(PlayerTest, ADeadlockHasTwoPartiesThatWaitForEachOther) {
  const World world = SmallWorld();
  const Layout layout(world);
  const std::vector<int> members = layout.group(layout.GroupOf(0, Role::kData)).members;
  const Fault fault{.kind = FaultKind::kDeadlock, .onset_step = 3, .ranks = {members[0]}};
  const Playback playback = Play(world, layout, {fault});
  EXPECT_TRUE(playback.hung);
  EXPECT_EQ(playback.step_end_ns.size(), 3u);
  EXPECT_EQ(RanksWithOpenOperations(playback).size(), 16u);
}

TEST(PlayerTest, TheDeadDoNothingMore) {
  const World world = SmallWorld();
  const Layout layout(world);
  const Fault process{.kind = FaultKind::kProcessDead, .onset_step = 4, .ranks = {5}};
  Fault host{.kind = FaultKind::kMachineUnreachable, .onset_step = 4, .ranks = {8, 9, 10, 11, 12, 13, 14, 15}};
  for (const Fault& fault : {process, host}) {
    const Playback playback = Play(world, layout, {fault});
    EXPECT_TRUE(playback.hung);
    for (int rank = 0; rank < 16; ++rank) {
      const int64_t died_ns = playback.died_ns[static_cast<size_t>(rank)];
      const bool dies = std::find(fault.ranks.begin(), fault.ranks.end(), rank) != fault.ranks.end();
      EXPECT_EQ(died_ns != kNever, dies) << rank;
      for (const OperationPlayed& played : playback.operations[static_cast<size_t>(rank)]) {
        if (dies) {
          EXPECT_LE(played.enqueue_ns, died_ns);
        }
      }
    }
  }
}

TEST(PlayerTest, AFaultThatComesAndGoesStrikesInItsStepsOnly) {
  World world = ReplicaWorld();
  world.calendar.steps = 24;
  const Layout layout(world);
  const Playback healthy = Play(world, layout, {});
  Fault fault{.kind = FaultKind::kComputeSlow, .severity = 1.5, .onset_step = 4, .probability = 0.5, .ranks = {3}};
  const Playback slow = Play(world, layout, {fault});
  int struck = 0;
  for (size_t step = 1; step < 24; ++step) {
    const auto length = [&](const Playback& playback) {
      return static_cast<double>(playback.step_end_ns[step] - playback.step_end_ns[step - 1]);
    };
    const bool active = fault.IsActive(world, static_cast<int>(step));
    struck += active ? 1 : 0;
    EXPECT_EQ(length(slow) > 1.2 * length(healthy), active) << step;
  }
  EXPECT_GT(struck, 4);
  EXPECT_LT(struck, 18);
}

}  // namespace
}  // namespace lockstep::second
