// What the engine says live at the end of an episode is what it says about the recording as a file.

#include <cstdint>
#include <set>
#include <string>

#include "base/testing/sim_clock.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/job_evidence.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_run.h"
#include "eval/live/live_suite.h"
#include "gtest/gtest.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

// Kinds about which live and file are known to say different things, and why. To be shortened, never lengthened without
// a reason that docs/quality.md gives.
const std::set<FaultKind> kKnownDifferences = {
    FaultKind::kGpuLost,        // live, a fatal Xid names the host alone
    FaultKind::kJobRegression,  // a look sees a window: the time before the change is not in it
    FaultKind::kPause,          // as above
};

constexpr FaultKind kKinds[] = {FaultKind::kComputeSlow,   FaultKind::kNicSendSlow,        FaultKind::kHostSlow,
                                FaultKind::kGpuLost,       FaultKind::kNotEntered,         FaultKind::kProcessDead,
                                FaultKind::kTransferStuck, FaultKind::kMachineUnreachable, FaultKind::kJobRegression,
                                FaultKind::kPause,         FaultKind::kDeadlock,           FaultKind::kMismatch,
                                FaultKind::kGpuStuck};

LiveOutcome Play(const std::vector<FaultSpec>& faults) {
  LivePlan plan;
  plan.episode.job = TypicalJob(64, 3);
  plan.episode.job.schedule.steps = 60;
  plan.episode.faults = faults;
  plan.episode.seed = 11;
  plan.seed = 12;
  for (FaultSpec& fault : plan.episode.faults) fault.onset_step = 12;
  const LiveRun run{.engine = CollectorEngine({}),
                    .file_engine = [](const JobEvidence& evidence) { return Diagnose(evidence, {}); },
                    .cpu = [] { return int64_t{0}; }};
  return RunLivePlan(plan, run, SimClock(), nullptr);
}

TEST(LiveParityTest, AHealthyJobIsHealthyBothWays) {
  const LiveOutcome outcome = Play({});
  EXPECT_TRUE(outcome.parity.agrees) << outcome.parity.difference;
}

TEST(LiveParityTest, FaultsAreTheSameLiveAndAsAFile) {
  for (const FaultKind kind : kKinds) {
    Random random(5);
    const LiveOutcome outcome = Play({RandomFault(kind, 1, TypicalJob(64, 3), random)});
    ASSERT_TRUE(outcome.judged_as_file);
    if (kKnownDifferences.count(kind) > 0) continue;
    EXPECT_TRUE(outcome.parity.agrees) << InfoOf(kind).name << ": " << outcome.parity.difference
                                       << "\nlive: " << outcome.answer << "\nfile: " << outcome.file_answer;
  }
}

}  // namespace
}  // namespace lockstep
