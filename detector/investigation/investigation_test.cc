#include "detector/investigation/investigation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = kNanosPerMilli;
constexpr int64_t kSecond = kNanosPerSecond;
constexpr int32_t kRanks = 8;
constexpr CommunicatorId kWorld = 77;

// Eight hosts with a rank each and one communicator; nobody has been asked yet.
Roster MakeRoster() {
  Roster roster({});
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    RankView view;
    view.rank = rank;
    view.world_size = kRanks;
    view.process_start_ticks = 5;
    const std::string host = absl::StrCat("node-", rank);
    roster.Update(roster.TouchHost(host, kSecond), view, kSecond, 0);
    roster.Join(roster.SlotOfRank(rank), {.id = kWorld, .name = "dp", .size = kRanks, .communicator_rank = rank});
  }
  return roster;
}

// What the agent of `rank` holds: `steps` AllReduces, before each of which `slow_rank` works half as long again.
PullAnswer MakeAnswer(uint64_t request, int32_t rank, int32_t slow_rank, int steps, uint64_t seed,
                      TimingQuality quality = TimingQuality::kGpuTimer) {
  PullAnswer answer{.request = request, .done = true};
  PulledOperations& pulled = answer.pulled.emplace_back(PulledOperations{rank, 5, kWorld, {}});
  Random random(seed);
  int64_t now = rank * kSecond;  // every host has its own clock
  for (int step = 0; step < steps; ++step) {
    int64_t latest = 0;
    int64_t own = 0;
    for (int32_t other = 0; other < kRanks; ++other) {
      const int64_t work = (other == slow_rank ? 150 : 100) * kMs + static_cast<int64_t>(random.Below(2 * kMs));
      latest = std::max(latest, work);
      if (other == rank) own = work;
    }
    Operation operation;
    operation.kind = OperationKind::kAllReduce;
    operation.sequence = static_cast<uint64_t>(step) + 1;
    operation.enqueue_ns = operation.start_ns = now + own;
    operation.end_ns = now + latest + 5 * kMs;
    operation.bytes = 1 << 20;
    operation.quality = quality;
    now = operation.end_ns;
    pulled.operations.push_back(operation);
  }
  return answer;
}

HostReport Report(int32_t rank, PullAnswer answer) {
  HostReport report;
  report.host = absl::StrCat("node-", rank);
  report.answers.push_back(std::move(answer));
  return report;
}

// Plays one whole round from `now_ns` on, in which `answering` hosts answer; the time of its end.
int64_t PlayRound(Investigation& investigation, const Roster& roster, int64_t now_ns, int32_t slow_rank,
                  int32_t answering = kRanks, TimingQuality quality = TimingQuality::kGpuTimer) {
  const std::vector<PullRequest> requests = investigation.Advance(roster, now_ns, true, 0.15);
  EXPECT_THAT(requests, SizeIs(kRanks));
  for (int32_t rank = 0; rank < answering; ++rank) {
    const uint64_t id = requests[static_cast<size_t>(rank)].id;
    investigation.Observe(Report(rank, MakeAnswer(id, rank, slow_rank, 24, static_cast<uint64_t>(now_ns), quality)));
  }
  now_ns += answering == kRanks ? kSecond : InvestigationOptions().patience_ns;
  EXPECT_THAT(investigation.Advance(roster, now_ns, true, 0.15), IsEmpty());
  return now_ns;
}

TEST(InvestigationTest, ACauseIsToldWhenTwoRoundsFindIt) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  int64_t now = PlayRound(investigation, roster, 100 * kSecond, 5);
  EXPECT_THAT(investigation.verdicts(), IsEmpty());
  now = PlayRound(investigation, roster, now + InvestigationOptions().pause_ns, 5);
  ASSERT_THAT(investigation.verdicts(), SizeIs(1));
  const Verdict& verdict = investigation.verdicts()[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  ASSERT_FALSE(verdict.culprits.empty());
  EXPECT_EQ(verdict.culprits[0].host, "node-5");
  // Explained by something else, or healthy again: forgotten.
  EXPECT_THAT(investigation.Advance(roster, now + kSecond, false, 0.15), IsEmpty());
  EXPECT_THAT(investigation.verdicts(), IsEmpty());
}

TEST(InvestigationTest, TimesThatDoNotTellWaitingFromWorkingAccuseNobody) {
  for (const TimingQuality quality : {TimingQuality::kProxyEnvelope, TimingQuality::kHostEnqueue}) {
    const Roster roster = MakeRoster();
    Investigation investigation({});
    int64_t now = 100 * kSecond;
    for (int round = 0; round < 3; ++round) {
      now = PlayRound(investigation, roster, now + InvestigationOptions().pause_ns, 5, kRanks, quality);
      EXPECT_THAT(investigation.verdicts(), IsEmpty());
    }
  }
}

TEST(InvestigationTest, AHealthyJobIsAccusedOfNothing) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  int64_t now = 100 * kSecond;
  for (int round = 0; round < 4; ++round) {
    now = PlayRound(investigation, roster, now + InvestigationOptions().pause_ns, /*slow_rank=*/-1);
    EXPECT_THAT(investigation.verdicts(), IsEmpty());
  }
  EXPECT_EQ(investigation.rounds(), 4u);
}

TEST(InvestigationTest, ARoundEndsWithoutTheHostsThatDoNotAnswer) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  int64_t now = 100 * kSecond;
  const std::vector<PullRequest> requests = investigation.Advance(roster, now, true, 0.15);
  ASSERT_THAT(requests, SizeIs(kRanks));
  EXPECT_THAT(investigation.Advance(roster, now + kSecond, true, 0.15), IsEmpty());  // it waits
  EXPECT_EQ(investigation.rounds(), 0u);
  now += InvestigationOptions().patience_ns;
  EXPECT_THAT(investigation.Advance(roster, now, true, 0.15), IsEmpty());
  EXPECT_EQ(investigation.rounds(), 1u);
  // An answer that comes too late, and one that nobody asked for, change nothing.
  investigation.Observe(Report(0, MakeAnswer(requests[0].id, 0, 5, 24, 1)));
  const std::vector<PullRequest> again =
      investigation.Advance(roster, now + InvestigationOptions().pause_ns, true, 0.15);
  ASSERT_THAT(again, SizeIs(kRanks));
  EXPECT_GT(again[0].id, requests.back().id);
}

TEST(InvestigationTest, OperationsBeyondTheLimitAreCounted) {
  const Roster roster = MakeRoster();
  InvestigationOptions options;
  options.max_operations = 50;
  Investigation investigation(options);
  const std::vector<PullRequest> requests = investigation.Advance(roster, kSecond, true, 0);
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    investigation.Observe(Report(rank, MakeAnswer(requests[static_cast<size_t>(rank)].id, rank, -1, 24, 1)));
  }
  EXPECT_EQ(investigation.discarded(), 24u * 6);
}

TEST(InvestigationTest, TheBudgetOfBytesIsSharedByTheHosts) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  uint64_t bytes = 0;
  for (const PullRequest& request : investigation.Advance(roster, kSecond, true, 1)) {
    bytes += request.max_bytes;
    EXPECT_EQ(request.newest_ns, 16 * kSecond);
  }
  EXPECT_LE(bytes, InvestigationOptions().max_bytes);
}

}  // namespace
}  // namespace lockstep
