#include <algorithm>
#include <vector>

#include "base/random.h"
#include "detector/collectives/lateness.h"
#include "detector/collectives/operation_history.h"
#include "detector/collectives/rank_timeline.h"
#include "detector/collectives/step_clock.h"
#include "detector/collectives/step_period.h"
#include "detector/collectives/step_search.h"
#include "detector/collectives/typical_step.h"
#include "detector/testing/reference.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Participation Inside(int64_t duration_ns) { return {.duration_ns = duration_ns, .own_ns = 1, .recorded = true}; }

TEST(LatenessTest, LeastTimeInsideIsLast) {
  const std::vector<Participation> members = {Inside(30), Inside(25), Inside(5), Inside(27)};
  const auto lateness = FindLateness(members);
  ASSERT_TRUE(lateness.has_value());
  EXPECT_EQ(lateness->last_member, 2);
  EXPECT_EQ(lateness->transfer_ns, 5);
  EXPECT_EQ(lateness->median_wait_ns, 22);
}

TEST(LatenessTest, AbstainsWhenAMemberIsMissingOrUntimed) {
  std::vector<Participation> members = {Inside(30), Inside(5)};
  members[1].recorded = false;
  EXPECT_FALSE(FindLateness(members).has_value());
  members[1] = Inside(-1);
  EXPECT_FALSE(FindLateness(members).has_value());
  EXPECT_FALSE(FindLateness({}).has_value());
}

TEST(OperationHistoryTest, AgreesWithTheReferenceWithinItsWindow) {
  Random random(7);
  OperationHistory history(64, 1'000'000);
  ReferenceHistory reference;
  std::vector<uint64_t> next(8, 1);
  for (int i = 0; i < 20'000; ++i) {
    const auto communicator = static_cast<int32_t>(random.Below(2));
    const auto member = static_cast<int32_t>(random.Below(4));
    uint64_t& sequence = next[static_cast<size_t>(communicator * 4 + member)];
    const auto begin = next.begin() + communicator * 4;
    if (sequence > *std::min_element(begin, begin + 4) + 20) continue;  // nobody runs far ahead
    if (random.Below(50) != 0) {                                        // some records are lost
      history.Add(communicator, 4, member, sequence, OperationKind::kAllReduce, 8, Inside(1));
      reference.Add(communicator, sequence, member);
    }
    ++sequence;
  }
  for (int32_t communicator = 0; communicator < 2; ++communicator) {
    const uint64_t newest = *std::max_element(next.begin() + communicator * 4, next.begin() + communicator * 4 + 4) - 1;
    for (uint64_t sequence = newest - 20; sequence <= newest; ++sequence) {
      EXPECT_EQ(history.Complete(communicator, sequence), reference.Complete(communicator, sequence, 4)) << sequence;
    }
  }
  EXPECT_GT(history.given_up(), 0u);
}

TEST(OperationHistoryTest, LimitsAreKeptAndCounted) {
  OperationHistory history(64, 1'000'000);
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) {
    history.Add(0, 2, 0, sequence, OperationKind::kAllReduce, 8, Inside(1));  // the other member never reports
  }
  EXPECT_EQ(history.Capacity(0), 64);
  EXPECT_EQ(history.given_up(), 1000u - 64u);
  history.Add(0, 2, 1, 3, OperationKind::kAllReduce, 8, Inside(1));     // long gone
  history.Add(0, 2, 0, 1000, OperationKind::kAllReduce, 8, Inside(1));  // twice
  EXPECT_EQ(history.discarded(), 2u);
  OperationHistory poor(64, 10);
  poor.Add(0, 2, 0, 1, OperationKind::kAllReduce, 8, Inside(1));
  EXPECT_EQ(poor.discarded(), 1u);
  EXPECT_EQ(poor.Find(0, 1), nullptr);
}

Operation Timed(OperationKind kind, uint64_t sequence, int64_t start_ns, int64_t end_ns) {
  return {.kind = kind,
          .sequence = sequence,
          .enqueue_ns = start_ns,
          .start_ns = start_ns,
          .end_ns = end_ns,
          .quality = TimingQuality::kHostCall};
}

TEST(RankTimelineTest, MeasuresWhatLiesBetweenOperations) {
  RankTimeline timeline;
  Participation part;
  ASSERT_TRUE(timeline.Append(Timed(OperationKind::kAllReduce, 1, 1000, 1100), 0, 3, &part));
  EXPECT_EQ(part.own_ns, -1) << "nothing is known before the first operation";
  ASSERT_TRUE(timeline.Append(Timed(OperationKind::kRecv, 1, 1150, 1250), 1, 0, &part));
  ASSERT_TRUE(timeline.Append(Timed(OperationKind::kAllReduce, 2, 1300, 1310), 0, 3, &part));
  EXPECT_EQ(part.own_ns, 100);
  EXPECT_EQ(part.opaque_ns, 100);
  EXPECT_EQ(part.duration_ns, 10);
  EXPECT_EQ(part.previous_slot, 0);
  EXPECT_EQ(part.previous_sequence, 1u);
}

TEST(RankTimelineTest, UnknownIsNotGuessed) {
  RankTimeline timeline;
  Participation part;
  timeline.Append(Timed(OperationKind::kAllReduce, 1, 1000, 1100), 0, 0, &part);
  timeline.Append(Timed(OperationKind::kAllReduce, 2, 1050, 1200), 0, 0, &part);
  EXPECT_EQ(part.own_ns, -1) << "overlapping operations";
  timeline.Break();
  timeline.Append(Timed(OperationKind::kAllReduce, 3, 1300, 1400), 0, 0, &part);
  EXPECT_EQ(part.own_ns, -1) << "records are missing";
  Operation untimed = Timed(OperationKind::kAllReduce, 4, 1500, 1501);
  untimed.quality = TimingQuality::kHostEnqueue;
  timeline.Append(untimed, 0, 0, &part);
  EXPECT_EQ(part.duration_ns, -1);
  timeline.Append(Timed(OperationKind::kAllReduce, 5, 1600, 1700), 0, 0, &part);
  EXPECT_EQ(part.own_ns, -1) << "the end before is not known";
  timeline.Append(Timed(OperationKind::kAllReduce, 6, 1750, 1800), 0, 0, &part);
  EXPECT_EQ(part.own_ns, 50);
  EXPECT_FALSE(timeline.Append(Timed(OperationKind::kAllReduce, 7, 1900, 1850), 0, 0, &part));
}

TEST(StepPeriodTest, FindsThePeriodInSpiteOfAChangedTail) {
  std::vector<uint64_t> calls;
  for (int step = 0; step < 30; ++step) calls.insert(calls.end(), {1, 2, 2, 3});
  EXPECT_EQ(SmallestPeriod(calls, {}), 4u);
  calls.insert(calls.end(), {9, 9});
  EXPECT_EQ(SmallestPeriod(calls, {}), 4u);
  EXPECT_EQ(SmallestPeriod(std::vector<uint64_t>{1, 2, 3}, {}), 0u);
  EXPECT_EQ(SmallestPeriod({}, {}), 0u);
}

TEST(StepPeriodTest, AgreesWithTheReference) {
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint64_t> calls(random.Below(60));
    const uint64_t period = 1 + random.Below(12), letters = 1 + random.Below(3);
    for (size_t i = 0; i < calls.size(); ++i) {
      calls[i] = i < period || random.Below(25) == 0 ? random.Below(letters) : calls[i - period];
    }
    const StepPeriodOptions options{.min_repetitions = 2 + static_cast<int>(random.Below(3)), .max_mismatch = 0.1};
    ASSERT_EQ(SmallestPeriod(calls, options), ReferencePeriod(calls, options.min_repetitions, options.max_mismatch))
        << round;
  }
}

TEST(StepClockTest, CountsStepsOfSeveralOperations) {
  StepClock clock;
  int64_t now_ns = 1;
  uint64_t sequence = 0;
  for (int step = 0; step < 100; ++step) {
    clock.Append(11, ++sequence, now_ns += 60'000'000);
    clock.Append(22, 0, now_ns += 20'000'000);
    clock.Append(33, ++sequence, now_ns += 20'000'000);
    clock.Refresh();
  }
  EXPECT_EQ(clock.anchors_per_step(), 2u);
  EXPECT_NEAR(clock.MedianStepSeconds(), 0.1, 1e-9);
  EXPECT_NEAR(clock.RecentStepSeconds(), 0.1, 1e-9);
  EXPECT_NEAR(clock.LongestUsualStepSeconds(), 0.1, 1e-9);
  EXPECT_NEAR(static_cast<double>(clock.steps()), 99, 3);
  EXPECT_EQ(clock.StepOf(1), 0);
  EXPECT_EQ(clock.StepOf(2), 0);
  EXPECT_EQ(clock.StepOf(3), 1);
}

TEST(StepClockTest, OneGiantStepIsNotUsual) {
  StepClock clock;
  int64_t now_ns = 1;
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    clock.Append(1, sequence, now_ns += sequence == 90 ? 10'000'000'000 : 100'000'000);
  }
  EXPECT_NEAR(clock.LongestUsualStepSeconds(), 0.1, 1e-9);
  EXPECT_NEAR(clock.RecentMedianStepSeconds(), 0.1, 1e-9);
}

// A random step: every rank walks through random groups in the same order of rounds, and through the anchor last.
TypicalStep RandomStep(Random* random) {
  TypicalStep step;
  const size_t ranks = 3 + random->Below(6);
  for (size_t rank = 0; rank < ranks; ++rank) step.rank_slots.push_back(static_cast<int32_t>(rank));
  StepSegment segment;
  segment.chains.resize(ranks);
  const size_t rounds = 1 + random->Below(4);
  for (size_t round = 0; round < rounds; ++round) {
    const bool anchor = round + 1 == rounds;
    const size_t groups = anchor ? 1 : 1 + random->Below(3);
    const auto first = segment.nodes.size();
    segment.nodes.resize(first + groups);
    for (size_t rank = 0; rank < ranks; ++rank) {
      const size_t node = first + rank % groups;
      segment.nodes[node].transfer_seconds = 0.01 * random->Unit();
      segment.nodes[node].arrivals.push_back(
          {static_cast<int32_t>(rank), static_cast<int32_t>(segment.chains[rank].size())});
      segment.chains[rank].push_back({.node = static_cast<int32_t>(node),
                                      .own_seconds = random->Unit(),
                                      .opaque_seconds = 0.1 * random->Unit(),
                                      .peer_seconds = random->Below(8) == 0 ? -1 : random->Unit()});
    }
  }
  step.segments.push_back(std::move(segment));
  return step;
}

TEST(StepSearchTest, ReplayAgreesWithTheReference) {
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    const TypicalStep step = RandomStep(&random);
    std::vector<char> healed(step.rank_slots.size());
    for (char& heal : healed) heal = static_cast<char>(random.Below(2));
    ASSERT_NEAR(ReplaySeconds(step, healed), ReferenceReplaySeconds(step, healed), 1e-12) << round;
  }
}

TEST(StepSearchTest, HealingNeverMakesAStepSlower) {
  Random random(12);
  for (int round = 0; round < 500; ++round) {
    const StepSearch search = SearchStep(RandomStep(&random), {});
    EXPECT_LE(search.healed_seconds, search.step_seconds + 1e-12);
    for (const StepCulprit& culprit : search.culprits) {
      EXPECT_GE(culprit.saved_alone_seconds, -1e-12);
      EXPECT_GE(culprit.saved_last_seconds, -1e-12);
    }
  }
}

// Four ranks, pairs {0,1} and {2,3}, then everybody.
TypicalStep PairStep(const std::vector<double>& own_seconds) {
  TypicalStep step;
  StepSegment segment;
  segment.nodes.resize(3);
  segment.chains.resize(4);
  for (int rank = 0; rank < 4; ++rank) {
    step.rank_slots.push_back(rank);
    segment.chains[rank] = {{.node = rank / 2, .own_seconds = own_seconds[rank], .peer_seconds = 1.0},
                            {.node = 2, .own_seconds = 0.5, .peer_seconds = 0.5}};
    segment.nodes[rank / 2].arrivals.push_back({rank, 0});
    segment.nodes[2].arrivals.push_back({rank, 1});
  }
  step.segments.push_back(segment);
  return step;
}

TEST(StepSearchTest, WalksPastVictimsToTheRankThatIsLate) {
  const StepSearch search = SearchStep(PairStep({1.0, 1.0, 1.5, 1.0}), {});
  ASSERT_EQ(search.culprits.size(), 1u);
  EXPECT_EQ(search.culprits[0].participant, 2);
  EXPECT_EQ(search.culprits[0].node, 1) << "the delay enters in the pair";
  EXPECT_NEAR(search.culprits[0].saved_alone_seconds, 0.5, 1e-12);
}

TEST(StepSearchTest, NamesSeveralCulpritsAndNobodyInAHealthyStep) {
  EXPECT_TRUE(SearchStep(PairStep({1.0, 1.0, 1.0, 1.0}), {}).culprits.empty());
  EXPECT_TRUE(SearchStep(PairStep({1.0, 1.0, 1.05, 1.0}), {}).culprits.empty());
  const StepSearch both = SearchStep(PairStep({1.5, 1.0, 1.5, 1.0}), {});
  ASSERT_EQ(both.culprits.size(), 2u);
  EXPECT_NEAR(both.culprits[0].saved_alone_seconds, 0, 1e-12) << "the other one still holds up the step";
  EXPECT_NEAR(both.culprits[0].saved_last_seconds, 0.5, 1e-12);
}

TEST(StepSearchTest, ASlowTransferAccusesNobody) {
  TypicalStep step = PairStep({1.0, 1.0, 1.0, 1.0});
  step.segments[0].nodes[2].transfer_seconds = 5;
  EXPECT_TRUE(SearchStep(step, {}).culprits.empty());
}

}  // namespace
}  // namespace lockstep
