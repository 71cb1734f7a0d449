#include "eval/counters/counter_summary.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr int kResamples = 1000;
constexpr uint64_t kBootstrapSeed = 20'120'731;

double F1Of(double right, double wrong, double missed) {
  return right == 0 ? 0 : 2 * right / (2 * right + wrong + missed);
}

// Delays are kept until all episodes are in.
struct Tally {
  AlarmCounts counts;
  std::vector<double> delays;

  void Add(const AlarmScore& score) {
    ++counts.episodes;
    for (const FaultScore& fault : score.faults) {
      counts.recall.Add(fault.found);
      if (fault.found) counts.precision.Add(true);
      delays.push_back(fault.delay_seconds);
    }
    for (int64_t i = 0; i < score.false_accusations; ++i) counts.precision.Add(false);
  }

  AlarmCounts Finished() {
    counts.delay_seconds = SpreadOf(delays);
    return counts;
  }
};

Interval F1Interval(const std::vector<AlarmScore>& scores) {
  if (scores.empty()) return {};
  Random random(kBootstrapSeed);
  std::vector<double> f1(kResamples);
  for (double& value : f1) {
    double right = 0, wrong = 0, missed = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const AlarmScore& score = scores[random.Below(scores.size())];
      const auto found = static_cast<double>(score.found());
      right += found;
      missed += static_cast<double>(score.faults.size()) - found;
      wrong += static_cast<double>(score.false_accusations);
    }
    value = F1Of(right, wrong, missed);
  }
  return {Percentile(f1, 0.025), Percentile(f1, 0.975)};
}

CounterMethodSummary SummarizeMethod(const CounterMethod& method, size_t index,
                                     const std::vector<CounterOutcome>& outcomes) {
  CounterMethodSummary summary{.name = method.name, .source = method.source};
  Tally all;
  std::map<std::string, Tally> rows;
  std::map<int32_t, Tally> sizes;
  std::vector<AlarmScore> scores;
  std::vector<double> seconds;
  for (const CounterOutcome& outcome : outcomes) {
    const MethodOutcome& answer = outcome.methods[index];
    if (!answer.asked) continue;
    all.Add(answer.score);
    rows[outcome.row].Add(answer.score);
    sizes[SizeRowOf(outcome.hosts)].Add(answer.score);
    scores.push_back(answer.score);
    seconds.push_back(static_cast<double>(answer.detect_ns) / kNanosPerSecond);
    summary.accusations.accusations += answer.score.false_accusations;
    summary.accusations.machine_days += outcome.machine_days;
  }
  summary.all = all.Finished();
  summary.f1 = F1Interval(scores);
  summary.detect_seconds = SpreadOf(seconds);
  for (auto& [name, tally] : rows) summary.rows[name] = tally.Finished();
  for (auto& [hosts, tally] : sizes) summary.sizes[hosts] = tally.Finished();
  return summary;
}

std::string WhyFailed(const AlarmScore& score) {
  const auto missed = static_cast<int64_t>(score.faults.size()) - score.found();
  std::string why;
  if (missed > 0) absl::StrAppend(&why, "missed ", missed, " of ", score.faults.size());
  if (score.false_accusations > 0) {
    absl::StrAppend(&why, why.empty() ? "" : ", ", "accused ", score.false_accusations, " wrongly");
  }
  return why;
}

}  // namespace

double AlarmCounts::f1() const {
  return F1Of(static_cast<double>(recall.successes), static_cast<double>(precision.trials - precision.successes),
              static_cast<double>(recall.trials - recall.successes));
}

double AccusationRate::per_10000_days() const {
  return machine_days > 0 ? 10'000 * static_cast<double>(accusations) / machine_days : 0;
}

double AccusationRate::upper_per_10000_days() const {
  return machine_days > 0 ? 10'000 * PoissonUpperBound(accusations) / machine_days : 0;
}

int32_t SizeRowOf(int32_t hosts) {
  int32_t row = kSizeRows[0];
  for (const int32_t size : kSizeRows) {
    if (size <= hosts) row = size;
  }
  return row;
}

CounterSummary SummarizeCounters(const CounterSuite& suite, absl::Span<const CounterMethod> methods,
                                 const std::vector<CounterOutcome>& outcomes) {
  CounterSummary summary{.name = std::string(suite.name), .what = std::string(suite.what)};
  summary.episodes = static_cast<int64_t>(outcomes.size());
  std::vector<double> seconds, samples;
  for (const CounterOutcome& outcome : outcomes) {
    seconds.push_back(static_cast<double>(outcome.simulate_ns) / kNanosPerSecond);
    samples.push_back(static_cast<double>(outcome.samples));
    if (outcome.methods.empty()) continue;
    const std::string why = WhyFailed(outcome.methods.front().score);
    if (why.empty()) continue;
    summary.failures.Add({outcome.number, why, outcome.description, outcome.methods.front().answer});
  }
  summary.simulate_seconds = SpreadOf(seconds);
  summary.samples = SpreadOf(samples);
  for (size_t i = 0; i < methods.size(); ++i) summary.methods.push_back(SummarizeMethod(methods[i], i, outcomes));
  return summary;
}

}  // namespace lockstep
