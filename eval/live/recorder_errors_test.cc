#include "eval/live/recorder_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

Trace SomeTrace() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 4;
  return Simulate(job, {}, 3).evidence.trace;
}

std::vector<bool> Nobody(const Trace& trace) { return std::vector<bool>(trace.ranks.size()); }

TEST(RecorderErrorsTest, WithoutErrorsNothingChanges) {
  const Trace before = SomeTrace();
  Trace after = before;
  AddRecorderErrors({}, Nobody(after), 1, after);
  for (size_t i = 0; i < before.operations.size(); ++i) {
    ASSERT_EQ(after.operations[i].start_ns, before.operations[i].start_ns);
    ASSERT_EQ(after.operations[i].end_ns, before.operations[i].end_ns);
  }
}

TEST(RecorderErrorsTest, BeginsMoveAndDurationsStay) {
  const Trace before = SomeTrace();
  Trace after = before;
  AddRecorderErrors({.wander_seconds = 0.01, .jitter_seconds = 0.0001}, Nobody(after), 1, after);
  int64_t most_ns = 0;
  size_t moved = 0;
  for (size_t i = 0; i < before.operations.size(); ++i) {
    const TraceOperation& a = before.operations[i];
    const TraceOperation& b = after.operations[i];
    ASSERT_EQ(b.enqueue_ns, a.enqueue_ns);
    ASSERT_GE(b.start_ns, b.enqueue_ns);
    ASSERT_EQ(b.duration_ns(), a.duration_ns());
    most_ns = std::max(most_ns, std::abs(b.start_ns - a.start_ns));
    moved += b.start_ns != a.start_ns ? 1 : 0;
  }
  EXPECT_GT(moved, before.operations.size() / 2);
  EXPECT_GT(most_ns, 2 * kNanosPerMilli);
  EXPECT_LT(most_ns, 11 * kNanosPerMilli);
}

TEST(RecorderErrorsTest, ARankThatKnowsEnqueueTimesAloneShowsNoBegin) {
  Trace trace = SomeTrace();
  std::vector<bool> enqueue_only = Nobody(trace);
  enqueue_only[5] = true;
  const Trace before = trace;
  AddRecorderErrors({}, enqueue_only, 1, trace);
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    for (size_t i = trace.first_operation[r]; i < trace.first_operation[r + 1]; ++i) {
      const TraceOperation& op = trace.operations[i];
      ASSERT_EQ(op.end_ns, before.operations[i].end_ns);
      ASSERT_EQ(op.quality == TimingQuality::kHostEnqueue, r == 5);
      if (r == 5) {
        ASSERT_EQ(op.start_ns, op.enqueue_ns);
      }
    }
  }
}

TEST(RecorderErrorsTest, AboutTheShareOfRanksThatWasAskedFor) {
  const std::vector<bool> chosen = EnqueueOnlyRanks({.enqueue_only_share = 0.25}, 4000, 7);
  EXPECT_NEAR(static_cast<double>(std::count(chosen.begin(), chosen.end(), true)), 1000, 120);
  EXPECT_EQ(chosen, EnqueueOnlyRanks({.enqueue_only_share = 0.25}, 4000, 7));
}

}  // namespace
}  // namespace lockstep
