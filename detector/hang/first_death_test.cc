#include "detector/hang/first_death.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/hardware/evidence_log.h"
#include "detector/model/input.h"
#include "detector/model/process_end.h"
#include "detector/model/roster.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMilli = kNanosPerMilli;
constexpr int64_t kHeard = 100 * kSecond;  // when all reports are received
constexpr int32_t kSigInt = 2, kSigAbrt = 6, kSigKill = 9, kSigSegv = 11, kSigTerm = 15;

ProcessEnd BySignal(int32_t signal, int64_t age_ns, int64_t uncertain_ns = 0) {
  return {.source = EndSource::kPidfd, .signal = signal, .age_ns = age_ns, .uncertain_ns = uncertain_ns};
}
ProcessEnd ByCode(int32_t code, int64_t age_ns) {
  return {.source = EndSource::kZombie, .code = code, .age_ns = age_ns};
}

class FirstDeathTest : public ::testing::Test {
 protected:
  void Rank(int32_t rank, const std::string& host, std::optional<ProcessEnd> end, bool finalized = false,
            TimingQuality inside = TimingQuality::kUnknown) {
    RankView view{.rank = rank, .pid = 10 + rank, .process_state = ProcessState::kGone, .finalized = finalized};
    view.end = end;
    CommunicatorView world{.id = 7, .size = 16, .communicator_rank = rank, .enqueued = 5, .finished = 4};
    if (inside != TimingQuality::kUnknown) {
      world.oldest_in_flight = InFlightOperation{.kind = OperationKind::kAllReduce,
                                                 .sequence = 5,
                                                 .started = true,
                                                 .inside_ns = kSecond,
                                                 .timing_quality = inside};
    }
    roster_.Update(roster_.TouchHost(host, kHeard), view, kHeard, HostNs(host));
    roster_.Join(roster_.SlotOfRank(rank), world);
  }

  // When its reports are made. Hosts' clocks have nothing to do with each other.
  static int64_t HostNs(const std::string& host) { return 1000 * kSecond * (1 + host.back()); }

  std::vector<int32_t> First() const {
    std::vector<int32_t> ranks;
    for (const Death& death : OrderDeaths(roster_, log_).first) {
      ranks.push_back(roster_.ranks()[static_cast<size_t>(death.rank_slot)].rank);
    }
    return ranks;
  }
  bool Stopped() const { return OrderDeaths(roster_, log_).stopped; }

  Roster roster_{RosterLimits{}};
  EvidenceLog log_;
};

using Ranks = std::vector<int32_t>;

TEST_F(FirstDeathTest, OnOneHostItsClockTells) {
  Rank(0, "a", ByCode(1, 500 * kMilli));
  Rank(1, "a", BySignal(kSigTerm, 490 * kMilli));
  Rank(2, "a", ByCode(3, 501 * kMilli));
  EXPECT_EQ(First(), Ranks{2});
  EXPECT_FALSE(Stopped());
  EXPECT_EQ(OrderDeaths(roster_, log_).followers.size(), 2u);
}

TEST_F(FirstDeathTest, WhereMomentsDoNotTellHowTheyEndedDoes) {
  for (int32_t rank : {0, 1, 3}) Rank(rank, "a", BySignal(kSigTerm, 500 * kMilli, 20 * kMilli));
  Rank(2, "a", BySignal(kSigKill, 500 * kMilli, 20 * kMilli));
  EXPECT_EQ(First(), Ranks{2}) << "launchers ask, somebody else kills";
  Rank(4, "b", BySignal(kSigSegv, 300 * kMilli));
  EXPECT_EQ(First(), Ranks{4}) << "other hosts' moments are sure to half a second only";
}

TEST_F(FirstDeathTest, OfTwoHostsOnlyADifferenceBeyondTheirClocksCounts) {
  Rank(0, "a", ByCode(1, 2000 * kMilli));
  Rank(1, "b", ByCode(1, 1400 * kMilli));
  EXPECT_EQ(First(), Ranks{0});
  Rank(2, "c", ByCode(1, 1600 * kMilli));
  EXPECT_EQ(First(), (Ranks{0, 2}));
}

TEST_F(FirstDeathTest, WhoeverEndedInOrderHasNotDied) {
  Rank(0, "a", ByCode(0, kSecond));
  Rank(1, "a", BySignal(kSigTerm, kSecond), /*finalized=*/true);
  EXPECT_TRUE(First().empty());
  Rank(2, "a", ByCode(3, kMilli));
  EXPECT_EQ(First(), Ranks{2}) << "the others came first, and in order";
}

TEST_F(FirstDeathTest, WhoIsGoneAndNobodyKnowsHowHasNotDiedUnlessOthersHave) {
  Rank(0, "a", std::nullopt);
  Rank(1, "a", ProcessEnd{.age_ns = kSecond});
  EXPECT_TRUE(First().empty());
  Rank(2, "a", ProcessEnd{.age_ns = kMilli}, /*finalized=*/false, TimingQuality::kGpuTimer);
  EXPECT_TRUE(First().empty()) << "what a GPU had just begun may be left behind by an end in order";
  Rank(3, "a", ProcessEnd{.age_ns = kMilli}, /*finalized=*/false, TimingQuality::kHostCall);
  EXPECT_EQ(First(), Ranks{1}) << "one vanished inside of an operation: the job died, and this one came first";
}

TEST_F(FirstDeathTest, AJobThatIsStoppedAccusesNobody) {
  for (int32_t rank : {0, 1, 2}) Rank(rank, "a", BySignal(kSigTerm, 2 * kSecond - rank * kMilli));
  Rank(3, "a", ByCode(1, 500 * kMilli));  // because the others were gone
  Rank(4, "b", ByCode(128 + kSigInt, kSecond));
  EXPECT_TRUE(Stopped());
  Rank(5, "c", BySignal(kSigAbrt, 1200 * kMilli));
  EXPECT_FALSE(Stopped()) << "on that host nobody was asked: one host was stopped, the others died of it";
}

TEST_F(FirstDeathTest, AllKilledAtOnceIsAStopOneKilledIsNot) {
  for (int32_t rank : {0, 1, 2}) Rank(rank, "a", BySignal(kSigKill, 3 * kSecond - rank * kMilli));
  EXPECT_TRUE(Stopped());
  Rank(3, "b", BySignal(kSigTerm, 2 * kSecond));
  EXPECT_FALSE(Stopped());
  EXPECT_EQ(First(), Ranks{0});
}

TEST_F(FirstDeathTest, OneThatWasKilledLongBeforeTheOthersIsTheCause) {
  Rank(0, "a", BySignal(kSigTerm, 600 * kSecond));
  for (int32_t rank : {1, 2}) Rank(rank, "a", BySignal(kSigTerm, kSecond));
  EXPECT_FALSE(Stopped());
  EXPECT_EQ(First(), Ranks{0});
}

TEST_F(FirstDeathTest, TheKernelTellsWhomItKilledForMemory) {
  for (int32_t rank : {0, 1}) Rank(rank, "a", BySignal(kSigKill, kSecond, 20 * kMilli));
  EXPECT_TRUE(Stopped());
  log_.Add("b", {.kind = KernelEventKind::kOutOfMemory, .code = 11, .pid = 11}, kHeard, kHeard);
  EXPECT_TRUE(Stopped()) << "another host's";
  log_.Add("a", {.kind = KernelEventKind::kOutOfMemory, .code = 11, .pid = 11}, kHeard, kHeard);
  EXPECT_FALSE(Stopped());
  EXPECT_EQ(First(), Ranks{1});
}

// A group of processes whose memory ran out is killed as one. Where the log may not be read, a counter tells.
TEST_F(FirstDeathTest, AGroupThatIsKilledForMemoryIsNoStop) {
  for (int32_t rank : {0, 1, 2}) Rank(rank, "a", BySignal(kSigKill, 3 * kSecond - rank * kMilli));
  ASSERT_TRUE(Stopped());
  const int64_t heard_ns = HostNs("a");
  log_.CountMemoryKills("b", 0, HostNs("b") - 4 * kSecond);
  log_.CountMemoryKills("b", 3, HostNs("b") - 2 * kSecond);
  EXPECT_TRUE(Stopped()) << "another host's";
  log_.CountMemoryKills("a", 5, heard_ns - 20 * kSecond);
  log_.CountMemoryKills("a", 6, heard_ns - 10 * kSecond);
  log_.CountMemoryKills("a", 6, heard_ns - 4 * kSecond);
  EXPECT_TRUE(Stopped()) << "long before";
  const uint64_t added = log_.added();
  log_.CountMemoryKills("a", 9, heard_ns - 2 * kSecond);
  EXPECT_GT(log_.added(), added);
  EXPECT_FALSE(Stopped());
  EXPECT_EQ(DeathOf(roster_, 0, log_).for_memory, MemoryKill::kCounted);
  EXPECT_EQ(First(), Ranks{0});
}

TEST_F(FirstDeathTest, WhereNobodyElseTellsTheLogOfTheKernelDoes) {
  for (int32_t rank : {0, 1}) Rank(rank, "a", ProcessEnd{.age_ns = kSecond, .uncertain_ns = kSecond});
  log_.Add("a", {.kind = KernelEventKind::kCrash, .code = kSigSegv, .pid = 11}, kHeard, kHeard);
  const Deaths deaths = OrderDeaths(roster_, log_);
  ASSERT_EQ(First(), Ranks{1});
  EXPECT_EQ(deaths.first[0].manner, EndManner::kCrashed);
  EXPECT_EQ(deaths.first[0].end.source, EndSource::kKernelLog);
  EXPECT_EQ(deaths.first[0].end.signal, kSigSegv);
  EXPECT_TRUE(log_.About("a", kHeard).empty()) << "crashes of any program say nothing of a host";
}

TEST_F(FirstDeathTest, TheLivingHaveNotDied) {
  EXPECT_FALSE(OrderDeaths(roster_, log_).any());
  RankView alive{.rank = 0, .process_state = ProcessState::kRunning};
  roster_.Update(roster_.TouchHost("a", kHeard), alive, kHeard, kSecond);
  EXPECT_FALSE(OrderDeaths(roster_, log_).any());
}

}  // namespace
}  // namespace lockstep
