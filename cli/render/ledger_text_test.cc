#include "cli/render/ledger_text.h"

#include <string>

#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

wire::Job SlowJob() {
  wire::Job job;
  job.set_job("demo");
  job.set_state("slow");
  wire::TimeLedger& ledger = *job.mutable_ledger();
  ledger.set_measured_seconds(1.5);
  ledger.set_reference_seconds(1);
  ledger.set_unexplained_seconds(0.1);
  ledger.set_error_seconds(0.01);
  for (const char* host : {"node-1", "node-2"}) {
    wire::LedgerLine& line = *ledger.add_lines();
    line.set_finding(std::string("compute_slow ") + host);
    line.set_seconds(0.2);
    wire::Remedy& remedy = *ledger.add_remedies();
    remedy.set_action(std::string("take ") + host + " out");
    remedy.set_finding(line.finding());
    remedy.set_replayed(true);
  }
  ledger.mutable_remedies(1)->set_together_seconds(0.3);
  return job;
}

TEST(LedgerTextTest, ListsJobsThatHaveAnythingToAccountFor) {
  wire::ListJobsResponse jobs;
  *jobs.add_jobs() = SlowJob();
  wire::Job& healthy = *jobs.add_jobs();
  healthy.set_job("other");
  const std::string text =
      "demo: a step takes 1.5 s (mean): 1 s that it needs + 200 ms compute_slow node-1 + 200 ms compute_slow "
      "node-2 + 100 ms unexplained (error 10 ms)";
  EXPECT_EQ(LedgersText(jobs, SimClock::kStartWallNanos), text + "\n") << "of a collector that does not say when";
  jobs.mutable_jobs(0)->mutable_ledger()->set_seen_wall_ns(SimClock::kStartWallNanos);
  EXPECT_EQ(LedgersText(jobs, SimClock::kStartWallNanos + 192 * kNanosPerSecond), text + ", as of 3m12s ago\n");
}

TEST(WhatIfTextTest, SaysWhatEachGivesBackAloneAndWithThoseAbove) {
  const std::string text = WhatIfText(SlowJob(), 0, false);
  EXPECT_THAT(text, HasSubstr("demo: SLOW\na step takes 1.5 s"));
  EXPECT_THAT(text, HasSubstr("1  nothing           nothing  take node-1 out  compute_slow node-1\n"));
  EXPECT_THAT(text, HasSubstr("2  nothing     300 ms (20 %)  take node-2 out  compute_slow node-2\n"));
  EXPECT_THAT(text, HasSubstr("do not add up"));
  EXPECT_THAT(text, Not(HasSubstr("not replayed")));
}

TEST(WhatIfTextTest, MarksWhatNoReplayTells) {
  wire::Job job = SlowJob();
  job.mutable_ledger()->mutable_remedies(0)->set_replayed(false);
  const std::string text = WhatIfText(job, 0, false);
  EXPECT_THAT(text, HasSubstr("1*"));
  EXPECT_THAT(text, HasSubstr("* not replayed"));
}

TEST(WhatIfTextTest, AHealthyJobHasNothingToRemove) {
  wire::Job job;
  job.set_job("demo");
  job.set_state("healthy");
  EXPECT_THAT(WhatIfText(job, 0, false), HasSubstr("there is nothing to remove"));
}

TEST(LedgerTextTest, OneFindingHasItsPartOfAStep) {
  wire::LedgerShare share;
  share.set_seconds(0.15);
  share.set_measured_seconds(1.2);
  share.set_reference_seconds(0.95);
  share.set_unexplained_seconds(0.05);
  share.set_seen_wall_ns(SimClock::kStartWallNanos);
  EXPECT_EQ(LedgerShareText(share),
            "In the mean of all steps seen until 2026-01-02 03:04:05 UTC, 1.2 s, 250 ms was lost: 150 ms to this, "
            "50 ms to other findings, 50 ms unexplained.");
  share.set_seconds(0.2);
  EXPECT_THAT(LedgerShareText(share), HasSubstr(": 200 ms to this, nothing to other findings, 50 ms unexplained."));
  share.set_measured_seconds(0.9);
  share.set_seconds(0);
  share.set_unexplained_seconds(-0.05);
  EXPECT_THAT(LedgerShareText(share), HasSubstr("nothing was lost: nothing to this, nothing to other findings, "));
}

}  // namespace
}  // namespace lockstep
