// Fully sharded jobs gather the parameters of a layer while the one before it computes. Where one rank is slow from the
// first step on, the gathers of all others stand in line behind one another: their work hides there.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/slow/step_replay.h"
#include "detector/steps/trace_analysis.h"
#include "detector/testing/stream_job.h"

namespace lockstep {
namespace {

constexpr size_t kRanks = 16;
constexpr size_t kSick = 5;
constexpr size_t kBlind = 9;
constexpr int32_t kSteps = 24;
constexpr int32_t kLayers = 5;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kGatherNs = 8 * kMilli, kScatterNs = 16 * kMilli, kSumNs = kMilli / 20;
constexpr uint64_t kBytes = uint64_t{1} << 30;

// Gathers have one stream of the communicator, the other calls another one.
class ShardedJob {
 public:
  // `slowness`: of the sick rank. `blind`: one rank's recorder knows when calls were handed over, half a step before.
  explicit ShardedJob(double slowness, bool blind = false)
      : slowness_(slowness), job_(kRanks, /*ranks_of_host=*/4, /*noise=*/0.02, 3) {
    job_.TellBegins([this, blind](size_t rank, int64_t begin_ns) {
      if (!blind || rank != kBlind) return begin_ns;
      return told_ns_ = std::max(told_ns_ + 1, begin_ns - 400 * kMilli);
    });
    for (int32_t step = 0; step < kSteps; ++step) Step();
    trace_ = job_.Build();
    analysis_ = AnalyseTrace(trace_, /*flip_lateness=*/false);
  }

  const TraceAnalysis& analysis() const { return analysis_; }
  double step_seconds() const { return static_cast<double>(end_ns_ - begin_ns_) * 1e-9; }

  double OwnSeconds(size_t rank) const {
    return static_cast<double>(analysis_.profile.Row(analysis_.profile.own, rank)[kSteps / 2]);
  }

 private:
  using Moments = StreamJob::Moments;

  void Step() {
    begin_ns_ = job_.now()[0];
    Work(15);
    Moments gathered = Gather();
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      WaitFor(gathered);
      if (layer + 1 < kLayers) gathered = Gather();
      Work(30);
    }
    Moments reduced;
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      Work(60);
      reduced = job_.Call(OperationKind::kReduceScatter, job_.now(), kScatterNs, kBytes, &others_);
      if (layer + 1 == kLayers) break;
      WaitFor(Gather());
    }
    job_.now() = job_.Call(OperationKind::kAllReduce, reduced, kSumNs, kBytes, &others_);
    end_ns_ = job_.now()[0];
  }

  void Work(double millis) { job_.Work(millis, kSick, slowness_); }

  Moments Gather() { return job_.Call(OperationKind::kAllGather, job_.now(), kGatherNs, kBytes, &gathers_); }

  void WaitFor(const Moments& ends_ns) {
    for (size_t rank = 0; rank < kRanks; ++rank) job_.now()[rank] = std::max(job_.now()[rank], ends_ns[rank]);
  }

  const double slowness_;
  StreamJob job_;
  Moments gathers_, others_;
  int64_t begin_ns_ = 0, end_ns_ = 0;
  int64_t told_ns_ = 0;  // of the blind rank
  Trace trace_;
  TraceAnalysis analysis_;
};

TEST(ShardedPrefetchTest, WhoIsSlowFromTheFirstStepOnWorksLonger) {
  const ShardedJob job(/*slowness=*/2);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    if (rank != kSick) EXPECT_LT(job.OwnSeconds(rank), 0.7 * job.OwnSeconds(kSick)) << rank;
  }
}

TEST(ShardedPrefetchTest, TheReplayTakesAsLongAsTheStep) {
  for (const bool blind : {false, true}) {
    const ShardedJob job(/*slowness=*/2, blind);
    EXPECT_EQ(job.analysis().without_begins[kBlind], blind ? 1 : 0);
    EXPECT_TRUE(job.analysis().matched.holes.empty());
    StepReplay replay(job.analysis(), kSteps / 2);
    EXPECT_NEAR(replay.Run({}), job.step_seconds(), 0.03 * job.step_seconds()) << blind;
  }
}

TEST(ShardedPrefetchTest, AmongEqualsNobodyWorksLonger) {
  const ShardedJob job(/*slowness=*/1);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_NEAR(job.OwnSeconds(rank), job.OwnSeconds(kSick), 0.05 * job.OwnSeconds(kSick)) << rank;
  }
}

}  // namespace
}  // namespace lockstep
