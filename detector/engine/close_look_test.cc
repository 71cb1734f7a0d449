#include "detector/engine/close_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/engine/investigation.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/network/transfer_watch.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMs = kNanosPerMilli;
constexpr int32_t kRanks = 4;
constexpr CommunicatorId kWorld = 77;

// A ring over four hosts. When `slow`, the transfers from rank 2 to rank 3 take 60 ms longer: everybody leaves the
// AllReduce later alike, so that operations do not tell.
class Fleet {
 public:
  explicit Fleet(int32_t world_size = kRanks) {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      RankView view;
      view.rank = rank;
      view.world_size = world_size;
      view.process_start_ticks = 5;
      view.can_watch_transfers = true;
      roster_.Update(roster_.TouchHost(absl::StrCat("node-", rank), kSecond), view, kSecond, 0);
      roster_.Join(rank, {.id = kWorld, .name = "dp", .size = kRanks, .communicator_rank = rank});
    }
  }

  // Half a second: the reports, then what the close look makes of it.
  void Tick(bool slow, bool standing_still) {
    const int64_t begin_ns = now_ns_;
    now_ns_ += kSecond / 2;
    std::vector<Operation> finished;
    for (; !standing_still && step_end_ns_ + StepNs(slow) <= now_ns_; ++steps_) {
      step_end_ns_ += StepNs(slow);
      finished.push_back(StepOf(steps_ + 1, step_end_ns_, slow));
    }
    held_.insert(held_.end(), finished.begin(), finished.end());
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      HostReport report;
      report.host = absl::StrCat("node-", rank);
      report.received_ns = now_ns_;
      for (const PullRequest& pull : wishes_.pulls) {
        if (pull.host == report.host) report.answers.push_back(Answer(pull, rank));
      }
      look_.Observe(report);
      look_.ObserveCommunicator(rank, rank, {0, rank}, View(rank, finished, slow, begin_ns), now_ns_, now_ns_);
    }
    wishes_ = look_.Advance(roster_, now_ns_, standing_still);
    pulls_ += wishes_.pulls.size();
    watches_ += wishes_.watches.size();
    if (!wishes_.watches.empty()) watched_until_ns_ = now_ns_ + wishes_.watches[0].duration_ns;
    if (!wishes_.watches.empty()) reason_ = wishes_.watches[0].reason;
  }

  void Play(double seconds, bool slow, bool standing_still = false) {
    for (int tick = 0; tick < static_cast<int>(2 * seconds); ++tick) Tick(slow, standing_still);
  }

  // As if nobody had listened since the last report: what was asked for does not come.
  void Resume() {
    wishes_ = {};
    look_.Resume(now_ns_);
  }

  const CloseLook& look() const { return look_; }
  size_t pulls() const { return pulls_; }
  size_t watches() const { return watches_; }
  const std::string& reason() const { return reason_; }

 private:
  static int64_t StepNs(bool slow) { return (slow ? 160 : 100) * kMs; }

  static Operation StepOf(int64_t step, int64_t end_ns, bool slow) {
    Operation operation;
    operation.kind = OperationKind::kAllReduce;
    operation.sequence = static_cast<uint64_t>(step);
    operation.enqueue_ns = operation.start_ns = end_ns - (slow ? 70 : 10) * kMs;
    operation.end_ns = end_ns;
    operation.bytes = 1 << 24;
    operation.quality = TimingQuality::kGpuTimer;
    return operation;
  }

  CommunicatorView View(int32_t rank, const std::vector<Operation>& finished, bool slow, int64_t begin_ns) {
    CommunicatorView view{.id = kWorld, .name = "dp", .size = kRanks, .communicator_rank = rank};
    view.finished = static_cast<uint64_t>(steps_);
    view.operations = finished;
    const auto steps = static_cast<uint64_t>(finished.size());
    waited_ns_[rank] += steps * static_cast<uint64_t>((slow && rank == 2 ? 64 : 4) * kMs);
    if (begin_ns >= watched_until_ns_) return view;
    const uint64_t chunks = 1000 + 16 * static_cast<uint64_t>(steps_);
    view.transfers = {{.peer = (rank + 1) % kRanks,
                       .is_send = true,
                       .steps = chunks,
                       .bytes = 0,
                       .waits_ns = {0, 0, waited_ns_[rank]}},
                      {.peer = (rank + kRanks - 1) % kRanks, .steps = chunks}};
    return view;
  }

  PullAnswer Answer(const PullRequest& pull, int32_t rank) const {
    PullAnswer answer{.request = pull.id, .done = true};
    PulledOperations& pulled = answer.pulled.emplace_back(PulledOperations{rank, 5, kWorld, {}});
    for (const Operation& operation : held_) {
      if (now_ns_ - operation.end_ns <= pull.newest_ns) pulled.operations.push_back(operation);
    }
    return answer;
  }

  Roster roster_{{}};
  CloseLook look_{0.03};
  Wishes wishes_;
  std::vector<Operation> held_;  // all ranks have the same
  int64_t now_ns_ = 100 * kSecond;
  int64_t step_end_ns_ = 100 * kSecond;
  int64_t watched_until_ns_ = 0;
  int64_t steps_ = 0;
  uint64_t waited_ns_[kRanks] = {};
  size_t pulls_ = 0;
  size_t watches_ = 0;
  std::string reason_;
};

TEST(CloseLookTest, NothingIsSettledForAWhileByLooksThatLackARankOfTheJob) {
  Fleet whole;
  Fleet lacks_one(kRanks + 1);
  for (Fleet* fleet : {&whole, &lacks_one}) fleet->Play(60, false);
  EXPECT_TRUE(lacks_one.look().judged()) << "what is there can be judged";
  EXPECT_FALSE(whole.look().left_out().has_value());
  EXPECT_TRUE(whole.look().has_settled());
  EXPECT_FALSE(lacks_one.look().has_settled()) << "who is not back yet may be the culprit";
  lacks_one.Play(2.0 * CloseLook::kBlindNs / kSecond, false);
  EXPECT_TRUE(lacks_one.look().has_settled());
}

TEST(CloseLookTest, ALookThatWasOpenWhenNobodyListenedIsMadeAgainAndNotJudged) {
  Fleet fleet;
  fleet.Play(30, false);
  for (const size_t before = fleet.pulls(); fleet.pulls() == before;) fleet.Play(0.5, false);
  const uint64_t looks = fleet.look().looks();
  const size_t asked = fleet.pulls();
  fleet.Resume();
  int ticks = 0;
  for (; fleet.pulls() == asked && ticks < 20; ++ticks) fleet.Play(0.5, false);
  EXPECT_LE(ticks, 3) << "without waiting for answers that are lost";
  EXPECT_EQ(fleet.look().looks(), looks) << "what came before is not judged";
}

TEST(CloseLookTest, AHealthyJobIsLookedAtEverMoreSeldomAndItsTransfersNever) {
  Fleet fleet;
  fleet.Play(60, false);
  EXPECT_TRUE(fleet.look().judged());
  EXPECT_EQ(fleet.look().why_not_judged(), std::nullopt);
  EXPECT_NEAR(fleet.look().pace().MedianSeconds(), 0.1, 1e-6);
  const size_t first = fleet.pulls();
  EXPECT_GE(first, 3u * kRanks);
  EXPECT_LE(first, 8u * kRanks);
  fleet.Play(600, false);
  EXPECT_LE(fleet.pulls() - first, 11u * kRanks);
  EXPECT_GE(fleet.pulls() - first, 2u * kRanks);
  EXPECT_EQ(fleet.watches(), 0u);
  EXPECT_THAT(fleet.look().verdicts(), IsEmpty());
}

TEST(CloseLookTest, AJobThatStandsStillIsNotLookedAt) {
  Fleet fleet;
  fleet.Play(30, false);
  const size_t before = fleet.pulls();
  fleet.Play(200, false, /*standing_still=*/true);
  EXPECT_EQ(fleet.pulls(), before);
  fleet.Play(2, false);
  EXPECT_GT(fleet.pulls(), before) << "when it goes on, at once";
}

TEST(CloseLookTest, TransfersTellWhatOperationsDoNot) {
  Fleet fleet;
  fleet.Play(20, false);
  fleet.Play(6, true);
  EXPECT_EQ(fleet.watches(), static_cast<size_t>(kRanks));
  EXPECT_THAT(fleet.reason(), HasSubstr("no rank's own time explains it"));
  for (const Verdict& verdict : fleet.look().verdicts()) EXPECT_THAT(verdict.culprits, IsEmpty());
  fleet.Play(16, true);
  ASSERT_THAT(fleet.look().verdicts(), SizeIs(1)) << ToJsonLine(fleet.look().verdicts()[0]);
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
  EXPECT_FALSE(fleet.look().accuses()) << ToJsonLine(fleet.look().verdicts()[0]);
}

}  // namespace
}  // namespace lockstep
