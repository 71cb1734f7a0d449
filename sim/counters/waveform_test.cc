// What machines show in each part of a job's life, and what faults add to it.

#include "sim/counters/waveform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "sim/counters/counter_effects.h"
#include "sim/counters/counter_spec.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

TEST(WaveformTest, EveryMetricIsOfTheCatalogueAndStandsOnce) {
  std::set<Metric> metrics;
  for (const Waveform& waveform : Waveforms()) {
    EXPECT_NE(FindMetric(waveform.metric), nullptr);
    EXPECT_TRUE(metrics.insert(waveform.metric).second) << FindMetric(waveform.metric)->name;
    EXPECT_EQ(&WaveformOf(waveform.metric), &waveform);
    for (const double level : {waveform.compute, waveform.communication, waveform.pause, waveform.stuck}) {
      EXPECT_GE(level, 0) << FindMetric(waveform.metric)->name;
      if (waveform.most > 0) {
        EXPECT_LE(level, waveform.most) << FindMetric(waveform.metric)->name;
      }
    }
  }
}

TEST(WaveformTest, DevicesAreCalledAsAgentsCallThem) {
  EXPECT_EQ(CounterDeviceName(CounterDevice::kHost, 3), "");
  EXPECT_EQ(CounterDeviceName(CounterDevice::kGpu, 3), "gpu3");
  EXPECT_EQ(CounterDeviceName(CounterDevice::kHca, 3), "mlx5_3/1");
  EXPECT_EQ(CounterDeviceName(CounterDevice::kInterface, 3), "eth3");
}

TEST(WaveformTest, TheLevelIsThatOfWhatTheJobDoes) {
  const Waveform& power = WaveformOf(Metric::kGpuPowerWatts);
  EXPECT_EQ(CommonLevel(power, Activity::kPause, 0.7), power.pause);
  EXPECT_EQ(CommonLevel(power, Activity::kStuck, 0.7), power.stuck);
  EXPECT_EQ(CommonLevel(power, Activity::kTraining, 1), power.compute);
  EXPECT_EQ(CommonLevel(power, Activity::kTraining, 0), power.communication);
  EXPECT_DOUBLE_EQ(CommonLevel(power, Activity::kTraining, 0.25), 0.25 * power.compute + 0.75 * power.communication);
}

// Millisecond by millisecond.
double SlowComputeShare(const ActivityWindow& now, int64_t ms, int64_t interval_ms) {
  const auto step_ms = static_cast<int64_t>(now.step_seconds * 1000);
  const auto compute_ms = static_cast<int64_t>(now.compute_share * static_cast<double>(step_ms));
  int64_t computed = 0, total = 0;
  for (int64_t at = std::max(now.begin_ms, ms - interval_ms); at < ms; ++at) {
    ++total;
    computed += (at - now.begin_ms) % step_ms < compute_ms ? 1 : 0;
  }
  return total > 0 ? static_cast<double>(computed) / static_cast<double>(total) : 1;
}

TEST(WaveformTest, TheShareOfComputeIsThatOfEveryMillisecond) {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    ActivityWindow window;
    window.begin_ms = static_cast<int64_t>(random.Below(100'000));
    window.end_ms = window.begin_ms + 1'000'000;
    window.step_seconds = 0.05 + 12 * random.Unit();
    window.compute_share = random.Unit();
    const int64_t ms = window.begin_ms + static_cast<int64_t>(random.Below(20'000));
    const auto interval_ms = static_cast<int64_t>(1 + random.Below(5'000));
    EXPECT_NEAR(ComputeShare(window, ms, interval_ms), SlowComputeShare(window, ms, interval_ms), 1e-9) << round;
  }
  ActivityWindow pause;
  pause.activity = Activity::kPause;
  EXPECT_EQ(ComputeShare(pause, 500, 100), 0);
}

TEST(CounterEffectTest, EveryEffectTouchesAMetricThatIsMade) {
  for (const CounterEffect& effect : EffectTable()) {
    EXPECT_EQ(WaveformOf(effect.metric).metric, effect.metric);
    EXPECT_LE(effect.least, effect.most);
    EXPECT_GT(effect.probability, 0);
    EXPECT_LE(effect.probability, 1);
    const CounterDevice device = WaveformOf(effect.metric).device;
    if (device == CounterDevice::kHost) {
      EXPECT_TRUE(effect.whole_host) << "a metric of the host has no device to hit";
    }
  }
}

TEST(CounterEffectTest, AFaultShowsSomewhereAndEachTimeElsewhere) {
  for (const FaultInfo& info : FaultTable()) {
    const auto of_kind = std::count_if(EffectTable().begin(), EffectTable().end(),
                                       [&](const CounterEffect& effect) { return effect.kind == info.kind; });
    std::map<Metric, int> shown;
    std::set<std::set<Metric>> patterns;
    for (uint64_t which = 0; which < 400; ++which) {
      const std::vector<DrawnEffect> drawn = DrawEffects({.kind = info.kind}, /*seed=*/5, which);
      EXPECT_EQ(drawn.empty(), of_kind == 0) << info.name;
      std::set<Metric> pattern;
      for (const DrawnEffect& effect : drawn) {
        EXPECT_EQ(effect.effect->kind, info.kind);
        EXPECT_GE(effect.amount, effect.effect->least);
        EXPECT_LE(effect.amount, effect.effect->most);
        pattern.insert(effect.effect->metric);
        ++shown[effect.effect->metric];
      }
      patterns.insert(pattern);
    }
    if (of_kind > 2) {
      EXPECT_GT(patterns.size(), 2u) << info.name << ": never all of them at once";
    }
    // A fault that would show nowhere shows where it does so most often.
    const CounterEffect* likeliest = nullptr;
    double nowhere = 1;
    for (const CounterEffect& effect : EffectTable()) {
      if (effect.kind != info.kind) continue;
      nowhere *= 1 - effect.probability;
      if (likeliest == nullptr || effect.probability > likeliest->probability) likeliest = &effect;
    }
    for (const CounterEffect& effect : EffectTable()) {
      if (effect.kind != info.kind) continue;
      const double expected = effect.probability + (&effect == likeliest ? nowhere : 0);
      EXPECT_NEAR(shown[effect.metric], 400 * expected, 50) << info.name;  // five standard deviations
    }
  }
}

TEST(CounterEffectTest, TheSameFaultShowsTheSameAgain) {
  const CounterFault fault = {.kind = FaultKind::kGpuLost};
  for (uint64_t which = 0; which < 20; ++which) {
    const auto a = DrawEffects(fault, 1, which), b = DrawEffects(fault, 1, which);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].effect, b[i].effect);
      EXPECT_EQ(a[i].amount, b[i].amount);
    }
  }
}

TEST(CounterEffectTest, SeverityScalesWhatIsShown) {
  for (const FaultInfo& info : FaultTable()) {
    for (uint64_t which = 0; which < 20; ++which) {
      const auto usual = DrawEffects({.kind = info.kind, .severity = 1}, 2, which);
      const auto half = DrawEffects({.kind = info.kind, .severity = 0.5}, 2, which);
      const auto none = DrawEffects({.kind = info.kind, .severity = 0}, 2, which);
      ASSERT_EQ(usual.size(), half.size());
      for (size_t i = 0; i < usual.size(); ++i) {
        switch (usual[i].effect->mode) {
          case EffectMode::kScale:
            EXPECT_NEAR(half[i].amount, (1 + usual[i].amount) / 2, 1e-9);
            EXPECT_EQ(none[i].amount, 1);
            break;
          case EffectMode::kAdd:
            EXPECT_NEAR(half[i].amount, usual[i].amount / 2, 1e-9);
            EXPECT_EQ(none[i].amount, 0);
            break;
          case EffectMode::kSet:
            EXPECT_EQ(half[i].amount, usual[i].amount);
        }
      }
    }
  }
}

TEST(CounterEffectTest, MindersMixAddsUp) {
  double sum = 0;
  std::set<std::string> names;
  for (const MinderFault& fault : MinderMix()) {
    EXPECT_GT(fault.share, 0);
    EXPECT_TRUE(names.insert(fault.name).second);
    sum += fault.share;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace lockstep
