#include "detector/slow/nearest_complete.h"

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/trace_analysis.h"
#include "detector/testing/meeting_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr uint64_t kBytes = 1000;

// Two ranks that meet time after time; nobody waits.
class NearestCompleteTest : public ::testing::Test {
 protected:
  void Meet(int64_t milliseconds, uint64_t bytes = kBytes, bool lost = false) {
    for (const int32_t rank : world_.handles) {
      if (lost && rank == world_.handles[1]) continue;
      builder_.Add(rank, {.enqueue_ns = now_ns_,
                          .start_ns = now_ns_,
                          .end_ns = now_ns_ + milliseconds * kMilli,
                          .sequence = sequence_,
                          .bytes = bytes,
                          .communicator = world_.communicator,
                          .kind = OperationKind::kAllReduce,
                          .quality = TimingQuality::kGpuTimer});
    }
    now_ns_ += 1000 * kMilli;
    ++sequence_;
  }

  double SecondsOf(uint32_t instance) {
    trace_ = builder_.Build();
    TraceAnalysis analysis;
    analysis.trace = &trace_;
    analysis.matched = MatchOperations(trace_);
    return NearestCompleteSeconds(analysis, instance);
  }

  TraceBuilder builder_{"job"};
  const MeetingWorld world_ = AddWorld(2, "world", &builder_);
  Trace trace_;
  int64_t now_ns_ = 1000 * kMilli;
  uint64_t sequence_ = 0;
};

TEST_F(NearestCompleteTest, TheMiddleOfThoseBesideItTells) {
  for (const int64_t milliseconds : {900, 7, 5}) Meet(milliseconds);
  Meet(100, kBytes, /*lost=*/true);
  for (const int64_t milliseconds : {6, 900}) Meet(milliseconds);
  EXPECT_NEAR(SecondsOf(3), 0.0065, 1e-9) << "of 5, 6, 7, and one that is far off";
}

TEST_F(NearestCompleteTest, OthersOfAnotherSizeAndIncompleteOnesTellNothing) {
  Meet(5);
  Meet(50, 2 * kBytes);
  Meet(60, kBytes, /*lost=*/true);
  Meet(100, kBytes, /*lost=*/true);
  EXPECT_NEAR(SecondsOf(3), 0.005, 1e-9);
}

TEST_F(NearestCompleteTest, WithoutNeighboursNothingIsKnown) {
  Meet(100, kBytes, /*lost=*/true);
  Meet(50, kBytes, /*lost=*/true);
  EXPECT_LT(SecondsOf(0), 0);
}

}  // namespace
}  // namespace lockstep
