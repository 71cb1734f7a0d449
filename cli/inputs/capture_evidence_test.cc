// A simulated job goes through a capture and comes back as evidence that leads to the same conclusion.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/testing/temporary_directory.h"
#include "cli/inputs/input_files.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/trace.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"
#include "sim/capture/simulated_capture.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int32_t kRank = 13;

class CaptureEvidenceTest : public ::testing::Test {
 protected:
  // What a capture of a job with `fault` tells; with `share` below 1 only its first part.
  InputFiles Read(const Episode& episode, double share = 1) {
    const std::string path = (directory_.path() / "job.lockcap").string();
    EXPECT_TRUE(WriteSimulatedCapture(episode, 1, path).ok());
    std::filesystem::resize_file(path, static_cast<uintmax_t>(share * std::filesystem::file_size(path)));
    return ReadInputFiles({path}, std::nullopt, [](const ReadProgress&) {});
  }

  static Episode Broken(FaultKind kind) {
    JobSpec job = TypicalJob(32, 3);
    job.schedule.steps = 10;
    job.recording.counters = true;
    const FaultSpec fault{.kind = kind, .targets = {kRank}, .onset_step = 6};
    return Simulate(job, {&fault, 1}, 1);
  }

  const TemporaryDirectory directory_;
};

TEST_F(CaptureEvidenceTest, BringsBackRanksOperationsAndCounters) {
  const Episode episode = Broken(FaultKind::kNotEntered);
  const InputFiles inputs = Read(episode);
  EXPECT_TRUE(inputs.unreadable.empty());
  ASSERT_EQ(inputs.jobs.size(), 1u);
  const JobEvidence& evidence = inputs.jobs[0].evidence;
  ASSERT_EQ(evidence.trace.ranks.size(), episode.evidence.trace.ranks.size());
  EXPECT_EQ(evidence.trace.communicators.size(), episode.evidence.trace.communicators.size());
  // Of what is in flight at the end only the oldest of each communicator is known, and how far the host has got.
  EXPECT_GE(evidence.trace.operations.size(), episode.evidence.trace.operations.size() * 95 / 100);
  EXPECT_LE(evidence.trace.operations.size(), episode.evidence.trace.operations.size());
  EXPECT_FALSE(evidence.metrics.series.empty());
  for (const TraceRank& rank : evidence.trace.ranks) EXPECT_NE(rank.last_seen_ns, kNoTime) << rank.rank;
}

TEST_F(CaptureEvidenceTest, LeadsToTheRankAtWhichTheJobGotStuck) {
  for (const FaultKind kind : {FaultKind::kNotEntered, FaultKind::kProcessDead}) {
    const InputFiles inputs = Read(Broken(kind));
    ASSERT_EQ(inputs.jobs.size(), 1u);
    const JobReport report = Diagnose(inputs.jobs[0].evidence, DiagnosisOptions());
    EXPECT_EQ(report.state, JobState::kHung);
    ASSERT_FALSE(report.verdicts.empty());
    EXPECT_EQ(Name(report.verdicts[0].verdict_class), Name(InfoOf(kind).verdict_class));
    ASSERT_EQ(report.verdicts[0].culprits.size(), 1u);
    EXPECT_EQ(report.verdicts[0].culprits[0].rank, kRank);
  }
}

TEST_F(CaptureEvidenceTest, ACutCaptureGivesWhatPrecedesTheCutAndSaysSo) {
  const Episode episode = Broken(FaultKind::kNotEntered);
  const InputFiles inputs = Read(episode, 0.5);
  ASSERT_EQ(inputs.unreadable.size(), 1u);
  EXPECT_NE(inputs.unreadable[0].error.find("cut short at byte"), std::string::npos) << inputs.unreadable[0].error;
  ASSERT_EQ(inputs.jobs.size(), 1u);
  EXPECT_GT(inputs.jobs[0].evidence.trace.operations.size(), 0u);
  EXPECT_LT(inputs.jobs[0].evidence.trace.operations.size(), episode.evidence.trace.operations.size());
}

}  // namespace
}  // namespace lockstep
