// The GPU's timer on the host's clock, against streams of which the truth is known.

#include "agent/recorder/nccl_gpu_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/recorder/nccl_gpus.h"
#include "base/random.h"

namespace lockstep::ring {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kMicro = 1'000;

// One GPU that runs one operation after the other, and a host that hears of each end.
struct Job {
  std::string name;
  double drift_ppm = 0;
  int64_t epoch_ns = 1'700'000'000 * kSecond;  // GPU time less host time, at the begin
  int64_t tick_ns = 1;
  int64_t lead_ns = 100 * kMilli;       // how far the host runs ahead
  int64_t polling_ns = 20 * kMicro;     // an end is heard of this much later at most, most of the time,
  int64_t descheduled_ns = 5 * kMilli;  // and this much later now and then
  int64_t pause_ns = 2 * kMilli;        // between operations, on average
  int64_t stopped_ns = 0;               // the process is, once, while the GPU goes on
  int operations = 4000;
};

struct Errors {
  std::vector<int64_t> begins;
  std::vector<int64_t> gaps;
  int beyond_stated = 0;

  static int64_t Quantile(std::vector<int64_t> values, double fraction) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
  }
};

class PlayedGpu {
 public:
  PlayedGpu(const Job& job, uint64_t seed) : job_(job), random_(seed) {}

  int64_t Timer(int64_t host_ns) const {
    const double drift_ns = static_cast<double>(host_ns - kBegin) * job_.drift_ppm * 1e-6;
    const int64_t gpu_ns = host_ns + job_.epoch_ns + jumped_ns_ + std::llround(drift_ns);
    return gpu_ns - gpu_ns % job_.tick_ns;
  }
  void Jump(int64_t by_ns) { jumped_ns_ += by_ns; }

  // Runs `operations` more; errors of the placements as they were when each end was heard of.
  Errors Run(int operations, GpuClock* clock) {
    Errors errors;
    int64_t placed_end_ns = 0;
    int64_t true_end_ns = 0;
    for (int i = 0; i < operations; ++i) {
      const int64_t begin_ns = now_ns_ + Draw(2 * job_.pause_ns);
      const int64_t end_ns = begin_ns + 50 * kMicro + Draw(kMilli);
      const bool is_stopped = job_.stopped_ns > 0 && i >= operations / 2 && end_ns < stopped_until_ns_;
      if (job_.stopped_ns > 0 && i == operations / 2) stopped_until_ns_ = end_ns + job_.stopped_ns;
      const int64_t lag_ns = random_.Below(50) == 0 ? Draw(job_.descheduled_ns) : Draw(job_.polling_ns);
      const int64_t heard_ns = std::max({end_ns + lag_ns, is_stopped ? stopped_until_ns_ : 0, heard_ns_ + 300});
      const int64_t gpu_begin_ns = Timer(begin_ns);
      clock->ObserveEnqueued(gpu_begin_ns, begin_ns - 5 * kMicro - Draw(job_.lead_ns));
      clock->Observe(Timer(end_ns), heard_ns);
      const GpuClock::Mapping mapping = clock->Map(gpu_begin_ns);
      const int64_t placed_ns = mapping.HostTime(static_cast<uint64_t>(gpu_begin_ns));
      errors.begins.push_back(std::abs(placed_ns - begin_ns));
      errors.beyond_stated += mapping.error_ns < 0 || errors.begins.back() > mapping.error_ns ? 1 : 0;
      if (i > 0) errors.gaps.push_back(std::abs((placed_ns - placed_end_ns) - (begin_ns - true_end_ns)));
      placed_end_ns = placed_ns + Timer(end_ns) - gpu_begin_ns;
      true_end_ns = end_ns;
      now_ns_ = end_ns;
      heard_ns_ = heard_ns;
    }
    return errors;
  }

 private:
  static constexpr int64_t kBegin = 5'000 * kSecond;

  int64_t Draw(int64_t below) { return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(below) + 1)); }

  const Job job_;
  Random random_;
  int64_t jumped_ns_ = 0;
  int64_t now_ns_ = kBegin;
  int64_t heard_ns_ = 0;
  int64_t stopped_until_ns_ = 0;
};

class GpuClockTest : public testing::TestWithParam<Job> {};

TEST_P(GpuClockTest, BeginsGapsAndStatedErrorsAreTrue) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    GpuClock clock;
    PlayedGpu gpu(GetParam(), seed);
    const Errors errors = gpu.Run(GetParam().operations, &clock);
    EXPECT_LE(Errors::Quantile(errors.begins, 0.99), 50 * kMicro);
    EXPECT_LE(Errors::Quantile(errors.gaps, 0.99), 5 * kMicro);
    EXPECT_LE(errors.beyond_stated, GetParam().operations / 100);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, GpuClockTest,
    testing::Values(Job{.name = "HostAStepAhead"}, Job{.name = "HostInStep", .lead_ns = 0},
                    Job{.name = "TickOfAMicrosecond", .drift_ppm = 20, .tick_ns = 1000},
                    Job{.name = "TickOf32Nanoseconds", .drift_ppm = -20, .tick_ns = 32},
                    Job{.name = "FarDrift", .drift_ppm = 80}, Job{.name = "FarDriftBack", .drift_ppm = -80},
                    Job{.name = "LatePolling", .drift_ppm = 20, .polling_ns = kMilli, .operations = 12000},
                    Job{.name = "SameEpoch", .drift_ppm = -20, .epoch_ns = 0},
                    Job{.name = "Stopped", .drift_ppm = 20, .stopped_ns = 3 * kSecond},
                    Job{.name = "Sparse", .drift_ppm = 20, .pause_ns = kSecond, .operations = 1500}),
    [](const testing::TestParamInfo<Job>& job) { return job.param.name; });

TEST(GpuClockStateTest, KnowsNothingUntilItHears) {
  GpuClock clock;
  EXPECT_LT(clock.Map(1'000).error_ns, 0);
  clock.ObserveEnqueued(1'000'000, 3'000'000);
  EXPECT_LT(clock.Map(1'000).error_ns, 0);
  clock.Observe(1'000'000, 3'040'000);
  const GpuClock::Mapping mapping = clock.Map(1'000'000);
  // Between 2,000,000 and 2,040,000: no more is known yet.
  EXPECT_GE(mapping.error_ns, 40'000);
  EXPECT_NEAR(static_cast<double>(mapping.offset_ns), 2'020'000, 20'000);
  clock.Reset();
  EXPECT_LT(clock.Map(1'000).error_ns, 0);
}

// A machine that slept, a driver that set the timer anew.
TEST(GpuClockStateTest, FindsAClockThatHasJumpedEitherWay) {
  for (const int64_t jump_ns : {30 * kSecond, -30 * kSecond, 200 * kMilli, -200 * kMilli}) {
    SCOPED_TRACE(jump_ns);
    GpuClock clock;
    PlayedGpu gpu(Job{.drift_ppm = 10, .lead_ns = 20 * kMilli}, 3);
    gpu.Run(3000, &clock);
    gpu.Jump(jump_ns);
    gpu.Run(50, &clock);
    const Errors errors = gpu.Run(3000, &clock);
    EXPECT_LE(Errors::Quantile(errors.begins, 0.99), 50 * kMicro);
    EXPECT_LE(Errors::Quantile(errors.gaps, 0.99), 5 * kMicro);
  }
}

TEST(GpuClockStateTest, SingleWrongReadingsDoNotMoveIt) {
  GpuClock clock;
  PlayedGpu gpu(Job{}, 4);
  gpu.Run(2000, &clock);
  const int64_t probe_ns = gpu.Timer(5'010 * kSecond);
  const int64_t before_ns = clock.Map(probe_ns).offset_ns;
  for (const int64_t wrong_ns : {int64_t{1}, probe_ns + 3600 * kSecond, INT64_MAX, INT64_MIN}) {
    clock.Observe(wrong_ns, 5'010 * kSecond);
    gpu.Run(1, &clock);
    clock.ObserveEnqueued(wrong_ns, 5'010 * kSecond);
    gpu.Run(100, &clock);
  }
  EXPECT_NEAR(static_cast<double>(clock.Map(probe_ns).offset_ns - before_ns), 0, 20'000);
}

// Threads of several communicators use one clock: whatever they meet is a mapping that somebody made.
TEST(GpuClockStateTest, ThreadsThatMeetCostNothingButAccuracy) {
  constexpr int64_t kOffset = -7 * kSecond;
  GpuClock clock;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&clock, &wrong, thread] {
      Random random(static_cast<uint64_t>(thread) + 1);
      for (int64_t i = 0; i < 50'000; ++i) {
        const int64_t host_ns = 100 * kSecond + i * 100 * kMicro + static_cast<int64_t>(random.Below(50'000));
        const int64_t gpu_ns = host_ns - kOffset;
        clock.ObserveEnqueued(gpu_ns, host_ns - 50 * kMicro);
        clock.Observe(gpu_ns, host_ns + static_cast<int64_t>(random.Below(60'000)));
        const GpuClock::Mapping mapping = clock.Map(gpu_ns);
        if (mapping.error_ns >= 0 && std::abs(mapping.offset_ns - kOffset) > 120 * kMicro) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(NcclGpusTest, CommunicatorsOfOneGpuShareItsClock) {
  const auto gpus = std::make_unique<NcclGpus>();
  GpuClock& first = gpus->Claim(7);
  EXPECT_EQ(&gpus->Claim(7), &first);
  EXPECT_NE(&gpus->Claim(8), &first);
  first.Observe(1'000, 2'000);
  gpus->Release(&first);
  gpus->Release(&first);
  // It comes back to a clock that knows its GPU.
  EXPECT_GE(gpus->Claim(7).Map(1'000).error_ns, 0);
}

TEST(NcclGpusTest, PlacesAreUsedAgainAndNeverRunOut) {
  const auto gpus = std::make_unique<NcclGpus>();
  for (uint64_t gpu = 1; gpu <= NcclGpus::kMaxGpus; ++gpu) gpus->Claim(gpu).Observe(1'000, 2'000);
  gpus->Release(&gpus->Claim(5));
  gpus->Release(&gpus->Claim(5));
  EXPECT_EQ(&gpus->Claim(1000), &gpus->Claim(1001));
  gpus->Release(&gpus->Claim(6));
  gpus->Release(&gpus->Claim(6));
  EXPECT_LT(gpus->Claim(1002).Map(1'000).error_ns, 0);
}

TEST(NcclGpusTest, AThreadStandsForItsGpuWhereNoDriverIs) {
  EXPECT_NE(CurrentGpu(17, 0), 0u);
  EXPECT_EQ(CurrentGpu(17, 0), CurrentGpu(17, 0));
}

}  // namespace
}  // namespace lockstep::ring
