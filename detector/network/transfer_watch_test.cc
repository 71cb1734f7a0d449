#include "detector/network/transfer_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/network/delay_matrix.h"
#include "detector/network/transfer_verdict.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int32_t kRanks = 8;
constexpr uint64_t kChunksPerSecond = 100;

// A rank on each of eight hosts, all in a ring; the recorder of rank 7 cannot watch.
Roster MakeRoster(bool last_can_watch = true) {
  Roster roster({});
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    RankView view;
    view.rank = rank;
    view.world_size = kRanks;
    view.process_start_ticks = 5;
    view.can_watch_transfers = rank < 7 || last_can_watch;
    const std::string host = absl::StrCat("node-", rank);
    roster.Update(roster.TouchHost(host, kSecond), view, kSecond, 0);
    roster.Join(roster.SlotOfRank(rank), {.id = 77, .name = "dp", .size = kRanks, .communicator_rank = rank});
  }
  return roster;
}

const WatchNeed kNeed = {.wanted = true, .reason = "Steps are slow.", .hosts = {"node-4"}};

// The sums of one rank after `seconds` since its recorder began: what it sends waits on the wire for 1 ms per chunk,
// that of `slow_rank` for 5.
std::vector<TransferWaits> SumsOf(int32_t rank, double seconds, int32_t slow_rank) {
  const auto chunks = static_cast<uint64_t>(seconds * static_cast<double>(kChunksPerSecond));
  std::vector<TransferWaits> sums;
  for (const int32_t distance : {1, kRanks - 1}) {
    const bool slow = rank == slow_rank;
    sums.push_back({.peer = (rank + distance) % kRanks,
                    .is_send = true,
                    .steps = chunks,
                    .bytes = chunks << 20,
                    .waits_ns = {0, 0, chunks * (slow ? 5'000'000 : 1'000'000)}});
    sums.push_back({.peer = (rank + distance) % kRanks,
                    .steps = chunks,
                    .bytes = chunks << 20,
                    .waits_ns = {chunks * 2'000'000, 0, chunks * 100'000}});
  }
  return sums;
}

// Reports of all ranks each second from `from_ns` on for `seconds`.
void Report(TransferWatch& watch, int64_t from_ns, int seconds, int32_t slow_rank, double age = 1000) {
  for (int second = 1; second <= seconds; ++second) {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      watch.Observe(rank, {0, rank}, SumsOf(rank, age + second, slow_rank), from_ns + second * kSecond);
    }
  }
}

TEST(TransferWatchTest, AsksAllWhoCanOneWatchAtATimeAMinuteApart) {
  const Roster roster = MakeRoster(/*last_can_watch=*/false);
  TransferWatch watch({});
  EXPECT_THAT(watch.Advance(roster, 100 * kSecond, {}), IsEmpty());
  const std::vector<WatchRequest> requests = watch.Advance(roster, 100 * kSecond, kNeed);
  ASSERT_THAT(requests, SizeIs(7));
  EXPECT_EQ(requests[0].host, "node-4");  // named first
  EXPECT_THAT(requests, Each(Field(&WatchRequest::duration_ns, 10 * kSecond)));
  EXPECT_THAT(requests, Each(Field(&WatchRequest::reason, "Steps are slow.")));
  EXPECT_GE(requests[0].id, kFirstWatchId);
  EXPECT_THAT(watch.Advance(roster, 105 * kSecond, kNeed), IsEmpty());
  EXPECT_THAT(watch.Advance(roster, 113 * kSecond, kNeed), IsEmpty());
  EXPECT_EQ(watch.watches(), 1u);
  ASSERT_TRUE(watch.result().has_value());
  EXPECT_EQ(watch.result()->judgement.kind, DelayJudgement::Kind::kAbstained);
  EXPECT_THAT(watch.Advance(roster, 170 * kSecond, kNeed), IsEmpty());
  EXPECT_THAT(watch.Advance(roster, 173 * kSecond, kNeed), SizeIs(7));
}

TEST(TransferWatchTest, AtMostSoManyHostsAreAsked) {
  TransferWatchOptions options;
  options.max_hosts = 3;
  TransferWatch watch(options);
  EXPECT_THAT(watch.Advance(MakeRoster(), kSecond, kNeed), SizeIs(3));
}

TEST(TransferWatchTest, OnlyDifferencesWithinTheWatchCount) {
  const Roster roster = MakeRoster();
  TransferWatch watch({});
  watch.Advance(roster, 100 * kSecond, kNeed);
  Report(watch, 100 * kSecond, 11, /*slow_rank=*/-1);
  watch.Advance(roster, 113 * kSecond, kNeed);
  ASSERT_TRUE(watch.result().has_value());
  EXPECT_THAT(watch.result()->flows, SizeIs(2 * kRanks));
  for (const TransferFlow& flow : watch.result()->flows) {
    EXPECT_EQ(flow.halves[0].chunks + flow.halves[1].chunks, 10 * kChunksPerSecond);
    EXPECT_EQ(flow.halves[0].chunks, 3 * kChunksPerSecond);  // up to the report after four seconds
    EXPECT_EQ(flow.halves[1].received_chunks, 7 * kChunksPerSecond);
    EXPECT_NEAR(flow.halves[1].wire_seconds, 0.7, 1e-9);
    EXPECT_NEAR(flow.halves[1].drain_seconds, 0.07, 1e-9);
  }
  EXPECT_EQ(watch.result()->judgement.kind, DelayJudgement::Kind::kClear);
}

TEST(TransferWatchTest, AProcessThatRestartsBeginsAnew) {
  const Roster roster = MakeRoster();
  TransferWatch watch({});
  watch.Advance(roster, 100 * kSecond, kNeed);
  Report(watch, 100 * kSecond, 7, -1);
  watch.Observe(3, {0, 3}, SumsOf(3, 1, -1), 108 * kSecond);
  watch.Observe(3, {0, 3}, SumsOf(3, 2, -1), 109 * kSecond);
  watch.Advance(roster, 113 * kSecond, kNeed);
  ASSERT_TRUE(watch.result().has_value());
  for (const TransferFlow& flow : watch.result()->flows) {
    if (flow.source != 3) continue;
    EXPECT_EQ(flow.halves[0].chunks, 0u);
    EXPECT_EQ(flow.halves[1].chunks, kChunksPerSecond);
  }
}

TEST(TransferWatchTest, SumsBeyondTheLimitAndRefusalsAreCounted) {
  TransferWatchOptions options;
  options.max_rows = 10;
  TransferWatch watch(options);
  const std::vector<WatchRequest> requests = watch.Advance(MakeRoster(), 100 * kSecond, kNeed);
  Report(watch, 100 * kSecond, 1, -1);
  EXPECT_EQ(watch.discarded(), 4u * kRanks - 10);
  HostReport report;
  report.answers.push_back({.request = requests[0].id, .done = true});
  report.answers.push_back({.request = requests[1].id, .done = false});
  report.answers.push_back({.request = 7, .done = true});  // of a pull
  watch.Observe(report);
  EXPECT_EQ(watch.answered(), 1u);
  EXPECT_EQ(watch.refused(), 1u);
}

WatchedTransfers Watched(const Roster& roster, int32_t slow_rank) {
  TransferWatch watch({});
  watch.Advance(roster, 100 * kSecond, kNeed);
  Report(watch, 100 * kSecond, 11, slow_rank);
  watch.Advance(roster, 113 * kSecond, kNeed);
  EXPECT_TRUE(watch.result().has_value());
  return *watch.result();
}

TEST(TransferVerdictTest, ASlowSideIsNamedOnlyWhenTheJobIsSlower) {
  const Roster roster = MakeRoster();
  const WatchedTransfers watched = Watched(roster, 2);
  ASSERT_EQ(watched.judgement.kind, DelayJudgement::Kind::kNetwork);
  const std::vector<Verdict> verdicts = TransferVerdicts(roster, watched, {.step_seconds = 0.5, .lost_seconds = 0.1});
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kNetwork);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCommSlowTx);
  ASSERT_THAT(verdicts[0].culprits, SizeIs(1));
  EXPECT_EQ(verdicts[0].culprits[0].host, "node-2");
  EXPECT_NEAR(verdicts[0].cost.slowdown_fraction, 0.2, 1e-9);  // no more than was lost
  EXPECT_EQ(verdicts[0].evidence[0].kind, EvidenceKind::kDelayMatrix);
  EXPECT_THAT(verdicts[0].evidence[0].text(), HasSubstr("5.0 times"));
  std::vector<Verdict> told;
  MergeTransferVerdicts(watched, verdicts, 0.03, &told);
  EXPECT_THAT(told, SizeIs(1));
  told.clear();
  MergeTransferVerdicts(watched, TransferVerdicts(roster, watched, {.step_seconds = 0.5}), 0.03, &told);
  EXPECT_THAT(told, IsEmpty());
}

TEST(TransferVerdictTest, WhatOperationsFoundIsNamedMoreExactly) {
  const Roster roster = MakeRoster();
  const WatchedTransfers watched = Watched(roster, 2);
  Verdict group = Verdict::Accusation(VerdictScope::kNetwork, VerdictClass::kGroupSlow);
  group.culprits = {{.host = "node-2", .confidence = 0.5}, {.host = "node-3", .confidence = 0.5}};
  group.cost.slowdown_fraction = 0.3;
  Verdict elsewhere = Verdict::Accusation(VerdictScope::kNetwork, VerdictClass::kGroupSlow);
  elsewhere.culprits = {{.host = "node-6"}};
  std::vector<Verdict> told = {elsewhere, group};
  MergeTransferVerdicts(watched, TransferVerdicts(roster, watched, {}), 0.03, &told);
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0], elsewhere);
  EXPECT_EQ(told[1].verdict_class, VerdictClass::kCommSlowTx);
  ASSERT_THAT(told[1].culprits, SizeIs(1));
  EXPECT_EQ(told[1].culprits[0].rank, 2);
  EXPECT_EQ(told[1].cost.slowdown_fraction, 0.3);
}

TEST(TransferVerdictTest, CleanTransfersSpeakAgainstAMachineNotForIt) {
  const WatchedTransfers watched = Watched(MakeRoster(), -1);
  Verdict machine = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  machine.culprits = {{.host = "node-1", .rank = 1}};
  std::vector<Verdict> told = {machine};
  MergeTransferVerdicts(watched, {}, 0.03, &told);
  ASSERT_THAT(told[0].evidence, SizeIs(1));
  EXPECT_THAT(told[0].evidence[0].text(), HasSubstr("not the network"));
}

}  // namespace
}  // namespace lockstep
