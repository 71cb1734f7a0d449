// What a healthy rank would need, against jobs that are made with and without the slow one.

#include "detector/slow/hidden_work.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"
#include "detector/testing/stream_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kRanks = 8;
constexpr size_t kSick = 3;
constexpr int32_t kSteps = 20;
constexpr int64_t kMilli = 1'000'000;

struct ReplicaSpec {
  int buckets = 6;
  double forward_millis = 80;
  double bucket_millis = 30;
  double sum_millis = 10;        // of a bucket
  double slowness = 1;           // of the sick rank
  double input_millis = 0;       // that it waits before each step
  int32_t checkpoint_every = 0;  // steps; 0 = never
  bool waits_for_sums = false;   // the work before the next bucket begins when the sum before it has ended
};

// Replicas that sum gradients bucket by bucket, on one stream beside the backward pass.
class ReplicaJob {
 public:
  explicit ReplicaJob(const ReplicaSpec& spec) : spec_(spec), job_(kRanks, /*ranks_of_host=*/1, /*noise=*/0.01, 7) {
    for (int32_t step = 0; step < kSteps; ++step) {
      Step();
      if (spec_.checkpoint_every > 0 && step % spec_.checkpoint_every == 5) Checkpoint();
    }
    trace_ = job_.Build();
    analysis_ = AnalyseTrace(trace_, /*flip_lateness=*/false);
  }

  const TraceAnalysis& analysis() const { return analysis_; }
  double step_seconds() const { return static_cast<double>(job_.now()[0]) * 1e-9 / kSteps; }

  Suspect SickSuspect() const {
    const auto own = analysis_.profile.Row(analysis_.profile.own, kSick)[kSteps / 2];
    return {.rank = static_cast<int32_t>(kSick),
            .first_step = 1,
            .last_step = kSteps - 1,
            .own_seconds = static_cast<double>(own)};
  }

  // Of the sick rank; 0 = nothing is told.
  double NeededSeconds(const Suspect& suspect, SlowKind kind = SlowKind::kCompute) const {
    std::vector<SlowCause> causes = {{.kind = kind, .suspects = {suspect}}};
    TellHiddenWork(analysis_, &causes);
    return causes.front().suspects.front().needed_seconds;
  }

 private:
  void Checkpoint() {
    job_.Work(80, kSick, 1);
    job_.now() = job_.Call(OperationKind::kBarrier, job_.now(), kMilli, 4, &stream_);
  }

  void Step() {
    job_.now()[kSick] += static_cast<int64_t>(spec_.input_millis * kMilli);
    job_.Work(spec_.forward_millis, kSick, spec_.slowness);
    StreamJob::Moments summed;
    for (int bucket = 0; bucket < spec_.buckets; ++bucket) {
      job_.Work(spec_.bucket_millis, kSick, spec_.slowness);
      summed = job_.Call(OperationKind::kAllReduce, job_.now(), static_cast<int64_t>(spec_.sum_millis * kMilli),
                         uint64_t{1} << (20 + bucket), &stream_);
      if (spec_.waits_for_sums) job_.now() = summed;
    }
    job_.now() = summed;
  }

  const ReplicaSpec spec_;
  StreamJob job_;
  StreamJob::Moments stream_;
  Trace trace_;
  TraceAnalysis analysis_;
};

TEST(HiddenWorkTest, TheExcessIsWhatTheJobLoses) {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    ReplicaSpec spec;
    spec.buckets = 3 + static_cast<int>(random.Below(8));
    spec.forward_millis = 40 + 80 * random.Unit();
    spec.bucket_millis = 15 + 30 * random.Unit();
    spec.sum_millis = spec.bucket_millis * (0.2 + 0.5 * random.Unit());
    const double healthy = ReplicaJob(spec).step_seconds();
    spec.slowness = 1.15 + random.Unit();
    const ReplicaJob job(spec);
    const Suspect suspect = job.SickSuspect();
    const double lost = job.step_seconds() - healthy;
    EXPECT_NEAR(suspect.own_seconds - job.NeededSeconds(suspect), lost, 0.15 * lost)
        << spec.buckets << " buckets, " << spec.slowness << " times as slow";
  }
}

TEST(HiddenWorkTest, NothingIsHiddenWhereTheWorkWaits) {
  const ReplicaJob job({.slowness = 1.4, .waits_for_sums = true});
  EXPECT_EQ(job.NeededSeconds(job.SickSuspect()), 0);
}

TEST(HiddenWorkTest, WhoWaitsForInputWorksNoLongerElsewhere) {
  const double healthy = ReplicaJob({}).step_seconds();
  const ReplicaJob job({.input_millis = 60});
  const Suspect suspect = job.SickSuspect();
  const double lost = job.step_seconds() - healthy;
  EXPECT_NEAR(suspect.own_seconds - job.NeededSeconds(suspect, SlowKind::kInput), lost, 0.1 * lost);
}

TEST(HiddenWorkTest, NothingIsToldOfSomeStepsNorOfWhoIsComparedWithItselfAlone) {
  const ReplicaJob job({.slowness = 1.4});
  Suspect suspect = job.SickSuspect();
  EXPECT_GT(job.NeededSeconds(suspect), 0);
  suspect.slow_above_seconds = 0.01;  // in some steps only
  EXPECT_EQ(job.NeededSeconds(suspect), 0);
  suspect = job.SickSuspect();
  suspect.against_past = true;
  EXPECT_EQ(job.NeededSeconds(suspect), 0);
}

// A rank stood in line with its peers before it became slow: its past says no more than they do.
TEST(HiddenWorkTest, APastIsNoMoreThanWhatIsSeenOfThePeers) {
  const ReplicaJob job({.slowness = 1.4});
  Suspect suspect = job.SickSuspect();
  const double needed = job.NeededSeconds(suspect);
  suspect.before_seconds = needed / 2;
  EXPECT_EQ(job.NeededSeconds(suspect), needed);
  suspect.needed_seconds = needed;
  suspect.excess_seconds = suspect.own_seconds;
  EXPECT_NEAR(ExcessOf(suspect), suspect.own_seconds - needed, 1e-9);
  suspect.before_seconds = 1.1 * needed;
  EXPECT_NEAR(ExcessOf(suspect), suspect.own_seconds - 1.1 * needed, 1e-9);
}

// A checkpoint in one step of ten is none in each.
TEST(HiddenWorkTest, WhatComesInFewStepsIsLittleOfEach) {
  ReplicaSpec spec{.slowness = 1.4};
  const ReplicaJob usual(spec);
  spec.checkpoint_every = 10;
  const ReplicaJob job(spec);
  const Suspect suspect = usual.SickSuspect();
  const double excess = suspect.own_seconds - usual.NeededSeconds(suspect);
  EXPECT_NEAR(suspect.own_seconds - job.NeededSeconds(suspect), excess, 0.08 * excess);
}

TEST(HiddenWorkTest, NothingIsToldWithoutPeers) {
  const ReplicaJob job({.slowness = 1.4});
  std::vector<SlowCause> causes;
  for (int32_t rank = 0; rank < static_cast<int32_t>(kRanks); ++rank) {
    Suspect suspect = job.SickSuspect();
    suspect.rank = rank;
    causes.push_back({.suspects = {suspect}});
  }
  TellHiddenWork(job.analysis(), &causes);
  for (const SlowCause& cause : causes) EXPECT_EQ(cause.suspects.front().needed_seconds, 0);
}

}  // namespace
}  // namespace lockstep
