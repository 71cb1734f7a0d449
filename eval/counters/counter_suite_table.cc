// The recipes of all suites. Sizes and lengths are chosen so that a suite takes a minute or two of one core.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include "eval/counters/counter_suite.h"
#include "sim/counters/counter_effects.h"
#include "sim/counters/counter_simulation.h"
#include "sim/counters/job_reaction.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

constexpr int64_t kEpisodeMs = 1'500'000;
constexpr int64_t kShortEpisodeMs = 900'000;
constexpr int32_t kManyHosts = 64;  // larger jobs report one GPU and NIC per host
constexpr double kSubtleSigmas = 3;

// Kinds with a counter that jitters: a shift of three standard deviations means something there.
constexpr FaultKind kSubtleKinds[] = {FaultKind::kComputeSlow, FaultKind::kClockThrottled, FaultKind::kPcieDegraded,
                                      FaultKind::kNicSendSlow, FaultKind::kNvlinkSlow,     FaultKind::kHostSlow,
                                      FaultKind::kStorageStall};

// What may hit a tenth of the machines at once and is no failure of what they share.
constexpr FaultKind kTenthKinds[] = {FaultKind::kClockThrottled, FaultKind::kPcieDegraded, FaultKind::kHostSlow,
                                     FaultKind::kStorageStall, FaultKind::kProcessDead};

template <size_t kSize, typename T>
T PickFrom(const T (&choices)[kSize], Random& random) {
  return choices[random.Below(kSize)];
}

double LogUniform(double low, double high, Random& random) { return low * std::pow(high / low, random.Unit()); }

// A job with its own rhythm and noise, without trouble.
CounterPlan RandomJobOf(int32_t hosts, int64_t end_ms, JobRhythm* rhythm, Random& random) {
  CounterPlan plan;
  plan.spec.hosts = hosts;
  plan.spec.devices_per_host = hosts > kManyHosts ? 1 : 2;
  rhythm->end_ms = end_ms;
  rhythm->step_seconds = LogUniform(0.7, 20, random);
  rhythm->checkpoint_every_ms = random.Unit() < 0.3 ? 0 : 240'000 + static_cast<int64_t>(random.Below(400'000));
  rhythm->checkpoint_ms = 5'000 + static_cast<int64_t>(random.Below(25'000));
  rhythm->slowdown = LogUniform(0.05, 0.5, random);
  CounterNoise& noise = plan.spec.noise;
  noise.jitter = LogUniform(0.015, 0.05, random);
  noise.machine_offset = LogUniform(0.01, 0.05, random);
  noise.jitter_memory = 0.2 + 0.6 * random.Unit();
  noise.missing_share = LogUniform(0.001, 0.05, random);
  plan.spec.activity = ReactionTo({}, *rhythm);
  return plan;
}

void Finish(CounterPlan* plan, const JobRhythm& rhythm) { plan->spec.activity = ReactionTo(plan->faults, rhythm); }

std::string RowOf(FaultKind kind) { return std::string(InfoOf(kind).name); }

CounterPlan MixOf(int32_t hosts, Random& random) {
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(hosts, kEpisodeMs, &rhythm, random);
  plan.faults = {RandomMinderFault(plan.spec, random)};
  plan.faults[0].ramp_ms = static_cast<int64_t>(random.Below(5'000));
  plan.row = RowOf(plan.faults[0].kind);
  Finish(&plan, rhythm);
  return plan;
}

CounterPlan MinderMixPlan(uint64_t, Random& random) {
  return MixOf(static_cast<int32_t>(LogUniform(4, 1500, random)), random);
}

// Sizes in turn; the largest comes last so that a quick run can do without.
CounterPlan SizesPlan(uint64_t number, Random& random) {
  constexpr int32_t kSizes[] = {4, 16, 64, 256, 1024};
  return MixOf(kSizes[number % std::size(kSizes)], random);
}

int32_t MiddleSize(Random& random) {
  constexpr int32_t kSizes[] = {8, 16, 32, 64, 128, 256};
  return PickFrom(kSizes, random);
}

CounterPlan GrossPlan(uint64_t, Random& random) {
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(MiddleSize(random), kShortEpisodeMs, &rhythm, random);
  plan.faults = {RandomMinderFault(plan.spec, random)};
  plan.row = RowOf(plan.faults[0].kind);
  Finish(&plan, rhythm);
  return plan;
}

CounterFault FaultFrom(FaultKind kind, const CounterPlan& plan, int64_t begin_ms, int64_t end_ms, Random& random) {
  return {.kind = kind,
          .host = static_cast<int32_t>(random.Below(plan.spec.hosts)),
          .device = static_cast<int32_t>(random.Below(plan.spec.devices_per_host)),
          .begin_ms = begin_ms,
          .end_ms = end_ms};
}

CounterPlan SubtlePlan(uint64_t number, Random& random) {
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(MiddleSize(random), kEpisodeMs, &rhythm, random);
  const int64_t begin_ms = 400'000 + static_cast<int64_t>(random.Below(500'000));
  const FaultKind kind = kSubtleKinds[number % std::size(kSubtleKinds)];
  plan.faults = {FaultFrom(kind, plan, begin_ms, kEpisodeMs, random)};
  plan.faults[0].sigmas = kSubtleSigmas;
  rhythm.slowdown = LogUniform(0.02, 0.1, random);
  plan.row = RowOf(kind);
  Finish(&plan, rhythm);
  return plan;
}

// `count` faults on different hosts, beginning within ten seconds of each other.
void AddConcurrent(int32_t count, FaultKind kind, bool mixed, CounterPlan* plan, Random& random) {
  const int64_t begin_ms = 300'000 + static_cast<int64_t>(random.Below(200'000));
  std::set<int32_t> taken;
  while (static_cast<int32_t>(taken.size()) < count) {
    const int64_t late_ms = static_cast<int64_t>(random.Below(10'000));
    CounterFault fault = FaultFrom(kind, *plan, begin_ms + late_ms, kShortEpisodeMs, random);
    if (mixed) fault.kind = RandomMinderFault(plan->spec, random).kind;
    if (taken.insert(fault.host).second) plan->faults.push_back(fault);
  }
}

CounterPlan TwoPlan(uint64_t, Random& random) {
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(MiddleSize(random), kShortEpisodeMs, &rhythm, random);
  AddConcurrent(2, FaultKind::kGpuLost, /*mixed=*/true, &plan, random);
  plan.row = "two";
  Finish(&plan, rhythm);
  return plan;
}

CounterPlan TenthPlan(uint64_t number, Random& random) {
  constexpr int32_t kSizes[] = {40, 64, 128, 256};
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(PickFrom(kSizes, random), kShortEpisodeMs, &rhythm, random);
  const FaultKind kind = kTenthKinds[number % std::size(kTenthKinds)];
  AddConcurrent(plan.spec.hosts / 10, kind, /*mixed=*/false, &plan, random);
  plan.row = RowOf(kind);
  Finish(&plan, rhythm);
  return plan;
}

CounterPlan HealthyPlan(uint64_t, Random& random) {
  constexpr int32_t kSizes[] = {4, 8, 16, 64, 256, 512};
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(PickFrom(kSizes, random), kEpisodeMs, &rhythm, random);
  plan.row = "healthy";
  return plan;
}

CounterPlan NotFaultsPlan(uint64_t number, Random& random) {
  constexpr OddityKind kKinds[] = {OddityKind::kLoadShift, OddityKind::kRebalance, OddityKind::kBackup,
                                   OddityKind::kClockOff};
  constexpr const char* kRows[] = {"load_shift", "rebalance", "backup", "clock_off"};
  const size_t which = number % std::size(kKinds);
  JobRhythm rhythm;
  CounterPlan plan = RandomJobOf(MiddleSize(random), kEpisodeMs, &rhythm, random);
  CounterOddity oddity{.kind = kKinds[which], .host = static_cast<int32_t>(random.Below(plan.spec.hosts))};
  oddity.begin_ms = 400'000 + static_cast<int64_t>(random.Below(400'000));
  oddity.end_ms = oddity.begin_ms + 300'000 + static_cast<int64_t>(random.Below(300'000));
  if (oddity.kind == OddityKind::kLoadShift) oddity.amount = LogUniform(0.6, 1.4, random);
  if (oddity.kind == OddityKind::kRebalance) oddity.amount = 0.2 + 0.2 * random.Unit();
  constexpr double kClockOffSeconds[] = {0.7, 30, 86'400};
  if (oddity.kind == OddityKind::kClockOff) oddity.amount = PickFrom(kClockOffSeconds, random);
  plan.spec.oddities = {oddity};
  plan.row = kRows[which];
  return plan;
}

constexpr CounterSuite kSuites[] = {
    {"minder-mix", "one fault of Minder's mix, 4 to 1,500 machines", 200, 6, 4, MinderMixPlan},
    {"sizes", "the same at 4, 16, 64, 256 and 1,024 machines in turn", 100, 4, 4, SizesPlan},
    {"gross", "one fault of the mix, 8 to 256 machines, for the time to the alarm", 200, 8, 8, GrossPlan},
    {"subtle", "shifts of three standard deviations", 140, 7, 4, SubtlePlan},
    {"two-at-once", "two unrelated faults within ten seconds", 100, 6, 4, TwoPlan},
    {"tenth-at-once", "a tenth of the machines within ten seconds", 100, 5, 4, TenthPlan},
    {"healthy", "no fault, all the noise", 300, 6, 8, HealthyPlan},
    {"not-faults", "shifted load, rebalanced data, a backup, a clock that is off", 100, 8, 4, NotFaultsPlan},
};

}  // namespace

absl::Span<const CounterSuite> AllCounterSuites() { return kSuites; }

}  // namespace lockstep
