// The live judgement of hangs against its definition, on random rosters.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/hang/live_hangs.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/testing/reference_hangs.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

#ifdef LOCKSTEP_SANITIZED
constexpr uint64_t kSeeds = 1000;
#else
constexpr uint64_t kSeeds = 10'000;
#endif
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 100 * kSecond;

// Ranks in a few overlapping communicators, each inside or outside of the next operation of some of them.
Roster RandomRoster(Random* random) {
  Roster roster(RosterLimits{});
  const uint64_t ranks = 2 + random->Below(7);
  const uint64_t communicators = 1 + random->Below(5);
  std::vector<std::vector<int32_t>> members(communicators);
  std::vector<uint64_t> finished(communicators);  // nobody is left behind
  for (uint64_t c = 0; c < communicators; ++c) {
    finished[c] = 5 + random->Below(2);
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      if (random->Unit() < 0.6) members[c].push_back(static_cast<int32_t>(rank));
    }
  }
  const double inside = random->Unit();
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    RankView view{.rank = static_cast<int32_t>(rank), .pid = 10 + static_cast<int32_t>(rank)};
    view.process_state = ProcessState::kRunning;
    view.finalized = random->Unit() < 0.05;
    view.disabled = random->Unit() < 0.05;
    const bool gone_on = view.finalized || view.disabled;
    for (uint64_t c = 0; c < communicators; ++c) {
      for (size_t place = 0; place < members[c].size(); ++place) {
        if (members[c][place] != view.rank) continue;
        CommunicatorView at{.id = c + 1, .size = static_cast<int32_t>(members[c].size())};
        at.communicator_rank = static_cast<int32_t>(place);
        at.finished = finished[c];
        at.enqueued = at.started = at.finished;
        at.idle_ns = 10 * kSecond;
        if (!gone_on && random->Unit() < inside) {
          ++at.enqueued;
          at.oldest_in_flight = InFlightOperation{.kind = OperationKind::kAllReduce,
                                                  .sequence = at.enqueued,
                                                  .started = true,
                                                  .age_ns = (random->Unit() < 0.8 ? 6 : 1) * kSecond,
                                                  .bytes = 8};
        }
        view.communicators.push_back(at);
      }
    }
    roster.Update(roster.TouchHost("h" + std::to_string(rank), kNow), view, kNow, 0);
    for (const CommunicatorView& at : view.communicators) roster.Join(roster.SlotOfRank(view.rank), at);
  }
  return roster;
}

constexpr int64_t kPatienceNs = 4 * kSecond;

std::set<int32_t> SlotsOf(const Roster& roster, const Verdict& verdict) {
  std::set<int32_t> slots;
  for (const Culprit& culprit : verdict.culprits) slots.insert(roster.SlotOfRank(culprit.rank));
  return slots;
}

TEST(LiveHangsReferenceTest, SameMissingRanksAndADeadlockExactlyWhenThereIsAClosedCycle) {
  uint64_t few_missing = 0, missing = 0, cycles = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const Roster roster = RandomRoster(&random);
    const ReferenceHangs expected = FindReferenceHangs(roster, kPatienceNs);
    std::set<int32_t> found_missing;
    bool found_cycle = false;
    for (const Verdict& verdict :
         JudgeLiveHangs(roster, {.watermark_ns = kNow, .longest_usual_step_seconds = 0.1}).verdicts) {
      const std::set<int32_t> slots = SlotsOf(roster, verdict);
      if (verdict.verdict_class == VerdictClass::kHangNotEntered) found_missing.insert(slots.begin(), slots.end());
      if (verdict.verdict_class != VerdictClass::kDeadlock) continue;
      found_cycle = true;
      for (const int32_t one : slots) {
        for (const int32_t other : slots) ASSERT_TRUE(expected.InOneCycle(one, other)) << "seed " << seed;
      }
    }
    bool cycle = false;
    for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
      cycle = cycle || expected.InClosedCycle(static_cast<int32_t>(slot));
    }
    // Where ranks of more than two of these few hosts are missing from one operation, nobody is accused.
    if (expected.missing.size() <= 2) ASSERT_EQ(found_missing, expected.missing) << "seed " << seed;
    ASSERT_TRUE(
        std::includes(expected.missing.begin(), expected.missing.end(), found_missing.begin(), found_missing.end()))
        << "seed " << seed;
    few_missing += !expected.missing.empty() && expected.missing.size() <= 2 ? 1 : 0;
    ASSERT_EQ(found_cycle, cycle) << "seed " << seed;
    missing += expected.missing.empty() ? 0 : 1;
    cycles += cycle ? 1 : 0;
  }
  // Each outcome must have been tried many times.
  EXPECT_GT(missing, kSeeds / 10);
  EXPECT_GT(few_missing, kSeeds / 20);
  EXPECT_GT(cycles, kSeeds / 100);
  EXPECT_LT(cycles, kSeeds * 9 / 10);
}

}  // namespace
}  // namespace lockstep
