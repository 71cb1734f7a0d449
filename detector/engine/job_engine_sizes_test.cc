// Jobs whose recorders do not know how large their communicators are, as with NCCL before 2.27.

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "detector/engine/job_engine.h"
#include "detector/testing/engine_driver.h"
#include "detector/testing/job_generator.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

struct Outcome {
  std::set<std::string> causes;
  JobSummary summary;
};

// Pairs whose operations count as over when the host has handed them over.
void HandOver(CommunicatorView* pair) {
  for (Operation& operation : pair->operations) operation.quality = TimingQuality::kHostEnqueue;
  pair->oldest_in_flight.reset();
  pair->started = pair->finished = pair->enqueued;
}

// `unheard` = a rank whose agent does not report; -1 = all do.
Outcome PlayUnsized(const JobGeneratorOptions& options, double seconds, int32_t unheard = -1,
                    bool pairs_handed_over = false) {
  JobGenerator generator(options);
  EngineDriver driver({});
  Outcome outcome;
  while (generator.NowSeconds() < seconds) {
    for (HostReport report : generator.NextReports()) {
      std::erase_if(report.ranks, [unheard](const RankView& rank) { return rank.rank == unheard; });
      for (RankView& rank : report.ranks) {
        for (CommunicatorView& communicator : rank.communicators) {
          if (pairs_handed_over && communicator.size == 2) HandOver(&communicator);
          communicator.size = 0;
        }
      }
      driver.Record(report);
      driver.Deliver(report);
    }
    for (const Verdict& verdict : driver.Evaluate(generator.NowNanos()).verdicts) {
      outcome.causes.insert(CauseKey(verdict));
    }
  }
  outcome.summary = driver.engine().summary();
  return outcome;
}

TEST(JobEngineSizesTest, ASlowRankIsNamedOnceTheSizesAreBelieved) {
  const Outcome outcome = PlayUnsized({.noise = {.own_cv = 0.05}, .slow = {{2, 30, kForever, 1.5}}}, 60);
  EXPECT_EQ(outcome.causes, std::set<std::string>{"slow:node-0/rank2"});
}

TEST(JobEngineSizesTest, ARankThatDoesNotEnterIsNamed) {
  const Outcome outcome = PlayUnsized({.standstills = {{1, 40.03, kForever, ProcessState::kRunning}}}, 60);
  EXPECT_EQ(outcome.causes, std::set<std::string>{"hang:node-0/rank1"});
}

TEST(JobEngineSizesTest, WithARankUnheardNobodyIsJudgedAndTheReasonIsSaid) {
  for (const bool stuck : {false, true}) {
    JobGeneratorOptions options{.ranks_per_host = 1, .slow = {{2, 20, kForever, 1.5}}};
    if (stuck) options.standstills = {{3, 40, kForever, ProcessState::kRunning}};
    const Outcome outcome = PlayUnsized(options, 60, /*unheard=*/3);
    EXPECT_TRUE(outcome.causes.empty()) << *outcome.causes.begin();
    EXPECT_TRUE(absl::StrContains(outcome.summary.note, "only 3 of 4 ranks can be followed")) << outcome.summary.note;
  }
}

TEST(JobEngineSizesTest, WhoMayWaitWhereNobodySeesItIsNoCulprit) {
  // Rank 3 waits in its pair for rank 2, and is late in the world because of that.
  const JobGeneratorOptions options{.slow = {{2, 30, 60, 1.5}}, .standstills = {{2, 70, kForever}}};
  // No step is known, so that 30 s pass before anybody counts as stuck.
  const Outcome outcome = PlayUnsized(options, 110, -1, /*pairs_handed_over=*/true);
  EXPECT_TRUE(outcome.causes.empty()) << *outcome.causes.begin();
  EXPECT_TRUE(absl::StrContains(outcome.summary.note, "stuck inside collectives")) << outcome.summary.note;
}

TEST(JobEngineSizesTest, AHangBeforeTheSizesAreBelievedAccusesNobodyElse) {
  const Outcome outcome = PlayUnsized({.standstills = {{2, 4, kForever, ProcessState::kRunning}}}, 60);
  // By then everybody has long been seen, and the standstill is told.
  for (const std::string& cause : outcome.causes) EXPECT_EQ(cause, "hang:node-0/rank2");
}

}  // namespace
}  // namespace lockstep
