// What a healthy rank would need, against jobs that are made with and without the slow one.

#include "detector/slow/hidden_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/trace_analysis.h"
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
  double sum_millis = 10;       // of a bucket
  double slowness = 1;          // of the sick rank
  double input_millis = 0;      // that it waits before each step
  bool waits_for_sums = false;  // the work before the next bucket begins when the sum before it has ended
};

// Replicas that sum gradients bucket by bucket, on one stream beside the backward pass.
class ReplicaJob {
 public:
  explicit ReplicaJob(const ReplicaSpec& spec) : spec_(spec), builder_("job") {
    group_ = builder_.AddCommunicator("dp", "", kRanks);
    for (int32_t rank = 0; rank < static_cast<int32_t>(kRanks); ++rank) {
      handles_.push_back(builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank)), .gpu = 0}));
      builder_.AddMember(group_, rank, handles_.back());
    }
    for (int32_t step = 0; step < kSteps; ++step) Step();
    trace_ = builder_.Build();
    analysis_ = AnalyseTrace(trace_, /*flip_lateness=*/false);
  }

  const TraceAnalysis& analysis() const { return analysis_; }
  double step_seconds() const { return static_cast<double>(now_[0]) * 1e-9 / kSteps; }

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
  void Step() {
    now_[kSick] += static_cast<int64_t>(spec_.input_millis * kMilli);
    Work(spec_.forward_millis);
    Moments summed{};
    for (int bucket = 0; bucket < spec_.buckets; ++bucket) {
      Work(spec_.bucket_millis);
      summed = Sum(1 << (20 + bucket));
      if (spec_.waits_for_sums) now_ = summed;
    }
    now_ = summed;
  }

  using Moments = std::array<int64_t, kRanks>;

  void Work(double millis) {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const double scale = (rank == kSick ? spec_.slowness : 1) * (1 + 0.01 * random_.Unit());
      now_[rank] += static_cast<int64_t>(millis * scale * kMilli);
    }
  }

  // Begins when the stream is free; ends everywhere when the last has begun and the data have moved.
  Moments Sum(int64_t bytes) {
    Moments begins{};
    for (size_t rank = 0; rank < kRanks; ++rank) begins[rank] = std::max(now_[rank], stream_[rank]);
    const int64_t end_ns =
        *std::max_element(begins.begin(), begins.end()) + static_cast<int64_t>(spec_.sum_millis * kMilli);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      builder_.Add(handles_[rank], {.start_ns = begins[rank],
                                    .end_ns = end_ns,
                                    .sequence = sequence_,
                                    .bytes = static_cast<uint64_t>(bytes),
                                    .communicator = group_,
                                    .kind = OperationKind::kAllReduce});
    }
    ++sequence_;
    stream_.fill(end_ns);
    return stream_;
  }

  const ReplicaSpec spec_;
  TraceBuilder builder_;
  Random random_{7};
  int32_t group_ = -1;
  std::vector<int32_t> handles_;
  Moments now_{}, stream_{};
  uint64_t sequence_ = 0;
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

TEST(HiddenWorkTest, APastTellsMore) {
  const ReplicaJob job({.slowness = 1.4});
  Suspect suspect = job.SickSuspect();
  suspect.before_seconds = 0.2;
  EXPECT_EQ(job.NeededSeconds(suspect), 0);
  suspect.before_seconds = 0;
  suspect.slow_above_seconds = 0.01;  // in some steps only
  EXPECT_EQ(job.NeededSeconds(suspect), 0);
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
