#include "detector/engine/investigation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"
#include "detector/verdict/reason.h"

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

constexpr int64_t kWindowNs = 3 * kSecond;

// Plays one whole round, in which `answering` hosts answer.
LookedAt PlayRound(int32_t slow_rank, int32_t answering = kRanks, TimingQuality quality = TimingQuality::kGpuTimer) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  const int64_t now_ns = 100 * kSecond;
  const std::vector<PullRequest> requests = investigation.Begin(roster, now_ns, kWindowNs);
  EXPECT_THAT(requests, SizeIs(kRanks));
  for (int32_t rank = 0; rank < answering; ++rank) {
    const uint64_t id = requests[static_cast<size_t>(rank)].id;
    investigation.Observe(Report(rank, MakeAnswer(id, rank, slow_rank, 24, static_cast<uint64_t>(now_ns), quality)));
  }
  EXPECT_THAT(investigation.Advance(roster, now_ns + InvestigationOptions().patience_ns), IsEmpty());
  EXPECT_EQ(investigation.rounds(), 1u);
  EXPECT_FALSE(investigation.open());
  std::optional<LookedAt> look = investigation.Take();
  EXPECT_TRUE(look.has_value());
  EXPECT_FALSE(investigation.Take().has_value());
  return look.value_or(LookedAt());
}

TEST(InvestigationTest, ALookIsJudgedLikeAFileAndTellsWhatCountsTheSteps) {
  const LookedAt look = PlayRound(5);
  EXPECT_EQ(look.judgement.why_not_judged, std::nullopt);
  ASSERT_FALSE(look.judgement.report.verdicts.empty());
  const Verdict& verdict = look.judgement.report.verdicts[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  ASSERT_FALSE(verdict.culprits.empty());
  EXPECT_EQ(verdict.culprits[0].host, "node-5");
  ASSERT_FALSE(look.judgement.step_counts.empty());
  EXPECT_EQ(look.judgement.step_counts[0].communicator, absl::StrCat(kWorld));
  EXPECT_EQ(look.judgement.step_counts[0].operations_per_step, 1u);
  ASSERT_THAT(look.judgement.work, SizeIs(kRanks));
  EXPECT_NEAR(look.judgement.work[5].own_seconds, 0.151, 0.002);
  EXPECT_NEAR(look.judgement.work[5].peer_seconds, 0.101, 0.002);
  EXPECT_EQ(look.operations, 24u * kRanks);
  EXPECT_GT(look.bytes, 24 * kRanks * 18);
}

TEST(InvestigationTest, TimesThatDoNotTellWaitingFromWorkingAreNotJudged) {
  for (const TimingQuality quality : {TimingQuality::kProxyEnvelope, TimingQuality::kHostEnqueue}) {
    const LookedAt look = PlayRound(5, kRanks, quality);
    EXPECT_EQ(look.judgement.why_not_judged, Reason(TimesOfHandingOver{}));
    EXPECT_THAT(look.judgement.report.verdicts, IsEmpty());
  }
}

TEST(InvestigationTest, AHealthyJobIsAccusedOfNothing) {
  const LookedAt look = PlayRound(/*slow_rank=*/-1);
  EXPECT_EQ(look.judgement.why_not_judged, std::nullopt);
  EXPECT_THAT(look.judgement.report.verdicts, IsEmpty());
}

TEST(InvestigationTest, NobodyAnswersAndTheRoundEndsWithTheReason) {
  EXPECT_EQ(PlayRound(5, 0).judgement.why_not_judged, Reason(NoRecordsSent{}));
}

TEST(InvestigationTest, ARoundEndsWithoutTheHostsThatDoNotAnswer) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  int64_t now = 100 * kSecond;
  const std::vector<PullRequest> requests = investigation.Begin(roster, now, kWindowNs);
  ASSERT_THAT(requests, SizeIs(kRanks));
  EXPECT_THAT(investigation.Begin(roster, now, kWindowNs), IsEmpty());   // one at a time
  EXPECT_THAT(investigation.Advance(roster, now + kSecond), IsEmpty());  // it waits
  EXPECT_EQ(investigation.rounds(), 0u);
  now += InvestigationOptions().patience_ns;
  EXPECT_THAT(investigation.Advance(roster, now), IsEmpty());
  EXPECT_EQ(investigation.rounds(), 1u);
  // An answer that comes too late, and one that nobody asked for, change nothing.
  investigation.Observe(Report(0, MakeAnswer(requests[0].id, 0, 5, 24, 1)));
  const std::vector<PullRequest> again = investigation.Begin(roster, now, kWindowNs);
  ASSERT_THAT(again, SizeIs(kRanks));
  EXPECT_GT(again[0].id, requests.back().id);
}

TEST(InvestigationTest, OperationsBeyondTheLimitAreCounted) {
  const Roster roster = MakeRoster();
  InvestigationOptions options;
  options.max_operations = 50;
  Investigation investigation(options);
  const std::vector<PullRequest> requests = investigation.Begin(roster, kSecond, kWindowNs);
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    investigation.Observe(Report(rank, MakeAnswer(requests[static_cast<size_t>(rank)].id, rank, -1, 24, 1)));
  }
  EXPECT_EQ(investigation.discarded(), 24u * 6);
}

TEST(InvestigationTest, TheBudgetOfBytesIsSharedByTheHosts) {
  const Roster roster = MakeRoster();
  Investigation investigation({});
  uint64_t bytes = 0;
  for (const PullRequest& request : investigation.Begin(roster, kSecond, 16 * kSecond)) {
    bytes += request.max_bytes;
    EXPECT_EQ(request.newest_ns, 16 * kSecond);
  }
  EXPECT_LE(bytes, InvestigationOptions().max_bytes);
}

}  // namespace
}  // namespace lockstep
