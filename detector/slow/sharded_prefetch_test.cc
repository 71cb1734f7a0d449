// Fully sharded jobs gather the parameters of a layer while the one before it computes. Where one rank is slow from the
// first step on, the gathers of all others stand in line behind one another: their work hides there.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/step_replay.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 16;
constexpr int32_t kSick = 5;
constexpr int32_t kBlind = 9;
constexpr int32_t kSteps = 24;
constexpr int32_t kLayers = 5;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kGatherNs = 8 * kMilli, kScatterNs = 16 * kMilli, kSumNs = kMilli / 20;

using Moments = std::array<int64_t, kRanks>;

// Gathers have one stream of the communicator, the other calls another one.
class ShardedJob {
 public:
  // `slowness`: of the sick rank. `blind`: one rank's recorder knows when calls were handed over, half a step before.
  explicit ShardedJob(double slowness, bool blind = false) : slowness_(slowness), blind_(blind), builder_("job") {
    group_ = builder_.AddCommunicator("dp", "", kRanks);
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      handles_.push_back(
          builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank / 4)), .gpu = rank % 4}));
      builder_.AddMember(group_, rank, handles_.back());
    }
    for (int32_t step = 0; step < kSteps; ++step) Step();
    trace_ = builder_.Build();
    analysis_ = AnalyseTrace(trace_, /*flip_lateness=*/false);
  }

  const TraceAnalysis& analysis() const { return analysis_; }
  double step_seconds() const { return static_cast<double>(end_ns_ - begin_ns_) * 1e-9; }

  double OwnSeconds(size_t rank) const {
    return static_cast<double>(analysis_.profile.Row(analysis_.profile.own, rank)[kSteps / 2]);
  }

 private:
  void Step() {
    begin_ns_ = now_[0];
    Work(15);
    Moments gathered = Call(OperationKind::kAllGather, now_, kGatherNs, &gathers_);
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      for (size_t rank = 0; rank < kRanks; ++rank) now_[rank] = std::max(now_[rank], gathered[rank]);
      if (layer + 1 < kLayers) gathered = Call(OperationKind::kAllGather, now_, kGatherNs, &gathers_);
      Work(30);
    }
    Moments reduced{};
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      Work(60);
      reduced = Call(OperationKind::kReduceScatter, now_, kScatterNs, &others_);
      if (layer + 1 == kLayers) break;
      gathered = Call(OperationKind::kAllGather, now_, kGatherNs, &gathers_);
      for (size_t rank = 0; rank < kRanks; ++rank) now_[rank] = std::max(now_[rank], gathered[rank]);
    }
    now_ = Call(OperationKind::kAllReduce, reduced, kSumNs, &others_);
    end_ns_ = now_[0];
  }

  void Work(double millis) {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const double scale = (rank == kSick ? slowness_ : 1) * (1 + 0.02 * random_.Unit());
      now_[rank] += static_cast<int64_t>(millis * scale * kMilli);
    }
  }

  // Begins when its stream is free; ends everywhere when the last has begun and the data have moved.
  Moments Call(OperationKind kind, const Moments& posted_ns, int64_t transfer_ns, Moments* stream_ns) {
    Moments begins{};
    for (size_t rank = 0; rank < kRanks; ++rank) begins[rank] = std::max(posted_ns[rank], (*stream_ns)[rank]);
    const int64_t end_ns = *std::max_element(begins.begin(), begins.end()) + transfer_ns;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int64_t told_ns =
          blind_ && rank == kBlind ? std::max(told_ns_ + 1, begins[rank] - 400 * kMilli) : begins[rank];
      if (rank == kBlind) told_ns_ = told_ns;
      builder_.Add(handles_[rank], {.start_ns = told_ns,
                                    .end_ns = end_ns,
                                    .sequence = sequence_,
                                    .bytes = 1 << 30,
                                    .communicator = group_,
                                    .kind = kind});
    }
    ++sequence_;
    stream_ns->fill(end_ns);
    return *stream_ns;
  }

  const double slowness_;
  const bool blind_;
  TraceBuilder builder_;
  Random random_{3};
  int32_t group_ = -1;
  std::vector<int32_t> handles_;
  Moments now_{}, gathers_{}, others_{};
  uint64_t sequence_ = 0;
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
