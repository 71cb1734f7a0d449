#include "detector/investigation/close_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/input.h"
#include "detector/investigation/investigation.h"
#include "detector/investigation/transfer_watch.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMs = kNanosPerMilli;
constexpr int32_t kRanks = 4;

// A ring over four hosts, whose transfers, when `slow`, take 60 ms longer on the way from rank 2 to rank 3. Everybody
// leaves the AllReduce later alike, so that operations do not tell.
class Fleet {
 public:
  Fleet() {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      RankView view;
      view.rank = rank;
      view.world_size = kRanks;
      view.process_start_ticks = 5;
      view.can_watch_transfers = true;
      roster_.Update(roster_.TouchHost(absl::StrCat("node-", rank), kSecond), view, kSecond, 0);
      roster_.Join(rank, {.id = 77, .name = "dp", .size = kRanks, .communicator_rank = rank});
    }
  }

  // Half a second: the reports, then what the close look makes of it.
  void Tick(bool slow, const JobView& known = {.explained = true}) {
    now_ns_ += kSecond / 2;
    steps_ += slow ? 3 : 5;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      HostReport report;
      report.host = absl::StrCat("node-", rank);
      report.received_ns = now_ns_;
      for (const PullRequest& pull : wishes_.pulls) {
        if (pull.host == report.host) report.answers.push_back(Answer(pull, rank));
      }
      look_.Observe(report);
      waited_ns_[rank] += static_cast<uint64_t>((slow && rank == 2 ? 3 * 64 : 5 * 4) * kMs);
      const uint64_t chunks = 1000 + 16 * static_cast<uint64_t>(steps_);
      if (now_ns_ < watched_until_ns_) {
        const TransferWaits sent = {.peer = (rank + 1) % kRanks,
                                    .is_send = true,
                                    .steps = chunks,
                                    .bytes = 0,
                                    .waits_ns = {0, 0, waited_ns_[rank]}};
        const TransferWaits received = {.peer = (rank + kRanks - 1) % kRanks, .steps = chunks};
        look_.ObserveTransfers(rank, {0, rank}, {sent, received}, now_ns_);
      }
    }
    JobView job = known;
    job.median_step_seconds = job.recent_step_seconds = slow ? 0.16 : 0.1;
    job.operations_per_step = 1;
    wishes_ = look_.Advance(roster_, now_ns_, job);
    pulls_ += wishes_.pulls.size();
    watches_ += wishes_.watches.size();
    if (!wishes_.watches.empty()) watched_until_ns_ = now_ns_ + wishes_.watches[0].duration_ns;
    if (!wishes_.watches.empty()) reason_ = wishes_.watches[0].reason;
  }

  void Play(double seconds, bool slow, const JobView& known = {.explained = true}) {
    for (int tick = 0; tick < static_cast<int>(2 * seconds); ++tick) Tick(slow, known);
  }

  const CloseLook& look() const { return look_; }
  size_t pulls() const { return pulls_; }
  size_t watches() const { return watches_; }
  const std::string& reason() const { return reason_; }

 private:
  static PullAnswer Answer(const PullRequest& pull, int32_t rank) {
    PullAnswer answer{.request = pull.id, .done = true};
    PulledOperations& pulled = answer.pulled.emplace_back(PulledOperations{rank, 5, 77, {}});
    for (uint64_t step = 1; step <= 16; ++step) {
      Operation operation;
      operation.kind = OperationKind::kAllReduce;
      operation.sequence = step;
      operation.enqueue_ns = operation.start_ns = static_cast<int64_t>(step) * 160 * kMs + 90 * kMs;
      operation.end_ns = operation.start_ns + 70 * kMs;
      operation.bytes = 1 << 24;
      operation.quality = TimingQuality::kGpuTimer;
      pulled.operations.push_back(operation);
    }
    return answer;
  }

  Roster roster_{{}};
  CloseLook look_{0.03};
  Wishes wishes_;
  int64_t now_ns_ = 100 * kSecond;
  int64_t watched_until_ns_ = 0;
  int64_t steps_ = 0;
  uint64_t waited_ns_[kRanks] = {};
  size_t pulls_ = 0;
  size_t watches_ = 0;
  std::string reason_;
};

TEST(CloseLookTest, AHealthyJobIsLeftAlone) {
  Fleet fleet;
  fleet.Play(120, false);
  EXPECT_EQ(fleet.pulls(), 0u);
  EXPECT_EQ(fleet.watches(), 0u);
}

TEST(CloseLookTest, TransfersTellWhatOperationsDoNot) {
  Fleet fleet;
  fleet.Play(20, false);
  fleet.Play(12, true);
  EXPECT_GT(fleet.pulls(), 0u);
  EXPECT_EQ(fleet.watches(), static_cast<size_t>(kRanks));
  EXPECT_THAT(fleet.reason(), HasSubstr("no rank's own time explains it"));
  EXPECT_THAT(fleet.look().verdicts(), IsEmpty());
  fleet.Play(10, true);
  ASSERT_THAT(fleet.look().verdicts(), SizeIs(1));
  const Verdict& verdict = fleet.look().verdicts()[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kNetwork);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kLinkSlow);
  ASSERT_THAT(verdict.culprits, SizeIs(1));
  EXPECT_EQ(verdict.culprits[0].host, "node-2");
  EXPECT_EQ(verdict.culprits[0].peer_host, "node-3");
  EXPECT_GT(verdict.cost.seconds_per_step, 0.03);
  EXPECT_LE(verdict.cost.seconds_per_step, 0.06);  // what a step got longer by
  EXPECT_TRUE(fleet.look().accuses());
  // It holds while the job is slow, longer than a slow job without a cause is thought unusual, and ends with it.
  fleet.Play(700, true);
  EXPECT_TRUE(fleet.look().accuses());
  fleet.Play(5, false);
  EXPECT_THAT(fleet.look().verdicts(), IsEmpty());
}

TEST(CloseLookTest, NobodyAsksForTransfersWhenASlowRankIsNamed) {
  Fleet fleet;
  fleet.Play(20, false);
  fleet.Play(60, true, {.explained = true, .culprit_known = true});
  EXPECT_EQ(fleet.watches(), 0u);
  EXPECT_EQ(fleet.pulls(), 0u);
}

// Its reports do not suffice, but it is not slow: operations are looked at, transfers are not.
TEST(CloseLookTest, NobodyAsksForTransfersOfAJobThatIsNotSlow) {
  Fleet fleet;
  fleet.Play(60, false, {.explained = false});
  EXPECT_GT(fleet.pulls(), 0u);
  EXPECT_EQ(fleet.watches(), 0u);
}

}  // namespace
}  // namespace lockstep
