#include "detector/counters/job_loss.h"

#include "detector/counters/job_regime.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

void NoteFor(int moments, int regime, double loss, JobLoss* job) {
  for (int i = 0; i < moments; ++i) job->Note(regime, loss);
}

TEST(JobLossTest, WhatAPauseTakesIsNoLossOfASlowerJob) {
  JobLoss job;
  EXPECT_EQ(job.share(), 0);
  NoteFor(100, kJobWorks, 0.2, &job);
  NoteFor(30, kJobStands, 0.9, &job);
  NoteFor(100, kJobWorks, 0.2, &job);
  EXPECT_NEAR(job.share(), 0.2, 1e-9);
}

TEST(JobLossTest, ASingleMomentIsNotTheWhole) {
  JobLoss job;
  NoteFor(99, kJobWorks, 0.2, &job);
  NoteFor(1, kJobWorks, 0.7, &job);
  NoteFor(50, kJobWorks, 0, &job);
  EXPECT_NEAR(job.share(), 0.205, 1e-9) << "moments in which nothing is lost say nothing";
}

TEST(JobLossTest, AJobThatHangsLosesWhatItStands) {
  JobLoss job;
  NoteFor(100, kJobWorks, 0.2, &job);
  NoteFor(30, kJobHangs, 0.9, &job);
  EXPECT_NEAR(job.share(), 0.9, 1e-9);
  NoteFor(1, kJobWorks, 0.2, &job);
  EXPECT_NEAR(job.share(), 0.2, 1e-9) << "it went on";
}

TEST(JobLossTest, WhereNothingElseWasSeenAPauseIsWhatIsKnown) {
  JobLoss job;
  NoteFor(30, kJobStands, 0.9, &job);
  EXPECT_NEAR(job.share(), 0.9, 1e-9);
}

}  // namespace
}  // namespace lockstep
