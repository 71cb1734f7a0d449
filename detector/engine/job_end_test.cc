// How jobs end, as their engine tells: by the deaths of their ranks, from outside, in order, or nobody knows how.

#include "detector/engine/job_end.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/process_end.h"
#include "detector/testing/job_generator.h"
#include "detector/testing/job_player.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kSigAbrt = 6, kSigKill = 9, kSigSegv = 11, kSigTerm = 15;

// The process of `rank` ends at `at`, as its agent will tell.
struct PlayedEnd {
  int32_t rank;
  double at;
  int32_t signal;
  int32_t code = 0;
  bool is_told = true;
  bool is_idle = false;  // of one that is not told: outside of all operations, else inside of one
};

PlayedJob PlayEnds(JobGeneratorOptions job, std::vector<PlayedEnd> ends, double seconds = 45,
                   double out_of_memory_at = 0) {
  for (const PlayedEnd& end : ends) job.standstills.push_back({end.rank, end.at, kForever, ProcessState::kRunning});
  const auto alter = [&](double now, HostReport* report) {
    for (RankView& view : report->ranks) {
      const auto end = std::find_if(ends.begin(), ends.end(), [&](const PlayedEnd& e) { return e.rank == view.rank; });
      if (end == ends.end() || now < end->at) continue;
      view.process_state = ProcessState::kGone;
      view.end = ProcessEnd{.source = end->is_told ? EndSource::kConnector : EndSource::kNone,
                            .code = end->code,
                            .signal = end->signal,
                            .age_ns = static_cast<int64_t>((now - end->at) * kNanosPerSecond)};
      for (CommunicatorView& communicator : view.communicators) {
        if (end->is_told) continue;
        communicator.oldest_in_flight.reset();
        if (end->is_idle) continue;
        communicator.oldest_in_flight = InFlightOperation{.kind = OperationKind::kAllReduce,
                                                          .sequence = communicator.finished + 1,
                                                          .started = true,
                                                          .timing_quality = TimingQuality::kHostCall};
      }
    }
    if (out_of_memory_at > 0 && now >= out_of_memory_at && now < out_of_memory_at + 1) {
      report->kernel_events.push_back({.kind = KernelEventKind::kOutOfMemory,
                                       .code = 1002,
                                       .pid = 1002,
                                       .text = "Out of memory: Killed process 1002 (train)",
                                       .host_ns = report->host_ns});
    }
  };
  return Play({.job = std::move(job), .seconds = seconds, .alter = alter});
}

TEST(JobEndTest, AJobThatDiesIsTheFirstDeathsAndItsOneCauseHoldsOn) {
  const PlayedJob run =
      PlayEnds({}, {{2, 20.300, kSigKill}, {0, 20.310, kSigTerm}, {1, 20.312, kSigTerm}, {3, 20.311, kSigTerm}});
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const auto& [key, seen] = *run.causes.begin();
  EXPECT_EQ(key, "hang:node-0/rank2");
  EXPECT_EQ(seen.newest.verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(seen.newest.scope, VerdictScope::kMachine) << "who killed it is not known";
  EXPECT_LE(seen.first - 20.3, 2);
  EXPECT_GE(seen.last, 43);
  EXPECT_EQ(run.summary.state, JobState::kFailed);
  const std::string text = EvidenceText(seen.newest);
  EXPECT_NE(text.find("rank 2 (host node-0), pid 1002 was the first to end: it was ended by SIGKILL (signal 9)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("3 others of 4 ranks ended 10.0 ms to 12.0 ms after that (3 by SIGTERM)"), std::string::npos)
      << text;
  EXPECT_TRUE(text.find("The last that rank 2 recorded is AllReduce") != std::string::npos ||
              text.find("When it ended, rank 2 had called AllReduce") != std::string::npos)
      << text;
  EXPECT_NE(run.summary.note.find("The job died: rank 2 (host node-0) was the first"), std::string::npos);
}

TEST(JobEndTest, WhatAProgramDidByItselfIsNoMachinesFault) {
  const PlayedJob run =
      PlayEnds({}, {{1, 20.3, 0, 3}, {0, 20.31, kSigTerm}, {2, 20.31, kSigTerm}, {3, 20.31, kSigTerm}});
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const Verdict& verdict = run.causes.begin()->second.newest;
  EXPECT_EQ(verdict.scope, VerdictScope::kSoftware);
  EXPECT_EQ(verdict.culprits[0].rank, 1);
  EXPECT_NE(EvidenceText(verdict).find("ended with exit code 3"), std::string::npos);
}

TEST(JobEndTest, ThoseWhomTheirLauncherEndsAndThoseWhoGiveUpLaterAreNoCauses) {
  const PlayedJob run = PlayEnds({.ranks_per_host = 2},
                                 {{0, 20.3, kSigSegv}, {1, 20.4, kSigTerm}, {2, 33.0, kSigAbrt}, {3, 33.1, kSigAbrt}});
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_EQ(run.causes.begin()->first, "hang:node-0/rank0");
  EXPECT_LE(run.causes.begin()->second.first - 20.3, 5) << "while the others still hang";
  EXPECT_GE(run.causes.begin()->second.last, 43);
  EXPECT_EQ(run.causes.begin()->second.newest.scope, VerdictScope::kSoftware);
  EXPECT_EQ(run.summary.state, JobState::kFailed);
}

TEST(JobEndTest, AHangThatEndsInDeathsStaysTheCause) {
  const PlayedJob run = PlayEnds({.standstills = {{3, 20, kForever}}},
                                 {{0, 32, kSigAbrt}, {1, 33.5, kSigAbrt}, {2, 33.6, kSigTerm}, {3, 35, kSigTerm}});
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const auto& [key, seen] = *run.causes.begin();
  EXPECT_EQ(key, "hang:node-0/rank3");
  EXPECT_NE(seen.newest.verdict_class, VerdictClass::kProcessDead);
  EXPECT_GE(seen.last, 43);
  EXPECT_NE(EvidenceText(seen.newest).find("The job died while this held it up"), std::string::npos);
  EXPECT_NE(EvidenceText(seen.newest).find("SIGABRT"), std::string::npos);
}

TEST(JobEndTest, AJobThatIsStoppedAccusesNobodyAlsoWhereItTakesSeconds) {
  for (const double later : {0.0, 4.0, 25.0}) {
    const PlayedJob run = PlayEnds(
        {.ranks_per_host = 2},
        {{0, 20.3, kSigTerm}, {1, 20.3, kSigTerm}, {2, 20.3 + later, kSigTerm}, {3, 20.3 + later, kSigTerm}}, 50);
    EXPECT_TRUE(run.causes.empty()) << later << "\n" << run.log;
    EXPECT_EQ(run.summary.state, JobState::kStopped);
    EXPECT_NE(run.summary.note.find("SIGTERM"), std::string::npos) << run.summary.note;
  }
}

TEST(JobEndTest, OneWhoWasAskedToEndWhileTheOthersGoOnWaitingIsNamedInTheEnd) {
  const PlayedJob run = PlayEnds({}, {{1, 20.3, kSigTerm}}, 60);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_EQ(run.causes.begin()->first, "hang:node-0/rank1");
  EXPECT_GE(run.causes.begin()->second.first, 50);
}

TEST(JobEndTest, WhatHeldOfAJobThatDiesHoldsOn) {
  const PlayedJob run = PlayEnds({.ranks_per_host = 2, .noise = {.own_cv = 0.02}, .slow = {{3, 10, kForever, 1.5}}},
                                 {{0, 40.3, 0, 1}, {1, 40.4, kSigTerm}, {2, 41, kSigTerm}, {3, 41, kSigTerm}}, 60);
  ASSERT_EQ(run.causes.size(), 2u) << run.log;
  EXPECT_GE(run.causes.at("slow:node-1/rank3").last, 58);
  EXPECT_GE(run.causes.at("hang:node-0/rank0").last, 58);
}

TEST(JobEndTest, AKillForMemoryIsNamedAndIsNoStop) {
  const std::vector<PlayedEnd> ends = {
      {0, 20.3, kSigKill}, {1, 20.3, kSigKill}, {2, 20.3, kSigKill}, {3, 20.3, kSigKill}};
  EXPECT_TRUE(PlayEnds({}, ends).causes.empty());
  const PlayedJob run = PlayEnds({}, ends, 45, /*out_of_memory_at=*/20.2);
  const auto found = run.causes.find("hang:node-0/rank2");
  ASSERT_NE(found, run.causes.end()) << run.log;
  EXPECT_NE(EvidenceText(found->second.newest).find("because memory ran out"), std::string::npos);
  EXPECT_EQ(run.summary.state, JobState::kFailed);
}

TEST(JobEndTest, ExitCodeZeroIsAnEndInOrder) {
  std::vector<PlayedEnd> ends;
  for (int32_t rank = 0; rank < 4; ++rank) ends.push_back({.rank = rank, .at = 20.3, .signal = 0});
  const PlayedJob run = PlayEnds({}, ends);
  EXPECT_TRUE(run.causes.empty()) << run.log;
  EXPECT_EQ(run.summary.state, JobState::kEnded);
  EXPECT_NE(run.summary.note.find("4 did not finalize and had exit code 0"), std::string::npos) << run.summary.note;
}

TEST(JobEndTest, AnEndOfWhichNothingIsKnownIsNeitherADeathNorOrder) {
  std::vector<PlayedEnd> ends;
  for (int32_t rank = 0; rank < 4; ++rank) {
    ends.push_back({.rank = rank, .at = 20.3, .signal = 0, .is_told = false, .is_idle = true});
  }
  const PlayedJob run = PlayEnds({}, ends);
  EXPECT_TRUE(run.causes.empty()) << run.log;
  EXPECT_EQ(run.summary.state, JobState::kGone);
  EXPECT_NE(run.summary.note.find("How 4 of them did is not known"), std::string::npos) << run.summary.note;
}

TEST(JobEndTest, WhatHeldOfAJobOfWhichNobodyKnowsHowItEndedHoldsOn) {
  std::vector<PlayedEnd> ends;
  for (int32_t rank = 0; rank < 4; ++rank) {
    ends.push_back({.rank = rank, .at = 40.3, .signal = 0, .is_told = rank == 0, .is_idle = true});
  }
  const PlayedJob run =
      PlayEnds({.ranks_per_host = 2, .noise = {.own_cv = 0.02}, .slow = {{3, 10, kForever, 1.5}}}, ends, 60);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  EXPECT_GE(run.causes.at("slow:node-1/rank3").last, 58);
  EXPECT_EQ(run.summary.state, JobState::kGone);
}

TEST(JobEndTest, WhereManyMayHaveBeenTheFirstNobodyIsNamed) {
  std::vector<PlayedEnd> ends;
  for (int32_t rank = 0; rank < 4; ++rank) ends.push_back({.rank = rank, .at = 20.3, .signal = 0, .is_told = false});
  const PlayedJob run = PlayEnds({}, ends);
  ASSERT_EQ(run.causes.size(), 1u) << run.log;
  const Verdict& verdict = run.causes.begin()->second.newest;
  EXPECT_EQ(verdict.scope, VerdictScope::kJob);
  EXPECT_TRUE(verdict.culprits.empty());
  EXPECT_NE(EvidenceText(verdict).find("cannot be told"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
